"""StatusReporter: shows conditions of pools and node classes, and objects that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.noting import write
from treenail.actors.runtime.publishing import ToldLately, publish
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, PoolsSeen
from treenail.domain.cluster.set_aside import ObjectUnderstood, warning_of
from treenail.domain.explain.node_events import transition
from treenail.domain.lifecycle.lifecycle import NodeNeverCame, NodeRegistered
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_class_status import NodeClassStatusSeen
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import ClusterWriter
from treenail.domain.scheduling.nothing_to_buy import NothingToBuy, no_compatible_types
from treenail.domain.status.overlay_verdicts import OverlaysJudged
from treenail.domain.status.readiness import (
    NodeClassChecked,
    NodeClassesWanted,
    ReadinessChanged,
    told_of,
)
from treenail.domain.status.status_board import Showing, StatusBoard
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.condition_book import ConditionBook
from treenail.domain.telemetry.condition_gauges import own_series
from treenail.domain.telemetry.condition_metrics import NODE_CLASS, NODE_POOL

# What is applied together, or answered together, is written once.
_GATHERED: Final = 1.0
# The cloud sends no changes, so it is polled: more often while something is missing.
_LOOK_SECONDS: Final = 300.0
_LOOK_AGAIN_SECONDS: Final = 30.0
_NOTHING_SECONDS: Final = 60.0
# Those whose conditions have metrics.
_KINDS: Final = {Kind.NODE_POOL: NODE_POOL, Kind.NODE_CLASS: NODE_CLASS}


@dataclass(frozen=True, slots=True)
class _Show:
    """Private timer tick: write what is due."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: ask the cloud anew."""


@dataclass(frozen=True, slots=True)
class _Written:
    """Conditions were written, or not."""

    about: ObjectRef
    outcome: Outcome[None]


ReporterInbox: TypeAlias = (
    PoolsSeen
    | OverlaysJudged
    | NodeClassChecked
    | NodeClassStatusSeen
    | ObjectSetAside
    | ObjectUnderstood
    | NothingToBuy
    | NodeRegistered
    | NodeNeverCame
    | _Show
    | _Look
    | _Written
)


class StatusReporter(DomainActor[ReporterInbox]):
    """Write the conditions of pools, node classes and overlays, and events about those that cannot be used.

    Owns the conditions each object shows. Asks the selector `NodeClassesWanted`: at once about new objects,
    and now and then about all of them. Tells an observer `ReadinessChanged`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        selector: Ref[NodeClassesWanted],
        writer: ClusterWriter,
        observer: Ref[ReadinessChanged],
    ) -> None:
        super().__init__(runtime)
        self._selector = selector
        self._writer = writer
        self._observer = observer
        self._board = StatusBoard()
        self._conditions = ConditionBook()
        self._showing = False
        self._nothing = ToldLately(runtime.timers.monotonic, seconds=_NOTHING_SECONDS)

    def begin(self) -> None:
        self.later("look", _Look(), seconds=_LOOK_SECONDS)

    def handle(self, message: ReporterInbox) -> None:
        match message:
            case PoolsSeen():
                self._board.see(message)
                self._keep_conditions(message)
                self._ask(anew=False)
                self._show_soon()
            case NodeClassChecked() | NodeClassStatusSeen() | ObjectSetAside() | ObjectUnderstood():
                if self._learn(message):
                    self._show_soon()
            case OverlaysJudged():
                if self._board.judge(message):
                    self._show_soon()
            case NodeRegistered() | NodeNeverCame():
                failure = message.cause if isinstance(message, NodeNeverCame) else None
                if self._board.register(message.claim.pool, failure):
                    self._show_soon()
            case NothingToBuy():
                self._tell_nothing(message)
            case _Show():
                self._showing = False
                self._show()
            case _Look():
                self._ask(anew=True)
                self._show()
            case _Written():
                self._note(message)
            case _:
                assert_never(message)

    def _learn(
        self, fact: NodeClassChecked | NodeClassStatusSeen | ObjectSetAside | ObjectUnderstood
    ) -> bool:
        """Take a fact in; return whether something else is to be shown because of it."""
        match fact:
            case NodeClassChecked():
                return self._board.check(fact)
            case NodeClassStatusSeen():
                return self._board.node_class_seen(fact)
            case ObjectSetAside():
                self._write_event(warning_of(fact))
                return self._board.set_aside(fact)
            case ObjectUnderstood():
                self.log("object set aside no longer", about=str(fact.about))
                return self._board.understand(fact)

    def _ask(self, *, anew: bool) -> None:
        wanted = self._board.wanted(anew=anew)
        if wanted:
            self._selector.tell(NodeClassesWanted(wanted=wanted))

    def _show_soon(self) -> None:
        if not self._showing:
            self._showing = True
            self.later("show", _Show(), seconds=_GATHERED)

    def _show(self) -> None:
        for showing in self._board.due():
            key = ("kubernetes", "condition", f"{showing.about.kind} {showing.about.name}")
            show = partial(self._writer.set_conditions, showing.about, showing.conditions, showing.meaning)
            calls = [partial(show, class_generation=showing.class_generation)]
            if showing.annotations:
                calls.append(partial(self._writer.annotate, showing.about, showing.annotations))
            told = partial(_Written, showing.about)
            for call in calls:
                self._tasks.run(key, call, self.me, told, purpose=Purpose.HOUSEKEEPING)
            self._tell(showing)
            kind = _KINDS.get(showing.kind)
            if kind is not None:
                now = self._timers.now()
                write(
                    self._telemetry,
                    self._conditions.see(kind, showing.about.name, showing.conditions, now),
                )
        self._show_conditions()
        self._look_later()

    def _keep_conditions(self, seen: PoolsSeen) -> None:
        now = self._timers.now()
        pools = {one.name: one.deleting for one in seen.pools}
        classes = {one.ref.name: one.deleting for one in seen.node_classes}
        for kind, there in ((NODE_POOL, pools), (NODE_CLASS, classes)):
            deleting = [name for name, goes in there.items() if goes]
            for _, noted in self._conditions.keep(kind, there, deleting, now):
                write(self._telemetry, noted)
        self._show_conditions()

    def _show_conditions(self) -> None:
        known = self._conditions.all()
        self._telemetry.show(
            "conditions of pools and node classes",
            lambda: (series for one in known for series in own_series(one)),
        )

    def _look_later(self) -> None:
        seconds = _LOOK_SECONDS if self._board.settled else _LOOK_AGAIN_SECONDS
        self.later("look", _Look(), seconds=seconds)

    def _tell(self, showing: Showing) -> None:
        about = showing.about
        if showing.news:
            self._telemetry.count(metrics.OBJECTS_SET_ASIDE.name, kind=showing.kind.value)
        for news in showing.news:
            self.log("object not ready", about=str(about), reason=news.reason, problem=news.message)
            self._write_event(
                ClusterEvent(about=about, reason=news.reason, message=told_of(news), warning=True)
            )
            self._observer.tell(ReadinessChanged(about=about, condition=news))
        for condition, was in showing.moved:
            self._write_event(transition(about, condition, was))
        if showing.recovered:
            self.log("object ready again", about=str(about))
            self._observer.tell(ReadinessChanged(about=about, condition=showing.ready))

    def _tell_nothing(self, nothing: NothingToBuy) -> None:
        event = no_compatible_types(nothing)
        if self._nothing.news(event):
            self.log(
                "skipping, nodepool requirements filtered out all instance types",
                logger="controller.provisioner",
                about=str(event.about),
            )
            self._write_event(event)

    def _write_event(self, event: ClusterEvent) -> None:
        publish(self._tasks, self._writer, event)

    def _note(self, written: _Written) -> None:
        outcome, about = written.outcome, written.about
        if isinstance(outcome, Done):
            return
        if isinstance(outcome.error, InvalidError | NotFoundError):
            # The object refuses it, or is gone: a retry would not help.
            self.log("conditions not written", about=str(about), why=str(outcome.error))
            return
        self._board.unwritten(about)
        self._look_later()
