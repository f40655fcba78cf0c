"""Verdicts on node overlays: whether each says what no other of its weight says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.node_class_status import VALIDATED
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.overlaid_types import OverlayConflict
from treenail.domain.status.readiness import with_ready

_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaysJudged:
    """Node overlays held against what all pools could launch, and where they conflict, sorted, each once."""

    overlays: tuple[NodeOverlay, ...]
    conflicts: tuple[OverlayConflict, ...]


def overlay_conditions(overlay: NodeOverlay, conflicts: Iterable[OverlayConflict]) -> tuple[Condition, ...]:
    """Return the conditions of an overlay that is understood; `conflicts` are those of all."""
    own = tuple(one for one in conflicts if one.overlay == overlay.name)
    if not own:
        return with_ready(Condition(VALIDATED, Status.TRUE, VALIDATED))
    return with_ready(Condition(VALIDATED, Status.FALSE, "Conflict", _spoken(own)))


def _spoken(conflicts: tuple[OverlayConflict, ...]) -> str:
    shown = "; ".join(map(str, conflicts[:_EXAMPLES]))
    more = f"; and {len(conflicts) - _EXAMPLES} more" if len(conflicts) > _EXAMPLES else ""
    return f"conflict with another overlay of the same weight, which counts there: {shown}{more}"
