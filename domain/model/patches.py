"""Changes to claims and nodes, as the ports write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Condition
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPatch:
    """The changes of a claim. None (or an empty mapping) leaves a field as it is. Times are to the second.

    A condition replaces that of the same type; its time of transition is set where its status changes.
    `remove_conditions` are types of conditions to take off.
    """

    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    remove_labels: tuple[str, ...] = ()
    provider_id: str | None = None
    node_name: str | None = None
    image_id: str | None = None
    capacity: Resources | None = None
    allocatable: Resources | None = None
    conditions: tuple[Condition, ...] = ()
    remove_conditions: tuple[str, ...] = ()
    last_pod_event_at: datetime | None = None
    add_finalizers: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()


def together(one: ClaimPatch | None, other: ClaimPatch | None) -> ClaimPatch | None:
    """Return one patch of annotations and conditions, which differ, for both; None where both are."""
    if one is None or other is None:
        return one or other
    return replace(
        one,
        annotations={**one.annotations, **other.annotations},
        conditions=(*one.conditions, *other.conditions),
        remove_conditions=(*one.remove_conditions, *other.remove_conditions),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePatch:
    """The changes of a node. `owner` is the claim that should own it, by name and uid."""

    labels: Mapping[str, str] = field(default_factory=dict)
    remove_labels: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    remove_annotations: tuple[str, ...] = ()
    add_taints: tuple[Taint, ...] = ()
    remove_taints: tuple[Taint, ...] = ()
    unschedulable: bool | None = None
    owner: ObjectRef | None = None
    add_finalizers: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()
