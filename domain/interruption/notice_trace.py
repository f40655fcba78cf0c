"""The beginning of the trace of a node that is taken away or given up: the notice, and `process` in it."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.disruption.node_repair import Diagnosis
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.span_attributes import CAUSE, CLAIM, POOL
from treenail.domain.telemetry.tracing import Attribute, Span, SpanKind


def message_spans(notice: NodeInterrupted, message: QueueMessage, end: datetime) -> tuple[Span, ...]:
    """Return the spans of a notice that was received at its `noticed_at` and understood at `end`."""
    known: dict[str, Attribute] = {
        "messaging.system": "aws_sqs",
        "messaging.destination.name": message.queue,
        "messaging.message.id": message.id,
    }
    return _spans(
        notice,
        ("receive interruptions", "process interruptions"),
        (SpanKind.CONSUMER, SpanKind.CONSUMER),
        start=message.sent_at,
        end=end,
        known=known,
        received={"messaging.operation.type": "receive"},
        processed={"messaging.operation.type": "process"},
    )


def status_spans(notice: NodeInterrupted, asked_at: datetime, end: datetime) -> tuple[Span, ...]:
    """Return the spans of what a poll, begun at `asked_at`, has shown at the notice's `noticed_at`."""
    return _spans(
        notice,
        ("poll instance status", "process instance status"),
        (SpanKind.CLIENT, SpanKind.INTERNAL),
        start=asked_at,
        end=end,
        received={"rpc.method": "DescribeInstanceStatus"},
    )


def repair_spans(notice: NodeInterrupted, claim: NodeClaim, diagnosis: Diagnosis) -> tuple[Span, ...]:
    """Return the spans of what was wrong with a node until it was given up, at the notice's `noticed_at`."""
    known: dict[str, Attribute] = {
        "k8s.node.name": claim.node_name,
        CLAIM: claim.name,
        POOL: claim.pool,
        "treenail.condition": diagnosis.condition.type,
    }
    return _spans(
        notice,
        ("unhealthy", "process unhealthy node"),
        (SpanKind.INTERNAL, SpanKind.INTERNAL),
        start=diagnosis.since,
        end=notice.noticed_at,
        known=known,
    )


def _spans(
    notice: NodeInterrupted,
    names: tuple[str, str],
    kinds: tuple[SpanKind, SpanKind],
    *,
    start: datetime,
    end: datetime,
    known: dict[str, Attribute] | None = None,
    received: dict[str, Attribute] | None = None,
    processed: dict[str, Attribute] | None = None,
) -> tuple[Span, ...]:
    """Return the root, from `start` until the notice was there, and its child, from then until `end`."""
    root = interruption_context(notice.instance_id, notice.cause)
    both: dict[str, Attribute] = {
        **(known or {}),
        "host.id": notice.instance_id,
        CAUSE: notice.cause.value,
    }
    return (
        Span(
            context=root,
            name=names[0],
            kind=kinds[0],
            start=min(start, notice.noticed_at),
            end=notice.noticed_at,
            attributes={**both, **(received or {})},
        ),
        Span(
            context=root.child("process"),
            parent=root,
            name=names[1],
            kind=kinds[1],
            start=notice.noticed_at,
            end=end,
            attributes={**both, **(processed or {})},
        ),
    )
