"""The beginning of the trace of a node that is taken away or given up: the notice, and `process` in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.disruption.node_repair import Diagnosis
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.delays import Delay, DelayCause
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.span_attributes import CAUSE, CLAIM, POOL, aws_call
from treenail.domain.telemetry.tracing import Attribute, Span, SpanContext, SpanEvent, SpanKind

_MOST_NOTICES: Final = 10_000
# A message is received within seconds.
_QUEUED_LONG: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Part:
    """Name, kind and attributes of one of a notice's two spans; both have other attributes in common."""

    name: str
    kind: SpanKind = SpanKind.INTERNAL
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


class NoticeRoots:
    """Traces of nodes' ends that a notice has begun: the latest ten thousand of them. Mutable."""

    def __init__(self) -> None:
        self._begun: OrderedDict[SpanContext, None] = OrderedDict()

    def begins(self, notice: NodeInterrupted) -> bool:
        """Return whether a notice is the first of its cause on its instance, whose spans begin a trace."""
        root = interruption_context(notice.instance_id, notice.cause)
        known = root in self._begun
        self._begun[root] = None
        self._begun.move_to_end(root)
        if len(self._begun) > _MOST_NOTICES:
            self._begun.popitem(last=False)
        return not known


def message_spans(
    notice: NodeInterrupted, message: QueueMessage, end: datetime, *, begins: bool = True
) -> tuple[Span, ...]:
    """Return the spans of a notice that was received at its `noticed_at` and understood at `end`.

    One that does not begin its trace, as another message said the same before, is processed within it.
    """
    known: dict[str, Attribute] = {
        "messaging.system": "aws_sqs",
        "messaging.destination.name": message.queue,
        "messaging.message.id": message.id,
    }
    queued = notice.noticed_at - message.sent_at
    late = Delay(cause=DelayCause.QUEUE, what=message.queue, since=message.sent_at, until=notice.noticed_at)
    return _spans(
        notice,
        _Part(
            f"receive {message.queue}",
            SpanKind.CLIENT,
            {**aws_call("SQS", "ReceiveMessage"), **_operation("receive")},
        ),
        _Part(f"process {message.queue}", SpanKind.CONSUMER, _operation("process")),
        start=message.sent_at,
        end=end,
        known=known,
        events=(late.event(),) if queued > _QUEUED_LONG else (),
        again="" if begins else message.id,
    )


def _operation(name: str) -> dict[str, Attribute]:
    return {"messaging.operation.name": name, "messaging.operation.type": name}


def status_spans(
    notice: NodeInterrupted, asked_at: datetime, end: datetime, *, begins: bool = True
) -> tuple[Span, ...]:
    """Return the spans of what a poll, begun at `asked_at`, has shown at the notice's `noticed_at`.

    Where it was shown before, and was over meanwhile, it does not begin its trace.
    """
    return _spans(
        notice,
        _Part("EC2/DescribeInstanceStatus", SpanKind.CLIENT, aws_call("EC2", "DescribeInstanceStatus")),
        _Part("process instance status"),
        start=asked_at,
        end=end,
        again="" if begins else notice.noticed_at.isoformat(),
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
        _Part("unhealthy"),
        _Part("process unhealthy node"),
        start=diagnosis.since,
        end=notice.noticed_at,
        known=known,
    )


def _spans(
    notice: NodeInterrupted,
    received: _Part,
    processed: _Part,
    *,
    start: datetime,
    end: datetime,
    known: dict[str, Attribute] | None = None,
    events: tuple[SpanEvent, ...] = (),
    again: str = "",
) -> tuple[Span, ...]:
    """Return the root, from `start` until the notice was there, and its child, from then until `end`.

    For a notice that comes `again` (a name for it), only the child is returned: the root stays as written.
    """
    root = interruption_context(notice.instance_id, notice.cause)
    both: dict[str, Attribute] = {
        **(known or {}),
        "host.id": notice.instance_id,
        CAUSE: notice.cause.value,
    }
    process = Span(
        context=root.child(f"process/{again}" if again else "process"),
        parent=root,
        name=processed.name,
        kind=processed.kind,
        start=notice.noticed_at,
        end=end,
        attributes={**both, **processed.attributes},
    )
    if again:
        return (process,)
    return (
        Span(
            context=root,
            name=received.name,
            kind=received.kind,
            start=min(start, notice.noticed_at),
            end=notice.noticed_at,
            attributes={**both, **received.attributes},
            events=events,
        ),
        process,
    )
