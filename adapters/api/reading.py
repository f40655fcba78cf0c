"""The input of a translation beside the model, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from treenail.adapters.api.core.pod_specs import PodSpecs
from treenail.adapters.api.workloads import ApiObject

# When an object was created that does not say: before everything else.
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where translations of many objects meet: pod specs are shared over all of one reading.

    With `templates`, workloads that are watched are read with what their pods are made from; with
    `for_pods_only`, as ones for whose pods no nodes are wanted before they are there. `at` is when objects
    are taken to be created that do not say (a manifest, not the API server's).
    """

    at: datetime = LONG_AGO
    templates: bool = False
    for_pods_only: bool = False
    specs: PodSpecs = field(default_factory=PodSpecs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """The translation of an object of the API: mostly one object, two for a Provisioner with a provider.

    `not_acted_on` are paths of fields it sets that are accepted though not acted on.
    """

    objects: tuple[ApiObject, ...]
    not_acted_on: tuple[str, ...] = ()
