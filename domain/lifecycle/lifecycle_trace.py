"""The `make-node`, `register` and `initialize` spans of a claim."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.launch.launch_trace import decision_context
from treenail.domain.model.nodes import LAUNCHED, REGISTERED, NodeView
from treenail.domain.telemetry.span_attributes import CLAIM, POOL
from treenail.domain.telemetry.tracing import Span

_BEGINS_WITH = {"make-node": LAUNCHED, "register": LAUNCHED, "initialize": REGISTERED}


def stage_span(stage: str, view: NodeView, end: datetime) -> tuple[Span, ...]:
    """Return the span of a stage that ended at `end`; it began when the stage before it did."""
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
            },
        ),
    )
