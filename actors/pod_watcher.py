"""PodWatcher: knows which pods wait for a node, asks for them again, and tells people the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import publish
from treenail.domain.cluster.batch_window import PodBecamePending, PodLeft
from treenail.domain.cluster.changes import PodBound, PodChanged, TryAgain
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.explain.scheduling_events import failed_scheduling, nominated
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import ClusterWriter
from treenail.domain.scheduling.binding_trace import BOUND_CLASS, BOUND_PODS, BindingLog
from treenail.domain.scheduling.pending_pods import PendingPods
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.span_attributes import CLAIM
from treenail.domain.telemetry.tracing import Span

_BINDINGS_QUIET: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Retry:
    """Private timer tick: some pod that was put off may be asked for."""


@dataclass(frozen=True, slots=True)
class _BindingsQuiet:
    """Private timer tick: no pod was bound for a while."""


PodWatcherInbox: TypeAlias = PodChanged | PodBound | TryAgain | PlanCommitted | _Retry | _BindingsQuiet


class PodWatcher(DomainActor[PodWatcherInbox]):
    """Follow pending pods: report them to the batcher, again where a decision left them waiting.

    Owns which pods wait, and since when. Sends the batcher `PodBecamePending` and `PodLeft`; publishes the
    events on pods; records the `bind` spans.
    """

    def __init__(
        self, runtime: Runtime, *, batcher: Ref[PodBecamePending | PodLeft], writer: ClusterWriter
    ) -> None:
        super().__init__(runtime)
        self._batcher = batcher
        self._writer = writer
        self._room = PendingPods()
        self._bindings = BindingLog()

    def handle(self, message: PodWatcherInbox) -> None:
        match message:
            case PodChanged():
                self._note(message)
            case PodBound():
                self._bound(message)
            case TryAgain():
                self._room.try_again(message.uids, afresh=message.afresh)
                self._ask_again()
            case PlanCommitted():
                self._settle(message)
            case _Retry():
                self._ask_again()
            case _BindingsQuiet():
                self._tell_bound(self._bindings.close_all())
            case _:
                assert_never(message)

    def _note(self, changed: PodChanged) -> None:
        if not changed.waiting or changed.pod is None:
            if self._room.leave(changed.uid):
                self._batcher.tell(PodLeft(uid=changed.uid))
            return
        since = self._room.enter(changed.pod, self._timers.now(), changed.not_before)
        if since is not None:
            owner = changed.pod.owner
            self._batcher.tell(
                PodBecamePending(
                    uid=changed.uid,
                    since=since,
                    owner=owner.uid if owner is not None else "",
                    wished=changed.wished,
                )
            )
        elif changed.not_before is not None:
            self._await_retry()

    def _ask_again(self) -> None:
        now = self._timers.now()
        for uid, since in self._room.ready(now):
            self._batcher.tell(PodBecamePending(uid=uid, since=since))
        self._await_retry()

    def _await_retry(self) -> None:
        at = self._room.next_put_off()
        if at is not None:
            seconds = (at - self._timers.now()).total_seconds()
            self.later("retry", _Retry(), seconds=max(1.0, seconds))

    def _settle(self, committed: PlanCommitted) -> None:
        now = self._timers.now()
        for pod, group in committed.refused:
            why = group.sentence
            if self._room.refuse(pod.uid, why, now):
                publish(self._tasks, self._writer, failed_scheduling(pod, why))
        for pod, place in committed.places:
            publish(self._tasks, self._writer, nominated(pod, place))
        self._ask_again()

    def _bound(self, bound: PodBound) -> None:
        if bound.news:
            took = (self._timers.now() - bound.pod.created_at).total_seconds()
            self._telemetry.observe(metrics.PODS_BOUND_DURATION.name, max(took, 0.0))
        self._tell_bound(self._bindings.note(bound, self._timers.now()))
        self.later("bindings", _BindingsQuiet(), seconds=_BINDINGS_QUIET)

    def _tell_bound(self, spans: Iterable[Span]) -> None:
        for span in spans:
            self._telemetry.record(span)
            self.within(span.context)
            self.log(
                "bound pods",
                logger="controller.provisioner",
                pods=span.attributes[BOUND_PODS],
                of=span.attributes[BOUND_CLASS],
                nodeclaim=span.attributes[CLAIM],
            )
