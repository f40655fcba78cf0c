"""The beginning of the trace of an instance that EC2 finds unwell: `poll`, and `process` in it."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.disruption import NodeInterrupted
from treenail.domain.ending_trace import CAUSE, interruption_context
from treenail.domain.tracing import Attribute, Span, SpanKind


def status_spans(notice: NodeInterrupted, asked_at: datetime, end: datetime) -> tuple[Span, ...]:
    """Return the spans of what a look, begun at `asked_at`, has shown at the notice's `noticed_at`."""
    root = interruption_context(notice.instance_id, notice.cause)
    known: dict[str, Attribute] = {"host.id": notice.instance_id, CAUSE: notice.cause.value}
    return (
        Span(
            context=root,
            name="poll instance status",
            kind=SpanKind.CLIENT,
            start=asked_at,
            end=notice.noticed_at,
            attributes={**known, "rpc.method": "DescribeInstanceStatus"},
        ),
        Span(
            context=root.child("process"),
            parent=root,
            name="process instance status",
            start=notice.noticed_at,
            end=end,
            attributes=known,
        ),
    )
