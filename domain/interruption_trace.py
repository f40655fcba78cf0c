"""The beginning of an interruption's trace: `receive`, and `process` in it."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.disruption import NodeInterrupted
from treenail.domain.ending_trace import CAUSE, interruption_context
from treenail.domain.ports import QueueMessage
from treenail.domain.tracing import Attribute, Span, SpanKind


def notice_spans(notice: NodeInterrupted, message: QueueMessage, end: datetime) -> tuple[Span, ...]:
    """Return the spans of a notice that was received at its `noticed_at` and understood at `end`."""
    root = interruption_context(notice.instance_id, notice.cause)
    known: dict[str, Attribute] = {
        "messaging.system": "aws_sqs",
        "messaging.destination.name": message.queue,
        "messaging.message.id": message.id,
        "host.id": notice.instance_id,
        CAUSE: notice.cause.value,
    }
    return (
        Span(
            context=root,
            name="receive interruptions",
            kind=SpanKind.CONSUMER,
            start=min(message.sent_at, notice.noticed_at),
            end=notice.noticed_at,
            attributes={**known, "messaging.operation.type": "receive"},
        ),
        Span(
            context=root.child("process"),
            parent=root,
            name="process interruptions",
            kind=SpanKind.CONSUMER,
            start=notice.noticed_at,
            end=end,
            attributes={**known, "messaging.operation.type": "process"},
        ),
    )
