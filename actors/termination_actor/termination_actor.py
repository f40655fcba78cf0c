"""TerminationActor: sees nodes out, step by step, whatever happens in between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.life_lines import tell_deleted, tell_node_deleted, tell_taken
from treenail.actors.runtime.publishing import write_beside
from treenail.actors.runtime.work_queue import Look, WorkQueue
from treenail.actors.termination_actor.drain_calls import DrainCalls, cause_of, leaving_for
from treenail.actors.termination_actor.ending_publisher import EndingPublisher
from treenail.actors.termination_actor.ending_recorder import EndingRecorder
from treenail.actors.termination_actor.evictions import Evictions
from treenail.actors.termination_actor.gathered_ends import GATHER_SECONDS, GatheredEnds, Together
from treenail.actors.termination_actor.messages import (
    Did,
    DidTogether,
    Heal,
    MovedOut,
    TakeTogether,
    Tick,
)
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.consolidating import MoveWithdrawn
from treenail.domain.disruption.disruption import (
    ClaimGivenUp,
    DisruptionEnded,
    DisruptNodes,
    NodeInterrupted,
)
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import marked
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.node_deadlines import deadline_of
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Failed, Ref
from treenail.domain.ports import ClusterWriter
from treenail.domain.telemetry.call_delays import noting_delays
from treenail.domain.telemetry.delays import CallDelay, placed
from treenail.domain.termination.drain import (
    Abandon,
    AwaitDetached,
    AwaitGone,
    Cordon,
    DeleteClaim,
    FindInstance,
    InstanceTerminated,
    LetGo,
    NodeCordoned,
    NodeDrained,
    NodeUncordoned,
    Step,
    Terminate,
    must_leave,
    names_in,
    note_done,
)
from treenail.domain.termination.drain_table import next_step
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving, why_it_stays

_LOOK_SECONDS: Final = 5.0
_HEAL_SECONDS: Final = 10.0
_EVICT_AGAIN_SECONDS: Final = 2.0
_TURN_AGAIN_SECONDS: Final = 0.5


TerminationInbox: TypeAlias = (
    DisruptNodes | NodeInterrupted | ClaimGivenUp | MoveWithdrawn | NodeChanged | Tick
)
TerminationTells: TypeAlias = NodeCordoned | NodeUncordoned | NodeDrained | InstanceTerminated


class TerminationActor(DomainActor[TerminationInbox]):
    """Take every node that is to go through cordon, drain, termination and the end of its objects.

    Owns the nodes on their way out; all it knows of them can be found again in the API. Tells the
    arbiter and the cluster state `DisruptionEnded`, whoever wants to know the rest.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        arbiter: Ref[DisruptionEnded],
        observer: Ref[TerminationTells],
        calls: DrainCalls,
        writer: ClusterWriter,
        forced: bool,
    ) -> None:
        super().__init__(runtime)
        self._arbiter = arbiter
        self._observer = observer
        self._calls = calls
        self._forced = forced
        # What was heard of each node last: its pods and their places may be told before it is to go.
        self._heard: dict[str, NodeChanged] = {}
        self._leaving: dict[str, Leaving] = {}
        self._recorder = EndingRecorder(runtime.telemetry, runtime.timers)
        self._teller = EndingPublisher(runtime, writer)
        self._gathered = GatheredEnds()
        self._work = WorkQueue(self, Look)
        self._evictions = Evictions(calls, runtime.timers.monotonic)
        self._take_at = math.inf

    def handle(self, message: TerminationInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case DisruptNodes():
                for view in message.nodes:
                    self._disrupt(view, message)
            case NodeInterrupted():
                self._interrupt(message)
            case ClaimGivenUp():
                self._give_up(message)
            case MoveWithdrawn():
                self._withdraw(message)
            case _:
                self._go_on(message)

    def _go_on(self, tick: Tick) -> None:
        match tick:
            case Look(name=name):
                self._look(name)
            case Heal(name=name):
                self._heal(name)
            case Did():
                self._did(tick)
            case TakeTogether():
                self._take_together()
            case DidTogether():
                self._did_together(tick)
            case MovedOut():
                self._moved_out(tick)
            case _:
                assert_never(tick)

    # --- who leaves

    def _note(self, changed: NodeChanged) -> None:
        name, view = changed.name, changed.view
        if view is None:
            self._forget(name)
            return
        self._heard[name] = changed
        self._recorder.note(view)
        if name not in self._leaving:
            if must_leave(view):
                self._begin(view, cause_of(view), began_at=self._timers.now())
            elif marked(view):
                self.later(("heal", name), Heal(name), seconds=_HEAL_SECONDS)
        state = self._leaving.get(name)
        if state is not None:
            state.agree(view)
            state.hasten(deadline_of(view))
            state.note(changed, self._timers.now())
            self._look(name)

    def _heal(self, name: str) -> None:
        """Open a node again that was marked by a process which died before it went on."""
        view = self._view(name)
        if view is None or name in self._leaving or not marked(view):
            return
        alone = self._heard[name].left_alone
        if alone is not None and alone.entirely:
            return  # the mark is somebody else's
        self.log("removing mark of an abandoned disruption", node=view.node_name)
        key, call = self._calls.open_again(view)
        write_beside(self._tasks, key, call, purpose=Purpose.DISRUPTION)
        self.later(("heal", name), Heal(name), seconds=_HEAL_SECONDS)

    def _interrupt(self, notice: NodeInterrupted) -> None:
        view, state = self._view(notice.name), self._leaving.get(notice.name)
        if view is None:
            return
        begins, ends = state is None, state is None or state.has_way_back(view)
        if state is None:
            state = Leaving.of(notice, forced=self._forced)
            self._leave(view, state)
        elif ends:
            # Whatever comes now, it does not stay.
            state.insist(notice.cause, why=notice.why, at=notice.noticed_at)
        self.within(state.trace)
        if ends:
            tell_taken(self.log, view, notice)
        news = state.heed(notice)
        if news and not begins:
            state.delays.warned(notice, state.trace)
        self._teller.warned(view, notice, news=news, ends=ends)
        self._look(view.name)

    def _give_up(self, given_up: ClaimGivenUp) -> None:
        """Let a claim go that is of no use, unless it goes already: who came first says why."""
        view, state = self._view(given_up.name), self._leaving.get(given_up.name)
        if view is None or not (view.claim is not None and view.claim.resource_version):
            return  # or not written yet
        cause, why, actor = given_up.cause, given_up.why, given_up.actor
        ends = state is None or state.has_way_back(view)
        if state is None:
            state = leaving_for(view, cause, self._timers.now(), forced=self._forced, actor=actor, why=why)
            self._leave(view, state)
        elif state.has_way_back(view):
            state.insist(cause, why=why, actor=actor)
        self.within(state.trace)
        if ends:
            self.log("giving up claim", nodeclaim=view.name, cause=cause.value)
        state.nothing_bought |= given_up.nothing_bought
        self._look(view.name)

    def _withdraw(self, withdrawn: MoveWithdrawn) -> None:
        """Let nodes stay, unless their claims are deleted already or another reason came."""
        for name in withdrawn.names:
            state, view = self._leaving.get(name), self._view(name)
            if state is not None and view is not None and state.has_way_back(view):
                state.withdrawn = withdrawn.why
                self._look(name)

    def _begin(
        self, view: NodeView, cause: Cause, *, began_at: datetime, order: DisruptNodes | None = None
    ) -> None:
        if view.name not in self._leaving:
            began_at = min(began_at, self._timers.now())
            state = leaving_for(view, cause, began_at, forced=self._forced)
            if order is not None:
                state.heed_order(order, view.pool)
            self._leave(view, state)
            self._look(view.name)

    def _leave(self, view: NodeView, state: Leaving) -> None:
        self._leaving[view.name] = state
        state.note(self._heard[view.name], self._timers.now())

    def _disrupt(self, view: NodeView, order: DisruptNodes) -> None:
        if view.name in self._heard:
            self._begin(view, order.cause, began_at=order.decided_at, order=order)
        else:  # it went before the order came
            self._arbiter.tell(DisruptionEnded(name=view.name))

    def _forget(self, name: str) -> None:
        view = self._view(name)
        self._heard.pop(name, None)
        self._teller.forget(name)
        if self._gathered.forget(name):
            self._work.end(name)
        self._work.forget(name)
        self._evictions.forget(name)
        state = self._leaving.pop(name, None)
        if state is not None:
            if view is not None and view.claim is not None:
                self.within(state.trace)
                record = self._recorder.why(view.claim, state)
                tell_deleted(self.log, view.claim, record)
                self._teller.gone(view.claim, record)
            self._arbiter.tell(DisruptionEnded(name=name))
        self._recorder.forget(name)

    def _view(self, name: str) -> NodeView | None:
        return self._heard[name].view if name in self._heard else None

    def _pods(self, name: str) -> tuple[Pod, ...]:
        return self._heard[name].pods if name in self._heard else ()

    # --- what is next

    def _look(self, name: str) -> None:
        state, view = self._leaving.get(name), self._view(name)
        if state is None or view is None or self._work.busy(name):
            return
        now = self._timers.now()
        step = next_step(view, self._pods(name), state, now)
        self.within(state.trace)
        self._recorder.look(step, self._pods(name), state)
        self._teller.expiring(view, state, self._pods(name))
        if not isinstance(step, MoveOut):
            self._evictions.rest(name)
        match step:
            case datetime():
                self._work.again(name, max(0.1, (step - now).total_seconds()))
            case MoveOut():
                self._move_out(view, step)
            case _:
                self._drained(view, state, step)
                self._do(view, step)

    def _drained(self, view: NodeView, state: Leaving, step: Step) -> None:
        """Note, once, that the drain is over, when what comes after it begins."""
        if state.drained_at is not None or not isinstance(step, Terminate) or view.claim is None:
            return
        state.drained_at = self._timers.now()
        self._teller.ended(view, self._recorder.why(view.claim, state))
        if view.node is None:
            return
        start = state.cordoned_at or state.began_at
        self._recorder.stage("drain", view.claim, state, start)
        self._observer.tell(NodeDrained(claim=view.claim, node=view.node_name))

    def _do(self, view: NodeView, step: Step) -> None:
        name, state = view.name, self._leaving[view.name]
        self._work.begin(name)
        if isinstance(step, Terminate | AwaitGone):
            state.looked_at = self._timers.now()
            self._gathered.add(name, step, state.purpose)
            self._gather()
            return
        started_at, delays = self._timers.now(), list[CallDelay]()
        record = self._recorder.why(view.claim, state) if view.claim is not None else None
        key, call = self._calls.of(step, view, state, record)
        self._tasks.run(
            key,
            noting_delays(call, delays),
            self.carrying(),
            lambda outcome: Did(name, step, started_at, outcome, placed(delays, started_at)),
            purpose=state.purpose,
        )

    def _gather(self) -> None:
        """See to it that what is gathered is done, and soon if something came that can be done at once."""
        at = self._gathered.next_at(self._timers.monotonic())
        if at is not None and at < self._take_at:
            self._take_at = at
            self._timers.arm("together", self.me, TakeTogether(), at=at)

    def _take_together(self) -> None:
        self._take_at = math.inf
        for together in self._gathered.take(self._timers.monotonic()):
            self._take(together)
        self._gather()

    def _take(self, together: Together) -> None:
        started_at, delays = self._timers.now(), list[CallDelay]()
        call = noting_delays(self._calls.together(together), delays)
        if together.ids:
            self._recorder.terminating(len(together.ids), GATHER_SECONDS)
        self._tasks.run(
            together.key,
            call,
            self.me,
            lambda outcome: DidTogether(together, started_at, outcome, placed(delays, started_at)),
            purpose=together.purpose,
        )

    def _did_together(self, done: DidTogether) -> None:
        if isinstance(done.outcome, Failed) and isinstance(done.outcome.error, InvalidError):
            self._gathered.part(done.together)
        for name, step in done.together.steps:
            if isinstance(step, Terminate) and isinstance(done.outcome, Failed):
                self._recorder.not_terminated(step.claim)
            state = self._leaving.get(name)
            if state is not None:
                self.within(state.trace)
            self._did(Did(name, step, done.started_at, done.outcome, done.delays))

    def _did(self, did: Did) -> None:
        name = did.name
        self._work.end(name)
        state, view = self._leaving.get(name), self._view(name)
        if state is None or view is None:
            return
        self._recorder.did(did, state)
        match did.outcome:
            case Failed(error=error) if not isinstance(error, NotFoundError):
                self._work.retry(name)
            case outcome:
                # What we would change may be gone; the watch says so shortly.
                self._work.succeeded(name)
                self._advance(did, outcome.value if isinstance(outcome, Done) else None, view, state)

    def _advance(self, did: Did, value: object, view: NodeView, state: Leaving) -> None:
        name, wait = did.name, 1.0
        note_done(state, did.step, value, asked_at=did.started_at, now=self._timers.now())
        match did.step:
            case Cordon(node=node):
                if view.claim is not None:
                    self._recorder.stage("cordon", view.claim, state, did.started_at)
                    self._observer.tell(NodeCordoned(claim=view.claim, node=node.name))
                self.log("cordoned node", logger="controller.termination", node=node.name)
            case Abandon(why=why) if state.may_stay:  # else a reason came meanwhile that leaves no choice
                del self._leaving[name]
                self._evictions.forget(name)
                self._teller.forget(name)
                why = why or state.withdrawn
                self._arbiter.tell(DisruptionEnded(name=name, why=why or why_it_stays(state.cause)))
                if view.claim is not None:
                    self._observer.tell(NodeUncordoned(claim=view.claim, node=view.node_name))
                self.log(why_it_stays(state.cause, why), node=view.node_name)
                return
            case DeleteClaim(claim=claim):
                self._recorder.disrupted(claim, state, self._pods(name))
            case FindInstance():
                wait = 0.0 if state.nothing_bought else _LOOK_SECONDS
            case AwaitGone(draining=True):
                wait = 0.0
            case AwaitGone(claim=claim):
                wait = 0.0 if state.gone else _LOOK_SECONDS
                if state.gone:
                    self._gone(claim, state)
            case AwaitDetached(kept=kept):
                self._teller.detaching(view, names_in(value) - kept)
                state.delays.attached(names_in(value) - kept)
                wait = 0.0 if state.detached else wait
            case LetGo():
                wait = _LOOK_SECONDS
        # The watch brings what we wrote; a tick goes on where that is late or lost.
        self._work.again(name, wait)

    def _gone(self, claim: NodeClaim, state: Leaving) -> None:
        self._recorder.gone(claim, state)
        self._observer.tell(InstanceTerminated(claim=claim, cause=state.cause))
        tell_node_deleted(self.log, claim, self._recorder.why(claim, state))

    # --- pods

    def _move_out(self, view: NodeView, step: MoveOut) -> None:
        name, state = view.name, self._leaving[view.name]
        for pod, seconds in step.delete:
            if state.hurry(pod.uid):
                self.log("deleting pod as time is up", pod=pod.key, grace=seconds, cause=state.cause.value)
        for pod, grace, call in self._evictions.begin(name, step, self._going_together(name)):
            key = ("kubernetes", "pod", pod.uid)
            told = partial(MovedOut, name, pod, grace)
            self._tasks.run(key, call, self.carrying(), told, purpose=Purpose.INTERRUPTION)
        self._teller.draining(view, state, step, self._pods(name))
        # Nobody tells of pods that left another node.
        soon = self._evictions.holds_back(name)
        self._work.again(name, _TURN_AGAIN_SECONDS if soon else _EVICT_AGAIN_SECONDS)

    def _going_together(self, name: str) -> Iterator[str]:
        """Yield the other nodes of the same move, as long as they go at will and are not drained."""
        for other in self._leaving[name].together:
            state = self._leaving.get(other)
            if other != name and state is not None and state.at_will and state.drained_at is None:
                yield other

    def _moved_out(self, moved: MovedOut) -> None:
        self._recorder.moved(moved, self._leaving.get(moved.name))
        error = self._evictions.end(moved.pod.uid, moved.outcome)
        self._teller.moved(self._view(moved.name), self._leaving.get(moved.name), moved, error)
        if error is not None:
            self.log("failed draining node", nodeclaim=moved.name, error=str(error))
