"""ClusterState: the one writer of facts and promises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.cluster_state.buffer_planning import GATHERED_SECONDS, BufferPlanning
from treenail.actors.cluster_state.change_publisher import ChangePublisher
from treenail.actors.cluster_state.consolidation_moves import ConsolidationMoves
from treenail.actors.cluster_state.decision_recorder import DecisionRecorder
from treenail.actors.cluster_state.expected_recorder import ExpectedRecorder
from treenail.actors.cluster_state.fact_gathering import FactGathering
from treenail.actors.cluster_state.interrupted_nodes import Interruptions
from treenail.actors.cluster_state.pool_sizes import PoolSizes
from treenail.actors.cluster_state.proposal_judge import ProposalJudge
from treenail.actors.cluster_state.refused_pod_retries import RefusedPodRetries
from treenail.actors.cluster_state.state_recorder import StateRecorder
from treenail.actors.cluster_state.subscribers import Subscribers
from treenail.actors.runtime.base import DomainActor, NullRef, Runtime
from treenail.actors.runtime.life_lines import tell_packing
from treenail.actors.runtime.publishing import ToldLately
from treenail.domain.cluster.batch_window import BatchClosed, Decision, UrgentWork
from treenail.domain.cluster.changes import Changes, TryAgain
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    PoolsSeen,
    Resynced,
)
from treenail.domain.cluster.consolidating import ConsolidationWanted
from treenail.domain.cluster.expected_slices import ExpectedSlices, with_expected
from treenail.domain.cluster.freed_places import promise_freed_places
from treenail.domain.cluster.other_controllers import OtherControllers
from treenail.domain.cluster.planning import PlanDecided, Snapshot, SnapshotTaken
from treenail.domain.cluster.refused_pods import MoreToBuy
from treenail.domain.cluster.restoring import restore_expected, restore_moving
from treenail.domain.cluster.set_aside import SetAside
from treenail.domain.cluster.shown_state import StateAsked, shown_state
from treenail.domain.cluster.unneeded_claims import unneeded_claims
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionEnded,
    DisruptionProposed,
    DisruptNodes,
    NodeInterrupted,
)
from treenail.domain.disruption.moves_under_way import MovesUnderWay
from treenail.domain.disruption.pool_sizes import NodeFailed, SizeWanted, zone_of
from treenail.domain.disruption.resumed_moves import resume_moves
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.causes import PLACED_ANEW, Cause
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.zonal_shifts import ZonesShifted
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.scheduling.commitment import commit
from treenail.domain.scheduling.decision_delays import DecisionDelays
from treenail.domain.scheduling.decision_queue import DecisionQueue, part_of
from treenail.domain.scheduling.decision_trace import decision_spans, expected_in
from treenail.domain.scheduling.expected_last import to_be_made_without
from treenail.domain.scheduling.launch_backoff import LaunchBackoff
from treenail.domain.telemetry import metrics

_PLAN_LOST_AFTER: Final = 300.0
# A node that has to wait is logged again after so long.
_HELD_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class _Due:
    """Private timer tick: some promise may be over, or a decision that gave way be made now."""


@dataclass(frozen=True, slots=True)
class _PlanLost:
    """Private timer tick: the open decision has had its time."""

    decision: str


@dataclass(frozen=True, slots=True)
class _TellBuffers:
    """Private timer tick: capacity buffers may stand otherwise than was told."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: some refused pod may be tried again."""


@dataclass(frozen=True, slots=True)
class _Gathered:
    """Private timer tick: what follows from the facts gathered meanwhile is to be told."""


_Order: TypeAlias = (
    Resynced
    | BatchClosed
    | PlanDecided
    | ClaimFailed
    | NodeInterrupted
    | ZonesShifted
    | DisruptionProposed
    | DisruptionAllowed
    | DisruptionEnded
    | MoreToBuy
    | ConsolidationWanted
    | SizeWanted
    | StateAsked
    | _Due
    | _Look
    | _PlanLost
    | _TellBuffers
)
ClusterStateInbox: TypeAlias = ClusterFact | _Order | _Gathered


class ClusterState(DomainActor[ClusterStateInbox]):
    """Take in every fact and every plan, one after the other, and tell the others what follows.

    Owns the model of the cluster, the promises and the open decision. No snapshot for planning is given while
    a plan is open, unless that gives way, and a plan becomes promises before any actor carries it out.

    Where pods are made and bound by the thousand, what follows from one is much the same as from the next:
    their nodes have other pods than before. So for `gather_seconds` after it was last told, facts on pods are
    only taken in, and those on quotas, which count each pod. All else is told at once, and what was gathered.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        subscribers: Subscribers,
        model: ClusterModel,
        promise_lasts: timedelta,
        consolidation: ConsolidationRules | None = None,
        gather_seconds: float = 0.0,
    ) -> None:
        super().__init__(runtime)
        self._subscribers = subscribers
        self._model = model
        self._promise_lasts = promise_lasts
        # Before the first full list nothing is planned: what is on its way may not be known yet.
        self._synced = False
        self._decisions = DecisionQueue()
        self._delays = DecisionDelays()
        self._promises_watched: datetime | None = None
        # The decision that is to be made again without the pods that are still to come.
        self._without_expected = ""
        self._slices = ExpectedSlices(model)
        self._aside = SetAside()
        self._launch_backoff = LaunchBackoff()
        self._retries = RefusedPodRetries(model, subscribers.pod_watcher)
        self._buffers = BufferPlanning(
            model,
            runtime.timers,
            self._retries,
            self._launch_backoff,
            batcher=subscribers.batcher,
            reporter=subscribers.buffer_reporter,
        )
        self._buffers_change = False
        moves = MovesUnderWay(model)
        self._moves = ConsolidationMoves(
            runtime,
            model,
            moves,
            self._retries,
            consolidation or ConsolidationRules(),
            selector=subscribers.selector,
            consolidator=subscribers.consolidator or NullRef(),
            termination=subscribers.termination,
        )
        self._consolidates = consolidation is not None and consolidation.acting
        # The views that changed since moves under way were looked at.
        self._changed: dict[str, None] = {}
        self._gathering = FactGathering(runtime.timers, gather_seconds)
        self._look_at: float | None = None
        self._held_lately = ToldLately(runtime.timers.monotonic, seconds=_HELD_SECONDS)
        self._others = OtherControllers()
        self._recorder = DecisionRecorder(runtime.telemetry)
        self._state_recorder = StateRecorder(model, runtime.telemetry)
        self._expected_recorder = ExpectedRecorder(model, runtime.telemetry)
        self._publisher = ChangePublisher(model, moves, subscribers, self._launch_backoff, runtime.telemetry)
        self._judge = ProposalJudge(
            model,
            arbiter=subscribers.arbiter,
            disruptor=subscribers.disruptor,
            event_publisher=subscribers.event_publisher,
            batcher=subscribers.batcher,
        )
        self._sizes = PoolSizes(model, arbiter=subscribers.arbiter, token=runtime.dice.token)
        self._interruptions = Interruptions(
            model,
            self._decisions,
            avoiders=(subscribers.selector, subscribers.launcher),
            batcher=subscribers.batcher,
            listener=subscribers.listener,
            event_publisher=subscribers.event_publisher,
            termination=subscribers.termination,
            tell_held=self._tell_held,
        )

    def begin(self) -> None:
        self._recorder.unsynced(self._timers.now())

    def handle(self, message: ClusterStateInbox) -> None:
        now = self._timers.now()
        if isinstance(message, ObjectSeen | ObjectGone | ObjectSetAside):
            self._hear(message, now)
            if seconds := self._gathering.postpones(message):
                self._gather(seconds)
                return
        elif not isinstance(message, _Gathered):
            if self._gathering.pending:
                self._conclude_gathered(now)
            self._act_on(message, now)
        self._conclude(now)

    def _gather(self, seconds: float) -> None:
        """Tell what follows from a fact after so long, with what follows from others."""
        if not self._gathering.pending:
            self._gathering.pending = True
            self.later("gathered", _Gathered(), seconds=seconds)

    def _act_on(self, message: _Order, now: datetime) -> None:
        match message:
            case Resynced():
                self._hear(message, now)
            case BatchClosed():
                self._decisions.add(message.decision)
            case PlanDecided():
                self._commit(message, now)
            case ClaimFailed():
                self._subscribers.event_publisher.tell(message)
                self._fail_claim(message)
            case NodeInterrupted() | ZonesShifted():
                self._hear_warning(message, now)
            case DisruptionProposed():
                self._judge.screen(message, now)
            case DisruptionAllowed():
                self._consider(message, now)
            case DisruptionEnded():
                self._end_disruption(message)
            case MoreToBuy() | ConsolidationWanted() | SizeWanted() | StateAsked():
                self._serve(message, now)
            case _Due() | _Look() | _PlanLost() | _TellBuffers():
                self._tick(message, now)
            case _:
                assert_never(message)

    def _conclude_gathered(self, now: datetime) -> None:
        """Tell the others of what was gathered before a message, whose span is not that of these facts."""
        context = self.carrying().context
        self.within(None)
        self._conclude(now)
        self.within(context)

    def _conclude(self, now: datetime) -> None:
        """Tell the others what changed, and begin what that makes due."""
        if self._gathering.pending:
            self.never("gathered")
        self._gathering.told()
        self._tell_and_apply(now)
        self._follow_moves(now)
        self._watch_promises(now)
        self._plan_next(now)
        if self._synced and not self._decisions.making:
            self._buffers.ask(now)
        self._watch_refused()
        self._telemetry.gauge(metrics.UNSCHEDULABLE_PODS.name, len(self._retries), controller="provisioner")

    def _serve(
        self, message: MoreToBuy | ConsolidationWanted | SizeWanted | StateAsked, now: datetime
    ) -> None:
        match message:
            case MoreToBuy():
                self._retries.buy(message, self._timers.monotonic())
            case ConsolidationWanted():
                self._moves.serve(message, now, busy=not self._synced or self._deciding)
            case SizeWanted():
                self._size(message, now)
            case StateAsked():
                message.to.tell(shown_state(self._model, now))

    def _consider(self, allowed: DisruptionAllowed, now: datetime) -> None:
        """Give up what budgets allow; drifted nodes of static pools once others are there in their place."""
        if not self._sizes.takes(allowed):
            self._disrupt(self._judge.consider(allowed, now), now)

    def _tick(self, tick: _Due | _Look | _PlanLost | _TellBuffers, now: datetime) -> None:
        match tick:
            case _Due():
                self._promises_watched = None
                self._expire(now)
            case _Look():
                self._look_at = None
                self._retries.look(self._timers.monotonic())
            case _PlanLost():
                self._give_up(tick.decision)
            case _TellBuffers():
                self._buffers_change = False
                self._buffers.tell()

    def _expire(self, now: datetime) -> None:
        for workload, places in self._model.expire_promises(now):
            self.log("pods did not come", workload=workload, places=places)
            self._telemetry.count(metrics.PODS_NEVER_CAME.name, places)

    def _tell_held(self, view: NodeView, cause: Cause, why: str) -> None:
        pool = view.claim.pool if view.claim is not None else ""
        self._telemetry.count(metrics.REPAIRS_HELD.name, nodepool=pool, cause=cause.value)
        if self._held_lately.news(view.name):
            self.log("node repair waits", logger="controller.node.health", node=view.node_name, why=why)

    def _hear(self, fact: ClusterFact, now: datetime) -> None:
        if isinstance(fact, ObjectSetAside):
            self._model.learn(fact, now)
            self._set_aside(fact)
        else:
            self._learn(fact, now)

    def _learn(self, fact: ObjectSeen | ObjectGone | Resynced, now: datetime) -> None:
        if isinstance(fact, ObjectSeen):
            self._look_for_others(fact, now)
        self._model.learn(fact, now)
        for understood in self._aside.understood_by(fact):
            self._subscribers.reporter.tell(understood)
        if isinstance(fact, Resynced):
            starts = not self._synced
            if starts and not self._model.objects.node_classes:
                # That there are no pools is news as well: objects made for former ones are left over.
                self._subscribers.node_class_controller.tell(PoolsSeen(pools=(), node_classes=()))
            resumed = self._resume(now) if starts else ()
            if starts:
                restore_moving(self._model, lasts_until=now + self._promise_lasts)
                restore_expected(self._model, now, lasts_until=now + self._promise_lasts)
            if starts:
                self._delays.complete(now)
            self._synced = True
            self._others.complete(now)
            self._recorder.synced()
            for aside in fact.set_aside:
                self._set_aside(aside)
            self._disrupt(resumed, now)
            if starts:
                self._publisher.ask_for_places()
            self._interruptions.know_all()

    def _resume(self, now: datetime) -> tuple[DisruptNodes, ...]:
        """Go on replacing the nodes that the last process began to; return the orders to give them up."""
        resumed = resume_moves(self._model, now, consolidates=self._consolidates)
        self._moves.resume(resumed.consolidations)
        for order in resumed.orders:
            names = [view.node_name for view in order.nodes]
            self.log("resuming replacement of nodes", nodes=names, cause=order.cause.value)
        return resumed.orders

    def _look_for_others(self, fact: ObjectSeen, now: datetime) -> None:
        """Report a claim that another controller wrote."""
        known = self._model.objects.known(fact.object) is not None
        found = self._others.find(fact.object, now, known=known)
        if found is not None:
            self.log(
                "another controller decides for this cluster: a claim is of no decision made here",
                level="error",
                nodeclaim=found.claim.name,
                nodepool=found.claim.pool,
            )
            self._telemetry.count(metrics.OTHER_CONTROLLERS.name, nodepool=found.claim.pool)
            self._subscribers.event_publisher.tell(found)

    # --- what cannot be understood

    def _hear_warning(self, warning: NodeInterrupted | ZonesShifted, now: datetime) -> None:
        if isinstance(warning, NodeInterrupted):
            self._interruptions.hear(warning, now)
            return
        self._model.shifted_zones = warning.zone_ids
        self._subscribers.selector.tell(warning)
        self._subscribers.launcher.tell(warning)

    def _set_aside(self, fact: ObjectSetAside) -> None:
        """Report an object that cannot be read, once. What can be read, or was last read, stays in use."""
        if self._aside.note(fact):
            self.log("object set aside", about=str(fact.about), problem=fact.problem)
            self._telemetry.count(metrics.OBJECTS_SET_ASIDE.name, kind=fact.kind.value)
            self._subscribers.reporter.tell(fact)

    # --- planning

    def _plan_next(self, now: datetime) -> None:
        self._accept_brought(now)
        self._begin_slice(now)
        decision = self._decisions.take(now) if self._synced else None
        resumes_at = self._decisions.resumes_at
        if resumes_at is not None:
            self.later("resume", _Due(), seconds=max(0.0, (resumes_at - now).total_seconds()))
        if decision is None:
            return
        self.within(decision.context)
        self._slices.begin()
        if decision.urgent:
            self._ask_for_untried(self._model.untried.uids(), now)
        promise_freed_places(self._model, now)
        self._tell(self._model.take_changes(), now)
        whole = self._retries.part_of(
            self._model.snapshot(now, self._judge.plan(decision)), self._timers.monotonic()
        )
        snapshot = self._with_expected(part_of(whole, decision), decision, now)
        if not snapshot.pods and not decision.urgent:
            snapshot = self._buffers.instead_of(snapshot, now)
        if not snapshot.pods:
            self._disrupt(self._judge.settle(decision.id, PackingPlan(), now), now)
            return
        self._decisions.begin(decision, len(snapshot.pods), now)
        self._delays.begin(decision, now)
        self._recorder.begin(snapshot, now)
        self.log("found provisionable pods", logger="controller.provisioner", pods=len(snapshot.pods))
        for one in snapshot.held_back:
            if self._held_lately.news(("quota", one.quota, one.workload)):
                self.log("quota holds pods back", quota=one.quota, workload=one.workload, pods=one.number)
        self.later("plan lost", _PlanLost(decision.id), seconds=_PLAN_LOST_AFTER)
        self._subscribers.selector.tell(SnapshotTaken(decision=decision, snapshot=snapshot))

    def _begin_slice(self, now: datetime) -> None:
        """Have the next pods of a large wish planned, where that is due and nothing else is decided."""
        at = self._slices.due_since(now) if self._decisions.idle else None
        if at is not None:
            self._decisions.add(Decision(id=self._runtime.dice.token(), opened_at=at, closed_at=now, pods=0))

    def _with_expected(self, snapshot: Snapshot, decision: Decision, now: datetime) -> Snapshot:
        """Add the pods that workloads are still to make. Urgent work does not wait for more than it is on."""
        if decision.urgent or decision.id == self._without_expected:
            return snapshot
        held = self._retries.held_back(snapshot, self._timers.monotonic())
        return with_expected(self._model, snapshot, held, self._slices.take(now), now)

    def _commit(self, decided: PlanDecided, now: datetime) -> None:
        if not self._decisions.end(decided.decision.id):
            return
        self._recorder.end()
        self._timers.cancel("plan lost", self.me)
        if to_be_made_without(self._model.expected.offered.keys(), decided):
            self._without_expected = decided.decision.id
            self._slices.set_back(now)
            self._decisions.add(decided.decision)
            return
        orders = self._judge.settle(decided.decision.id, decided.plan, now)
        self._carry_out(decided, orders, now)

    @property
    def _deciding(self) -> bool:
        """True if a decision is made, or soon will be, on pods or on nodes that are to be replaced."""
        return not self._decisions.idle or self._judge.plans

    def _accept_brought(self, now: datetime) -> None:
        """Carry out plans that came with accepted proposals, as long as no other plan is open."""

        def held(planned: PlanDecided) -> Blocker | None:
            return self._moves.held(planned, now, busy=self._deciding)

        while not self._decisions.making and (brought := self._judge.settle_brought(now, held)) is not None:
            planned, orders = brought
            if orders:
                self._carry_out(planned, orders, now)

    def _carry_out(self, decided: PlanDecided, orders: tuple[DisruptNodes, ...], now: datetime) -> None:
        """Promise what holds of a plan, for pods that wait and for those on the nodes of these orders."""
        self._announce(orders)
        self._others.decided(decided.decision.id)
        refused = tuple(self._buffers.refused(decided)) if not decided.removed else ()
        committed = commit(
            self._model,
            decided,
            now=now,
            promise_lasts=self._promise_lasts,
            bought_for=self._moves.bought_for(decided, now),
        )
        told = self._delays.events(decided.decision, decided.snapshot.pods, now)
        self._delays.refused(committed, now)
        committed = replace(committed, refused=(*committed.refused, *refused))
        for span in decision_spans(decided, committed, now, told):
            self._telemetry.record(span)
        chance = self._runtime.dice.uniform(0, 1)
        self._retries.note(committed, self._timers.monotonic(), chance)
        given_up = self._buffers.committed(committed, now, chance)
        if given_up:
            self.log("capacity buffers make room for pods within limits", nodes=len(given_up))
        if not decided.removed:
            self._recorder.measure(decided)
        self._state_recorder.decided(committed, now)
        self._expected_recorder.begin(decided, now)
        self._moves.begin(decided, committed, orders, now)
        # Promises are sent before the plan: no actor may get a plan whose pods still seem to wait.
        self._tell(self._model.take_changes(), now)
        self._slices.planned(decided, committed, now)
        self._subscribers.launcher.tell(committed)
        self._subscribers.pod_watcher.tell(committed)
        self._pass_on(orders)
        self.within(decided.decision.context)
        tell_packing(self.log, committed.claims)
        self.log(
            "decided on pods",
            logger="controller.provisioner",
            decision=decided.decision.id,
            pods=len(decided.snapshot.pods),
            nodeclaims=len(committed.claims),
            nominated=len(committed.nominations),
            refused=len(committed.refused),
            **({"expected": number} if (number := expected_in(decided)) else {}),
        )

    def _size(self, wanted: SizeWanted, now: datetime) -> None:
        """Bring a pool that is to have a number of nodes nearer to it."""
        if not self._synced:
            return
        orders = self._sizes.step(wanted, now)
        if orders.launched is not None:
            decided, committed = orders.launched
            self._others.decided(decided.decision.id)
            self.within(decided.decision.context)
            for span in decision_spans(decided, committed, now):
                self._telemetry.record(span)
            self._tell(self._model.take_changes(), now)
            self._subscribers.launcher.tell(committed)
            self.log("adding nodes to pool", nodepool=wanted.pool, nodeclaims=len(committed.claims))
        if orders.short and self._held_lately.news(("size", wanted.pool)):
            self.log("nodepool node limit reached", nodepool=wanted.pool)
        self._disrupt(orders.given_up, now)
        if orders.proposed is not None:
            self._judge.screen(orders.proposed, now)

    def _give_up(self, decision: str) -> None:
        if self._decisions.end(decision):
            self._recorder.end()
            self._disrupt(self._judge.settle(decision, PackingPlan(), self._timers.now()), self._timers.now())
            self._subscribers.pod_watcher.tell(TryAgain())

    # --- nodes that go

    def _fail_claim(self, message: ClaimFailed) -> None:
        promised = tuple(promise.pod for promise in self._model.promises.at_for_pods(message.claim))
        kept = self._model.promises.at_for_buffers(message.claim)
        claim = self._model.objects.claims.get(message.claim)
        self._model.mark_launch_failed(message.claim)
        if claim is not None:
            failed = NodeFailed(pool=claim.pool, zone=zone_of(claim), cause=message.cause)
            self._subscribers.sizer.tell(failed)
        now = self._timers.now()
        self._delays.failed(promised, self._model.objects.pods, message.cause, message.why, now)
        if message.cause is not Cause.INSUFFICIENT_CAPACITY:
            return
        chance = self._runtime.dice.uniform(0, 1)
        self._buffers.failed(kept, now, chance)
        if self._launch_backoff.note(promised, now, chance):
            self._subscribers.batcher.tell(UrgentWork(why=message.cause.value))

    def _disrupt(self, orders: tuple[DisruptNodes, ...], now: datetime) -> None:
        """Give up nodes whose pods have new places, or do not need any first."""
        self._announce(orders)
        self._tell(self._model.take_changes(), now)
        self._pass_on(orders)

    def _announce(self, orders: tuple[DisruptNodes, ...]) -> None:
        """Publish why nodes go, before any other actor hears that they do."""
        for order in orders:
            self._subscribers.event_publisher.tell(order)

    def _pass_on(self, orders: tuple[DisruptNodes, ...]) -> None:
        """Send orders to give nodes up, after they were announced."""
        for order in orders:
            self._subscribers.arbiter.tell(order)
            if order.cause in PLACED_ANEW and not order.replaced_first:
                self._subscribers.batcher.tell(UrgentWork(why=order.cause.value))

    def _follow_moves(self, now: datetime) -> None:
        """Take back consolidations that do not work out, and what was bought for them."""
        while self._changed:
            changed, self._changed = self._changed, {}
            self._disrupt(self._moves.follow(changed, now), now)
            self._slices.follow(changed, now)
            self._disrupt(self._give_up_unneeded(changed, now), now)

    def _give_up_unneeded(self, changed: Iterable[str], now: datetime) -> tuple[DisruptNodes, ...]:
        """Return orders to give up the claims that were made for pods to come which are wanted no more."""
        unneeded = unneeded_claims(self._model, changed, now) if self._synced else ()
        for one in unneeded:
            self._model.mark_for_disruption(one.name)
        return (DisruptNodes(nodes=unneeded, cause=Cause.EMPTY, decided_at=now),) if unneeded else ()

    def _end_disruption(self, ended: DisruptionEnded) -> None:
        """Let a node stay after all, unless it was warned of meanwhile."""
        if not self._interruptions.warned_of(ended.name):
            self._model.unmark(ended.name)
            if ended.why:
                self._moves.stays(ended.name, ended.why)

    # --- telling

    def _tell_and_apply(self, now: datetime) -> None:
        """Publish what changed, and apply notices of which the instance is now known."""
        self._tell(self._model.take_changes(), now)
        if self._interruptions.apply_found(now):
            self._tell(self._model.take_changes(), now)

    def _tell(self, changes: Changes, now: datetime) -> None:
        if not changes:
            return
        self._retries.apply(changes, self._timers.monotonic())
        self._state_recorder.note(changes, now)
        for uid in changes.pods:
            self._delays.settle(uid, self._model.objects.pods.get(uid))
        self._expected_recorder.note(changes, now)
        self._slices.displaced(changes.displaced, now)
        self._ask_for_untried(changes.pods, now)
        self._publisher.publish(changes, now)
        self._changed |= changes.views
        if changes.views:
            self._interruptions.settle(changes.views)
        if changes.pools:
            self._publisher.publish_pools()
        if (changes.buffers or (changes.views and self._model.buffers)) and not self._buffers_change:
            self._buffers_change = True
            self.later("buffers", _TellBuffers(), seconds=GATHERED_SECONDS)

    def _ask_for_untried(self, pods: Iterable[str], now: datetime) -> None:
        """Ask the batcher to plan the untried pods among these together with the pods that wait."""
        for pending in self._slices.ask(pods, now):
            self._subscribers.batcher.tell(pending)

    def _watch_promises(self, now: datetime) -> None:
        due = self._slices.next_due()
        times = (
            self._model.next_expiry(),
            due if due is not None and due > now else None,
            self._buffers.due(now),
        )
        at = min((one for one in times if one is not None), default=None)
        if at is not None and at != self._promises_watched:
            self._promises_watched = at
            self.later("promises", _Due(), seconds=max(0.0, (at - now).total_seconds()))

    def _watch_refused(self) -> None:
        at = self._retries.look_at
        if at is not None and at != self._look_at:
            self._look_at = at
            self.later("refused", _Look(), seconds=max(0.0, at - self._timers.monotonic()))
