"""The `make-node`, `register` and `initialize` spans of a claim."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.launch.launch_trace import decision_context
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import LAUNCHED, REGISTERED, NodeView
from treenail.domain.telemetry.span_attributes import CLAIM, ERROR_TYPE, POOL
from treenail.domain.telemetry.tracing import Span, SpanEvent

_BEGINS_WITH = {"make-node": LAUNCHED, "register": LAUNCHED, "initialize": REGISTERED}


def stage_span(
    stage: str,
    view: NodeView,
    end: datetime,
    *,
    events: tuple[SpanEvent, ...] = (),
    cause: Cause | None = None,
) -> tuple[Span, ...]:
    """Return the span of a stage that ended at `end`; it began when the stage before it did.

    `events` are what delayed it. Where it came to nothing, `cause` is why the claim is given up.
    """
    claim = view.claim
    root = decision_context(claim) if claim is not None else None
    if claim is None or root is None:
        return ()
    start = claim.since(_BEGINS_WITH[stage])
    return (
        Span(
            context=root.child(f"{stage}/{claim.name}"),
            parent=root,
            name=stage,
            start=min(start, end),
            end=end,
            attributes={
                CLAIM: claim.name,
                POOL: claim.pool,
                "k8s.node.name": view.node_name,
                "host.id": claim.instance_id,
                "host.type": claim.instance_type,
                **({ERROR_TYPE: cause.value} if cause is not None else {}),
            },
            events=events,
            error=f"the claim is given up: {cause.value}" if cause is not None else "",
        ),
    )
