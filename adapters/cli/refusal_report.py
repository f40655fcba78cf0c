"""The report of refused pods: reasons, nearest pool or node, and remedy; as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Refusal
from treenail.domain.packing.remedies import ManifestChange, Remedy

_MOST_SHOWN: Final = 5


def refused_as_json(refused: Sequence[RefusedClass], names: dict[str, str]) -> list[dict[str, object]]:
    """Return each class refused: its pods, every reason, the nearest, and the change that would help."""
    return [
        {
            "pods": [names[uid] for uid in group.pods],
            "refusals": [_refusal(refusal) for refusal in group.refusals],
            "nearest": _refusal(group.nearest) if group.nearest is not None else None,
            "remedy": _remedy(group.remedy) if group.remedy is not None else None,
        }
        for group in refused
    ]


def _refusal(refusal: Refusal) -> dict[str, object]:
    values = refusal.values
    return {
        "nodePool": refusal.pool or None,
        "node": refusal.node or None,
        "reason": refusal.reason.value,
        "values": {
            "about": values.about,
            "asked": values.asked,
            "offered": list(values.offered),
            "nearest": values.nearest,
        },
        "sentence": refusal.detail,
    }


def _remedy(remedy: Remedy) -> dict[str, object]:
    return {
        "forAll": remedy.for_all,
        "changes": [_change(change) for change in remedy.changes],
        "node": remedy.node or None,
        "sentence": str(remedy),
    }


def _change(change: ManifestChange) -> dict[str, object]:
    return {
        "kind": change.kind.value,
        "object": change.object,
        "path": change.path,
        "from": change.before,
        "to": change.after,
    }


def write_refused(refused: Sequence[RefusedClass], names: dict[str, str], console: Console) -> None:
    """Write who goes nowhere, each pool's reason, what came nearer than any pool, and what would help."""
    for group in refused:
        console.print(f"unschedulable: {named([names[uid] for uid in group.pods])}", highlight=False)
        at_node = (group.nearest,) if group.nearest is not None and group.nearest.node else ()
        for refusal in (*group.refusals, *at_node):
            console.print(f"  {refusal.reason.value}: {refusal}", highlight=False, markup=False)
        if group.remedy is not None:
            console.print(f"  {group.remedy}", highlight=False, markup=False)


def named(pods: Sequence[str]) -> str:
    """Return the names of some pods, and how many more there are."""
    more = f" and {len(pods) - _MOST_SHOWN} more" if len(pods) > _MOST_SHOWN else ""
    return ", ".join(pods[:_MOST_SHOWN]) + more
