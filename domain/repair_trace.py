"""The beginning of the trace of a node that is given up as unhealthy: `unhealthy`, and `process` in it."""

from __future__ import annotations

from treenail.domain.decision_trace import CLAIM, POOL
from treenail.domain.disruption import NodeInterrupted
from treenail.domain.ending_trace import CAUSE, interruption_context
from treenail.domain.node_repair import Diagnosis
from treenail.domain.nodes import NodeClaim
from treenail.domain.tracing import Attribute, Span


def repair_spans(notice: NodeInterrupted, claim: NodeClaim, diagnosis: Diagnosis) -> tuple[Span, ...]:
    """Return the spans of what was wrong with a node until it was given up, at the notice's `noticed_at`."""
    root = interruption_context(notice.instance_id, notice.cause)
    known: dict[str, Attribute] = {
        "host.id": notice.instance_id,
        "k8s.node.name": claim.node_name,
        CLAIM: claim.name,
        POOL: claim.pool,
        CAUSE: notice.cause.value,
        "treenail.condition": diagnosis.condition.type,
    }
    start = min(diagnosis.since, notice.noticed_at)
    return (
        Span(context=root, name="unhealthy", start=start, end=notice.noticed_at, attributes=known),
        Span(
            context=root.child("process"),
            parent=root,
            name="process unhealthy node",
            start=notice.noticed_at,
            end=notice.noticed_at,
            attributes=known,
        ),
    )
