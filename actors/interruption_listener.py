"""InterruptionListener: reads the interruption queue, and sends each warning to ClusterState."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import ToldLately
from treenail.domain.disruption.disruption import NodeInterrupted, NoticeSettled
from treenail.domain.interruption.message_parsing import Notice, NoticeError, parse_notice
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.interruption.notice_trace import NoticeRoots, message_spans
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.interruption.seen_messages import SeenMessages
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import InterruptionQueue
from treenail.domain.telemetry import metrics

# Messages are deleted so many at a time, as SQS allows, so many times at once, and so long after they came.
_BATCH: Final = 10
_LANES: Final = 4
_GATHER_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class _DeleteNow:
    """A timer tick: delete the messages that were dealt with."""


@dataclass(frozen=True, slots=True)
class _Deleted:
    """The result of deleting messages from the queue. Those that remain come again and are recognized."""

    messages: int
    outcome: Outcome[None]


ListenerInbox: TypeAlias = QueueMessage | NoticeSettled | _DeleteNow | _Deleted


class InterruptionListener(DomainActor[ListenerInbox]):
    """Turn queue messages into facts: once each, however often they come.

    A message stays in the queue until the cluster state says that all that follows from it is written down,
    so that none is lost with this process. Owns what was seen already, and which messages are still needed.
    Tells the cluster state `NodeInterrupted`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[NodeInterrupted],
        queue: InterruptionQueue,
        policy: InterruptionPolicy,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._queue = queue
        self._policy = policy
        self._receipts: list[str] = []
        self._messages = SeenMessages(runtime.timers.monotonic)
        self._roots = NoticeRoots()
        self._told = ToldLately(runtime.timers.monotonic)

    def handle(self, message: ListenerInbox) -> None:
        match message:
            case QueueMessage():
                self._receive(message)
            case NoticeSettled(instance_id=instance_id):
                for receipt in self._messages.settle(instance_id):
                    self._delete_soon(receipt)
            case _DeleteNow():
                self._delete()
            case _Deleted():
                self._deleted(message)
            case _:
                assert_never(message)

    def _receive(self, message: QueueMessage) -> None:
        received_at = self._timers.now()
        if self._messages.see(message):
            self._read(message, received_at)
        if not self._messages.needed(message):
            self._delete_soon(message.receipt)

    def _delete_soon(self, receipt: str) -> None:
        if not self._receipts:
            self.later("delete", _DeleteNow(), seconds=_GATHER_SECONDS)
        self._receipts.append(receipt)

    def _delete(self) -> None:
        receipts, self._receipts = self._receipts, []
        for lane, start in enumerate(range(0, len(receipts), _BATCH)):
            some = tuple(receipts[start : start + _BATCH])
            key = ("sqs", "delete", str(lane % _LANES))
            self._tasks.run(key, partial(self._queue.delete, some), self.me, partial(_Deleted, len(some)))

    def _deleted(self, deleted: _Deleted) -> None:
        if isinstance(deleted.outcome, Done):
            self._telemetry.count(metrics.INTERRUPTION_DELETED.name, deleted.messages)
        elif self._told.news("delete"):
            # What fails for one message mostly fails for all, and they come again and again.
            self.log("cannot delete queue messages", level="warning", error=str(deleted.outcome.error))

    def _read(self, message: QueueMessage, received_at: datetime) -> None:
        try:
            notice = parse_notice(message.body)
        except NoticeError as error:
            self.log("cannot read queue message", message_id=message.id, error=str(error))
            return
        self._telemetry.count(metrics.INTERRUPTION_RECEIVED.name, message_type=notice.kind)
        queued = (received_at - message.sent_at).total_seconds()
        self._telemetry.observe(metrics.INTERRUPTION_QUEUED.name, max(0.0, queued))
        if notice.problem:
            self.log("cannot read part of queue message", message_id=message.id, error=notice.problem)
        for instance_id in notice.instance_ids:
            self._notice(notice, instance_id, message, received_at)

    def _notice(self, notice: Notice, instance_id: str, message: QueueMessage, received_at: datetime) -> None:
        now = self._timers.now()
        cause = notice.cause
        if cause is None or not self._policy.acts_on(notice.kind):
            self.log("recorded interruption message", kind=notice.kind, instance_id=instance_id)
            return
        interrupted = NodeInterrupted(
            instance_id=instance_id,
            cause=cause,
            noticed_at=received_at,
            deadline=notice.ends_at(received_at),
            message_id=message.id,
        )
        for span in message_spans(interrupted, message, now, begins=self._roots.begins(interrupted)):
            self._telemetry.record(span)
        self._messages.need(message, instance_id)
        self._cluster.tell(interrupted)
