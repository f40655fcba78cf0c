"""NodeClassController: holds node classes, looks up what they mean, and cleans up after them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import publish
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.node_class_status import NodeClassStatus, NodeClassStatusSeen
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref, TaskKey
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter
from treenail.domain.status.discoveries import Discoveries
from treenail.domain.status.node_class_book import NodeClassBook, about, users_of, waiting_event

# The cloud sends no changes, so it is polled: more often while something is missing.
_LOOK_SECONDS: Final = 300.0
_LOOK_AGAIN_SECONDS: Final = 30.0
# How long the end of a class that is in use, or could not be cleared away after, is waited for.
_FREE_AGAIN_SECONDS: Final = 15.0
_SWEEP_SECONDS: Final = 1800.0


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: look up all node classes anew."""


@dataclass(frozen=True, slots=True)
class _Free:
    """Private timer tick: let those go that are to go."""


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Private timer tick: collect instance profiles that are left over."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A class was held, or was not."""

    node_class: NodeClass
    outcome: Outcome[None]


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """A class was looked up, or was not."""

    node_class: NodeClass
    outcome: Outcome[NodeClassStatus]


@dataclass(frozen=True, slots=True)
class _Freed:
    """A class was released, or claims still use it, or there was no answer."""

    node_class: NodeClass
    outcome: Outcome[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Swept:
    """Profiles were collected, or were not: the next time finds them again."""

    outcome: Outcome[tuple[str, ...]]


NodeClassControllerInbox: TypeAlias = PoolsSeen | _Look | _Free | _Sweep | _Held | _LookedUp | _Freed | _Swept


class NodeClassController(DomainActor[NodeClassControllerInbox]):
    """Keep node classes from going while they are used, and what was made for them from staying after.

    Owns what is known of their lives. Tells the reporter, the sizer, and the disruptors of pools that name
    them, `NodeClassStatusSeen`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        reporter: Ref[NodeClassStatusSeen],
        disruptor: Callable[[str], Ref[NodeClassStatusSeen]],
        sizer: Ref[NodeClassStatusSeen],
        reader: ClusterReader,
        writer: ClusterWriter,
        cloud: Cloud,
    ) -> None:
        super().__init__(runtime)
        self._reporter = reporter
        self._disruptor = disruptor
        self._sizer = sizer
        self._pools: tuple[NodePool, ...] = ()
        # The names of those that nothing is launched for here.
        self._left_alone: tuple[str, ...] = ()
        self._reader = reader
        self._writer = writer
        self._cloud = cloud
        self._book = NodeClassBook()
        self._discoveries = Discoveries()
        # Before all classes are known, what they need looks left over.
        self._sweeping = False

    def handle(self, message: NodeClassControllerInbox) -> None:
        match message:
            case PoolsSeen():
                self._see(message)
            case _Look():
                self._keep(anew=True)
            case _Free():
                self._free()
            case _Sweep():
                self._sweep()
            case _Held():
                self._note_held(message)
            case _LookedUp():
                self._note_status(message)
            case _Freed():
                self._note_freed(message)
            case _Swept():
                self._note_swept(message.outcome)
            case _:
                assert_never(message)

    def _see(self, seen: PoolsSeen) -> None:
        used = {pool.node_class for pool in self._pools}
        self._pools, self._left_alone = seen.pools, seen.left_alone
        self._book.see(seen.node_classes)
        # Whether a class may be launched from is tried for its pools.
        self._book.ask_again(pool.node_class for pool in seen.pools if pool.node_class not in used)
        self._keep(anew=False)
        self._free()
        if not self._sweeping:
            self._sweeping = True
            self.later("sweep", _Sweep(), seconds=_SWEEP_SECONDS)

    # --- those that are used

    def _keep(self, *, anew: bool) -> None:
        for node_class in self._book.to_hold(anew=anew):
            self._hold(node_class)
        for node_class in self._book.to_ask(anew=anew):
            self._look_up(node_class)
        self._look_later()

    def _look_later(self) -> None:
        self.later("look", _Look(), seconds=_LOOK_SECONDS if self._book.settled else _LOOK_AGAIN_SECONDS)

    def _hold(self, node_class: NodeClass) -> None:
        writer = self._writer
        self._tasks.run(
            _key(node_class),
            lambda: writer.hold_node_class(about(node_class), labels.NODE_CLASS_FINALIZER),
            self.me,
            lambda outcome: _Held(node_class, outcome),
        )

    def _look_up(self, node_class: NodeClass) -> None:
        cloud = self._cloud
        pools = tuple(
            one
            for one in self._pools
            if one.node_class == node_class.ref and not one.deleting and one.name not in self._left_alone
        )
        self._tasks.run(
            _key(node_class),
            lambda: cloud.node_class_status(node_class, pools),
            self.me,
            lambda outcome: _LookedUp(node_class, outcome),
        )

    def _note_held(self, held: _Held) -> None:
        if isinstance(held.outcome, Done):
            self._book.held(held.node_class)
        elif not isinstance(held.outcome.error, NotFoundError):
            self._complain("cannot hold node class", held.node_class, held.outcome)

    def _note_status(self, looked_up: _LookedUp) -> None:
        node_class = looked_up.node_class
        match looked_up.outcome:
            case Done(value=status):
                for found in self._discoveries.of(node_class, status.meaning):
                    self.log(found.message, logger="controller.nodeclass", **found.fields)
                self._book.status_seen(node_class, status)
                if not node_class.ref.inline:
                    self._tell(NodeClassStatusSeen(node_class=node_class, status=status))
            case failed:
                self._book.status_seen(node_class, None)
                self._complain("cannot look up node class", node_class, failed)
        self._look_later()

    def _tell(self, seen: NodeClassStatusSeen) -> None:
        self._reporter.tell(seen)
        self._sizer.tell(seen)
        for pool in self._pools:
            if pool.node_class == seen.node_class.ref:
                self._disruptor(pool.name).tell(seen)

    # --- those that go

    def _free(self) -> None:
        for node_class in self._book.leaving():
            self._let_go(node_class)

    def _let_go(self, node_class: NodeClass) -> None:
        reader, writer, cloud = self._reader, self._writer, self._cloud

        def unless_used() -> tuple[str, ...]:
            users = users_of(node_class, reader.list_claims())
            if not users:
                cloud.release(node_class)
                with suppress(NotFoundError):  # it is gone already
                    writer.release_node_class(about(node_class), labels.NODE_CLASS_FINALIZER)
            return users

        self._tasks.run(
            _key(node_class),
            unless_used,
            self.me,
            lambda outcome: _Freed(node_class, outcome),
            purpose=Purpose.HOUSEKEEPING,
        )

    def _note_freed(self, freed: _Freed) -> None:
        node_class = freed.node_class
        match freed.outcome:
            case Done(value=()):
                self._book.gone(node_class)
                self.log("released node class", node_class=str(node_class.ref))
                return
            case Done(value=users):
                if self._book.waits_for(node_class, users):
                    event = waiting_event(node_class, users)
                    publish(self._tasks, self._writer, event)
            case failed:
                self._complain("cannot clear away after node class", node_class, failed)
        self.later("free", _Free(), seconds=_FREE_AGAIN_SECONDS)

    # --- what is left over

    def _sweep(self) -> None:
        classes = self._book.classes
        self._tasks.run(
            ("ec2", "profiles"),
            lambda: self._cloud.collect_profiles(classes),
            self.me,
            _Swept,
            purpose=Purpose.HOUSEKEEPING,
        )
        self.later("sweep", _Sweep(), seconds=_SWEEP_SECONDS)

    def _note_swept(self, outcome: Outcome[tuple[str, ...]]) -> None:
        match outcome:
            case Done(value=names):
                if names:
                    self.log("garbage collected instance profiles", profiles=list(names))
            case failed:
                self.log("cannot collect instance profiles", level="warning", error=str(failed.error))

    def _complain(self, what: str, node_class: NodeClass, failed: Failed) -> None:
        self.log(what, level="warning", node_class=str(node_class.ref), error=str(failed.error))


def _key(node_class: NodeClass) -> TaskKey:
    """Return the key by which all for one class is done in order: nothing is made before it is held."""
    return "ec2", "node class", str(node_class.ref)
