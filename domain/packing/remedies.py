"""Remedies: the smallest change to manifests that would let a refused pod be placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

# A part of a manifest, as JSON has it.
Fragment: TypeAlias = Mapping[str, object]


class ChangeKind(StrEnum):
    """The kind of change to a manifest."""

    ADD_TOLERATION = "AddToleration"
    CORRECT_REQUIREMENT = "CorrectRequirement"
    DROP_REQUIREMENT = "DropRequirement"
    LOWER_REQUEST = "LowerRequest"
    RENAME_RESOURCE = "RenameResource"
    DROP_REQUEST = "DropRequest"
    CHANGE_HOST_PORT = "ChangeHostPort"
    DROP_RESOURCE_CLAIM = "DropResourceClaim"
    RAISE_MAX_SKEW = "RaiseMaxSkew"
    SCHEDULE_ANYWAY = "ScheduleAnyway"
    ADD_NAMESPACE = "AddNamespace"
    DROP_POD_AFFINITY = "DropPodAffinity"
    RAISE_LIMIT = "RaiseLimit"
    WIDEN_POOL_REQUIREMENT = "WidenPoolRequirement"
    DROP_POOL_REQUIREMENT = "DropPoolRequirement"
    LOWER_MIN_VALUES = "LowerMinValues"
    ADD_POOL_LABEL = "AddPoolLabel"
    REMOVE_POOL_TAINT = "RemovePoolTaint"
    UNCORDON = "Uncordon"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChange:
    """One change of one manifest.

    `object` is "Pod", the pool, as "NodePool default", or the node, as "Node ip-10-0-0-4"; `path` leads from
    its root to a mapping, whose entries `before` are replaced by those of `after`. Where it ends in "[]" that
    mapping is the element of the list that has `before`; without `before` one is added, without `after` it is
    removed. In the middle of a path, "[]" is any element. `condition` is the end of "it would fit if".
    """

    kind: ChangeKind
    object: str
    path: str
    before: Fragment | None
    after: Fragment | None
    condition: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """The smallest changes found with which packing places the pods: all of a class, or at least one.

    `node` is the existing node that they all go onto; "" if they get new nodes, or go onto several.
    """

    changes: tuple[ManifestChange, ...]
    for_all: bool = True
    node: str = ""

    def __str__(self) -> str:
        subject = "it" if self.for_all else "one of them"
        where = f" onto node {self.node}" if self.node else ""
        return f"{subject} would fit{where} if " + " and ".join(change.condition for change in self.changes)
