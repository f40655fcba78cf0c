"""SoftTainter: asks the scheduler to use nodes last that consolidation is to take later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.work_queue import Look, WorkQueue
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.consolidating import NodesGoLater
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Failed, Outcome
from treenail.domain.model.taints import GOES_LATER
from treenail.domain.ports import ClusterWriter

# After a restart nobody has named a node yet; where consolidation is off, nobody ever does.
_FIRST_NAMED_SECONDS: Final = 120.0
# The shortest time between two writes to a node: somebody else may undo each of them.
_APART_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _NobodyNamed:
    """Private timer tick: what a process before this one tainted is not to be taken, as far as is known."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A taint was put on the node of a view, or taken off it, or not."""

    name: str
    outcome: Outcome[object]


SoftTainterInbox: TypeAlias = NodeChanged | NodesGoLater | Look | _NobodyNamed | _Written


class SoftTainter(DomainActor[SoftTainterInbox]):
    """Keep the taint `GOES_LATER` on the nodes that were named last, and take it off all others.

    A scheduler that prefers empty nodes would put evicted pods on the nodes that go next. The taint has the
    effect PreferNoSchedule: where there is no other room, pods still run there. The taints are in the API, so
    a restart finds them. Nodes that nobody names within two minutes after it lose theirs.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._views: dict[str, NodeView] = {}
        # None until somebody has named some.
        self._named: frozenset[str] | None = None
        self._work = WorkQueue(self, Look)
        # By view, when its node may be written to again, in monotonic seconds.
        self._not_before: dict[str, float] = {}

    def begin(self) -> None:
        self.later("nobody named", _NobodyNamed(), seconds=_FIRST_NAMED_SECONDS)

    def handle(self, message: SoftTainterInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case NodesGoLater():
                self._name(message.names)
            case Look(name=name):
                self._look(name)
            case _NobodyNamed():
                if self._named is None:
                    self._name(())
            case _Written():
                self._written(message)
            case _:
                assert_never(message)

    def _note(self, changed: NodeChanged) -> None:
        name, view = changed.name, changed.view
        if view is None or view.node is None or not view.registered or view.leaving or changed.untouched:
            # A node that leaves has another taint, and a node that is not ours is not written to.
            self._views.pop(name, None)
            self._not_before.pop(name, None)
            self._work.forget(name)
            return
        self._views[name] = view
        self._look(name)

    def _name(self, names: tuple[str, ...]) -> None:
        before = self._named
        self._named = frozenset(names)
        gone = self._views if before is None else sorted(before - self._named)
        for name in dict.fromkeys((*names, *gone)):
            self._look(name)

    def _look(self, name: str) -> None:
        view = self._views.get(name)
        if view is None or view.node is None or self._named is None:
            return
        if self._work.busy(name) or self._work.waiting(name):
            return
        wanted = name in self._named
        if wanted is (GOES_LATER in view.node.taints):
            return
        pause = self._not_before.get(name, 0.0) - self.monotonic()
        if pause > 0:
            self._work.again(name, pause)
        else:
            self._write(name, view.node.name, wanted=wanted)

    def _write(self, name: str, node: str, *, wanted: bool) -> None:
        writer, taints = self._writer, (GOES_LATER,)
        patch = NodePatch(add_taints=taints) if wanted else NodePatch(remove_taints=taints)
        self._work.begin(name)
        self._tasks.run(
            # The key of a drain: no two calls are to change the taints of one node at once.
            ("kubernetes", "drain", name),
            lambda: writer.patch_node(node, patch),
            self.me,
            lambda outcome: _Written(name, outcome),
            purpose=Purpose.DISRUPTION,
        )

    def _written(self, written: _Written) -> None:
        name, outcome = written.name, written.outcome
        self._work.end(name)
        view = self._views.get(name)
        if isinstance(outcome, Failed):
            if view is not None and not isinstance(outcome.error, NotFoundError):
                self._work.retry(name)
            return
        self._work.succeeded(name)
        if view is not None:
            self._not_before[name] = self.monotonic() + _APART_SECONDS
            self._views[name] = view.updated(outcome.value)
            self._look(name)
