"""Parts that the manifests of several kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from treenail.adapters.api.reading import LONG_AGO
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint

# A JSON object.
Tree: TypeAlias = dict[str, Any]


def said(**fields: object) -> Tree:
    """Return the fields that say something. As the API server, it leaves out what is empty or false."""
    return {name: value for name, value in fields.items() if value not in (None, "", False, [], {}, ())}


def time(at: datetime | None) -> str | None:
    """Write a time as Kubernetes does: "2026-05-01T12:00:00Z"."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def metadata(of: Node | NodeClaim | Pod, *, uid: str, **others: object) -> Tree:
    """Write an object's metadata. `others` (its namespace, its finalizers) come after its name."""
    return said(
        name=of.name,
        **others,
        uid=uid,
        resourceVersion=str(of.resource_version) if of.resource_version else "",
        creationTimestamp=None if of.created_at == LONG_AGO else time(of.created_at),
        deletionTimestamp=time(of.deleting_since),
        labels=dict(sorted(of.labels.items())),
        annotations=dict(sorted(of.annotations.items())),
        ownerReferences=[_owner(o) for o in of.owners],
    )


def _owner(owner: Owner) -> Tree:
    return said(
        apiVersion=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.uid,
        controller=owner.controller,
        blockOwnerDeletion=owner.block_deletion,
    )


def taints(several: Iterable[Taint]) -> list[Tree]:
    """Write taints in their order."""
    return [said(key=t.key, value=t.value, effect=t.effect.value) for t in several]


def conditions(several: Iterable[Condition], names: Mapping[str, str] | None = None) -> list[Tree]:
    """Write conditions in their order, those in `names` under the name given there."""
    return [
        said(
            type=(names or {}).get(c.type, c.type),
            status=c.status.value,
            reason=c.reason,
            message=c.message,
            lastTransitionTime=time(c.since),
        )
        for c in several
    ]


def quantities(amounts: Resources) -> Tree:
    """Write amounts by resource name, sorted."""
    return dict(amounts.format())
