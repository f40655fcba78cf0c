"""Spans of a node's end: `disrupt` (or `receive`), then `cordon`, `drain` and `terminate`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.ending_roots import disruption_context
from treenail.domain.telemetry.span_attributes import CAUSE, CLAIM, HURRIED, POOL
from treenail.domain.telemetry.tracing import Attribute, Link, Span, SpanContext, SpanEvent
from treenail.domain.termination.end_records import EndRecord


def disrupt_span(claim: NodeClaim, cause: Cause, start: datetime, end: datetime) -> Span:
    """Return the root span of a disruption."""
    return Span(
        context=disruption_context(claim),
        name="disrupt",
        start=start,
        end=end,
        attributes={CAUSE: cause.value, **_about(claim)},
    )


def stage_span(  # noqa: PLR0913 (all but three are set by name)
    name: str,
    claim: NodeClaim,
    parent: SpanContext,
    *,
    start: datetime,
    end: datetime,
    replaced_by: Iterable[str] = (),
    hurried: int = 0,
    record: EndRecord | None = None,
    events: tuple[SpanEvent, ...] = (),
    links: tuple[Link, ...] = (),
) -> Span:
    """Return the span of one stage of a node's end, linked to the decisions that replace the node.

    `hurried` is how many pods were deleted because time was up; `record` is all that is known of why;
    `events` are what delayed it: it began with the first of them at the latest.
    """
    began = min(start, end, *(event.at for event in events))
    return Span(
        context=parent.child(f"{name}/{claim.name}"),
        parent=parent,
        name=name,
        start=began,
        end=end,
        attributes={
            **_about(claim),
            **({HURRIED: hurried} if hurried else {}),
            **({CAUSE: record.cause.value, **record.attributes()} if record is not None else {}),
        },
        events=events,
        links=tuple(Link(SpanContext.root(f"decide/{decision}")) for decision in replaced_by) + links,
    )


def _about(claim: NodeClaim) -> dict[str, Attribute]:
    return {
        CLAIM: claim.name,
        POOL: claim.pool,
        "k8s.node.name": claim.node_name,
        "host.id": claim.instance_id,
    }
