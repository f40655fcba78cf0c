"""The end of a consolidation move, as a span of its decision: made, and what it saves, or withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from treenail.domain.disruption.moves_under_way import MoveUnderWay
from treenail.domain.telemetry.bounded_values import bounded_list
from treenail.domain.telemetry.span_attributes import DECISION_ID
from treenail.domain.telemetry.tracing import Attribute, Span


def made_span(move: MoveUnderWay, saved: float, at: datetime) -> Span:
    """Return the span of a move whose nodes were all gone `at` this time, and that saves so much, $/h."""
    return _span("move", move, at, {"treenail.saved_usd_hour": round(saved, 6)})


def withdrawn_span(move: MoveUnderWay, stays: Sequence[str], why: str, at: datetime) -> Span:
    """Return the span of a move that was taken back, with the nodes that stay after all."""
    return _span("withdraw", move, at, bounded_list("treenail.stays", stays), error=why)


def _span(
    name: str, move: MoveUnderWay, at: datetime, more: dict[str, Attribute], *, error: str = ""
) -> Span:
    root = move.decision.context
    return Span(
        context=root.child(name),
        parent=root,
        name=name,
        start=min(move.began_at, at),
        end=at,
        attributes={
            DECISION_ID: move.decision.id,
            **bounded_list("treenail.removed", move.nodes),
            **bounded_list("treenail.nodeclaims", tuple(claim for claim, _ in move.claims)),
            "treenail.saves_usd_hour": round(move.saves, 6),
            **more,
        },
        error=error,
    )
