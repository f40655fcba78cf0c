"""ClusterState: the one writer of what is known and what is promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.cluster_state.candidate_publisher import DisruptorHears
from treenail.actors.cluster_state.decision_recorder import DecisionRecorder
from treenail.actors.cluster_state.interruptions import Interruptions
from treenail.actors.cluster_state.node_publisher import NodePublisher
from treenail.actors.cluster_state.proposal_judge import ProposalJudge
from treenail.actors.cluster_state.second_tries import SecondTries
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.life_lines import tell_packing
from treenail.actors.runtime.publishing import ToldLately
from treenail.domain.cluster.batching import BatchClosed, NodesToReplace, UrgentWork
from treenail.domain.cluster.changes import Changes, NodeChanged, PodBound, PodChanged, TryAgain
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    PoolsSeen,
    Resynced,
)
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.cluster.other_controllers import OtherControllers, OtherControllerSeen
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, SnapshotTaken
from treenail.domain.cluster.refused_pods import MoreToBuy
from treenail.domain.cluster.reseating import reseat
from treenail.domain.cluster.restoring import restore_moving
from treenail.domain.cluster.set_aside import ObjectUnderstood, SetAside
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionEnded,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    NodeInterrupted,
    NoticeSettled,
    PoolChanged,
)
from treenail.domain.launch.launching import CapacityRanOut, ClaimFailed
from treenail.domain.model.causes import REPLACED, Cause
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.runtime import Ref
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.scheduling.commitment import commit
from treenail.domain.scheduling.decision_queue import DecisionQueue, part_of
from treenail.domain.scheduling.decision_trace import decision_spans
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
class _Look:
    """Private timer tick: some refused pod may be tried again."""


ClusterStateInbox: TypeAlias = (
    ClusterFact
    | BatchClosed
    | PlanDecided
    | ClaimFailed
    | NodeInterrupted
    | DisruptionProposed
    | DisruptionAllowed
    | DisruptionEnded
    | MoreToBuy
    | _Due
    | _Look
    | _PlanLost
)

PodWatcherHears: TypeAlias = PodChanged | PodBound | TryAgain | PlanCommitted
EventPublisherHears: TypeAlias = (
    NodeChanged | DisruptNodes | DisruptionBlocked | ClaimFailed | OtherControllerSeen
)
ReporterHears: TypeAlias = ObjectSetAside | ObjectUnderstood | PoolsSeen


def _nothing(_: str) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Those whom the cluster state tells what changed. `disruptor` finds the one of a pool.

    It has one from when the pool is there (`open_disruptor`) until it is gone (`close_disruptor`).

    There is an `early_binder` only where pods are to be bound early, a `doctor` where nodes are repaired, a
    `trial` where provisioning is off and comes back.
    """

    batcher: Ref[UrgentWork | NodesToReplace]
    pod_watcher: Ref[PodWatcherHears]
    reporter: Ref[ReporterHears]
    keeper: Ref[PoolsSeen]
    surveyor: Ref[PoolsSeen]
    accountant: Ref[PoolsSeen | NodeChanged]
    teller: Ref[EventPublisherHears]
    selector: Ref[SnapshotTaken | CapacityRanOut]
    launcher: Ref[PlanCommitted | NodeChanged | CapacityRanOut]
    lifecycle: Ref[NodeChanged | PoolsSeen]
    termination: Ref[NodeChanged | NodeInterrupted]
    arbiter: Ref[DisruptionProposed | DisruptionRefused | DisruptNodes | NodeChanged | PoolChanged]
    tagger: Ref[NodeChanged]
    listener: Ref[NoticeSettled]
    recorder: Ref[PodsMoved]
    trial: Ref[PoolsSeen] | None = None
    early_binder: Ref[NodeChanged] | None = None
    doctor: Ref[NodeChanged] | None = None
    disruptor: Callable[[str], Ref[DisruptorHears]]
    open_disruptor: Callable[[str], None] = _nothing
    close_disruptor: Callable[[str], None] = _nothing

    @property
    def of_nodes(self) -> tuple[Ref[NodeChanged], ...]:
        """Those who hear how nodes stand."""
        return (
            self.launcher,
            self.lifecycle,
            self.termination,
            self.arbiter,
            self.tagger,
            self.accountant,
            self.teller,
            *((self.doctor,) if self.doctor is not None else ()),
        )


class ClusterState(DomainActor[ClusterStateInbox]):
    """Take in every fact and every plan, one after the other, and tell the others what follows.

    Owns the model of the cluster, the promises and the open decision: no snapshot for planning is
    given while a plan is open, unless that gives way, and a plan becomes promises before anybody carries it
    out.
    """

    def __init__(
        self, runtime: Runtime, *, audience: Audience, model: ClusterModel, promise_lasts: timedelta
    ) -> None:
        super().__init__(runtime)
        self._audience = audience
        self._model = model
        self._promise_lasts = promise_lasts
        # Before the first full list nothing is planned: what is on its way may not be known yet.
        self._synced = False
        self._decisions = DecisionQueue()
        self._waiting: dict[str, None] = {}
        self._promises_watched: datetime | None = None
        self._pools_told: dict[str, None] = {}
        self._aside = SetAside()
        self._launch_backoff = LaunchBackoff()
        self._tries = SecondTries(model, audience.pod_watcher)
        self._look_at: float | None = None
        self._held_lately = ToldLately(runtime.timers.monotonic, seconds=_HELD_SECONDS)
        self._others = OtherControllers()
        self._recorder = DecisionRecorder(runtime.telemetry)
        self._nodes = NodePublisher(
            model,
            audience.of_nodes,
            early_binder=audience.early_binder,
            disruptor=audience.disruptor,
            recorder=audience.recorder,
        )
        self._judge = ProposalJudge(
            model,
            arbiter=audience.arbiter,
            disruptor=audience.disruptor,
            teller=audience.teller,
            batcher=audience.batcher,
        )
        self._interruptions = Interruptions(
            model,
            self._decisions,
            avoiders=(audience.selector, audience.launcher),
            batcher=audience.batcher,
            listener=audience.listener,
            teller=audience.teller,
            termination=audience.termination,
            tell_held=self._tell_held,
        )

    def handle(self, message: ClusterStateInbox) -> None:
        now = self._timers.now()
        match message:
            case ObjectSeen() | ObjectGone() | Resynced():
                self._learn(message, now)
            case ObjectSetAside():
                self._model.learn(message, now)
                self._set_aside(message)
            case BatchClosed():
                self._decisions.add(message.decision)
            case PlanDecided():
                self._commit(message, now)
            case ClaimFailed():
                self._audience.teller.tell(message)
                self._fail_claim(message)
            case NodeInterrupted():
                self._interruptions.hear(message, now)
            case DisruptionProposed():
                self._judge.screen(message, now)
            case DisruptionAllowed():
                self._disrupt(self._judge.consider(message, now), now)
            case DisruptionEnded():
                self._spare(message.name)
            case MoreToBuy():
                self._tries.buy(message, self._timers.monotonic())
            case _Due() | _Look() | _PlanLost():
                self._tick(message, now)
            case _:
                assert_never(message)
        self._tell_and_heed(now)
        self._watch_promises(now)
        self._plan_next(now)
        self._watch_refused()

    def _tick(self, tick: _Due | _Look | _PlanLost, now: datetime) -> None:
        match tick:
            case _Due():
                self._promises_watched = None
                self._model.expire_promises(now)
            case _Look():
                self._look_at = None
                self._tries.look(self._timers.monotonic())
            case _PlanLost():
                self._give_up(tick.decision)

    def _tell_held(self, view: NodeView, cause: Cause, why: str) -> None:
        pool = view.claim.pool if view.claim is not None else ""
        self._telemetry.count(metrics.REPAIRS_HELD.name, nodepool=pool, cause=cause.value)
        if self._held_lately.news(view.name):
            self.log("node repair waits", logger="controller.node.health", node=view.node_name, why=why)

    def _learn(self, fact: ObjectSeen | ObjectGone | Resynced, now: datetime) -> None:
        if isinstance(fact, ObjectSeen):
            self._look_for_others(fact, now)
        self._model.learn(fact, now)
        for understood in self._aside.heed(fact):
            self._audience.reporter.tell(understood)
        if isinstance(fact, Resynced):
            if not self._synced and not self._model.objects.node_classes:
                # That there are none is news as well: what was made for those there were is left over.
                self._audience.keeper.tell(PoolsSeen(pools=(), node_classes=()))
            if not self._synced:
                restore_moving(self._model, lasts_until=now + self._promise_lasts)
            self._synced = True
            self._others.complete(now)
            self._telemetry.gauge(metrics.CLUSTER_STATE_SYNCED.name, 1)
            for aside in fact.set_aside:
                self._set_aside(aside)
            self._tell(self._model.take_changes(), now)
            self._interruptions.know_all()

    def _look_for_others(self, fact: ObjectSeen, now: datetime) -> None:
        """Have people told where another controller decides for this cluster too."""
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
            self._audience.teller.tell(found)

    # --- what cannot be understood

    def _set_aside(self, fact: ObjectSetAside) -> None:
        """Have people told of it, once. What can be read of the object, or was last understood, is in use."""
        if self._aside.note(fact):
            self.log("object set aside", about=str(fact.about), problem=fact.problem)
            self._telemetry.count(metrics.OBJECTS_SET_ASIDE.name, kind=fact.kind.value)
            self._audience.reporter.tell(fact)

    # --- planning

    def _plan_next(self, now: datetime) -> None:
        self._accept_brought(now)
        decision = self._decisions.take(now) if self._synced else None
        resumes_at = self._decisions.resumes_at
        if resumes_at is not None:
            self.later("resume", _Due(), seconds=max(0.0, (resumes_at - now).total_seconds()))
        if decision is None:
            return
        self.within(decision.context)
        reseat(self._model)
        self._tell(self._model.take_changes(), now)
        whole = self._tries.part_of(
            self._model.snapshot(now, self._judge.plan(decision)), self._timers.monotonic()
        )
        snapshot = part_of(whole, decision)
        if not snapshot.pods:
            self._disrupt(self._judge.settle(decision.id, PackingPlan(), now), now)
            return
        self._decisions.begin(decision, len(snapshot.pods), now)
        depth = len(snapshot.pods)
        self._telemetry.gauge(metrics.SCHEDULER_QUEUE_DEPTH.name, depth, controller="provisioner")
        self.log("found provisionable pods", logger="controller.provisioner", pods=depth)
        self.later("plan lost", _PlanLost(decision.id), seconds=_PLAN_LOST_AFTER)
        self._audience.selector.tell(SnapshotTaken(decision=decision, snapshot=snapshot))

    def _commit(self, decided: PlanDecided, now: datetime) -> None:
        if not self._decisions.end(decided.decision.id):
            return
        self._timers.cancel("plan lost", self.me)
        orders = self._judge.settle(decided.decision.id, decided.plan, now)
        self._carry_out(decided, orders, now)

    def _accept_brought(self, now: datetime) -> None:
        """Carry out plans that came with proposals, where these are accepted, while no other one is open."""
        while not self._decisions.making and (brought := self._judge.settle_brought(now)) is not None:
            planned, orders = brought
            if orders:
                self._carry_out(planned, orders, now)

    def _carry_out(self, decided: PlanDecided, orders: tuple[DisruptNodes, ...], now: datetime) -> None:
        """Promise what holds of a plan, for pods that wait and for those on the nodes of these orders."""
        self._announce(orders)
        self._others.decided(decided.decision.id)
        committed = commit(self._model, decided, now=now, promise_lasts=self._promise_lasts)
        for span in decision_spans(decided, committed, now):
            self._telemetry.record(span)
        chance = self._runtime.dice.uniform(0, 1)
        self._tries.note(committed, self._timers.monotonic(), chance)
        self._recorder.measure(decided, len(self._tries), self._model)
        # Promises are told before the plan: nobody may hear of a plan whose pods still seem to wait.
        self._tell(self._model.take_changes(), now)
        self._audience.launcher.tell(committed)
        self._audience.pod_watcher.tell(committed)
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
        )

    def _give_up(self, decision: str) -> None:
        if self._decisions.end(decision):
            self._disrupt(self._judge.settle(decision, PackingPlan(), self._timers.now()), self._timers.now())
            self._audience.pod_watcher.tell(TryAgain())

    # --- nodes that go

    def _fail_claim(self, message: ClaimFailed) -> None:
        promised = tuple(promise.pod for promise in self._model.promises.at(message.claim))
        self._model.mark_launch_failed(message.claim)
        if message.cause is not Cause.INSUFFICIENT_CAPACITY:
            return
        if self._launch_backoff.note(promised, self._timers.now(), self._runtime.dice.uniform(0, 1)):
            self._audience.batcher.tell(UrgentWork(why=message.cause.value))

    def _disrupt(self, orders: tuple[DisruptNodes, ...], now: datetime) -> None:
        """Have nodes given up whose pods need no new places first, or have them."""
        self._announce(orders)
        self._tell(self._model.take_changes(), now)
        self._pass_on(orders)

    def _announce(self, orders: tuple[DisruptNodes, ...]) -> None:
        """Say why nodes go, before anybody hears that they do."""
        for order in orders:
            self._audience.teller.tell(order)

    def _pass_on(self, orders: tuple[DisruptNodes, ...]) -> None:
        """Have nodes given up, of which it was told that they go."""
        for order in orders:
            self._audience.arbiter.tell(order)
            if order.cause in REPLACED and not order.replaced_first:
                self._audience.batcher.tell(UrgentWork(why=order.cause.value))

    def _spare(self, name: str) -> None:
        """Let a node stay after all, unless it was warned of meanwhile."""
        if not self._interruptions.warned_of(name):
            self._model.unmark(name)

    # --- telling

    def _tell_and_heed(self, now: datetime) -> None:
        """Tell what changed, and what follows from notices whose machines are known by that."""
        self._tell(self._model.take_changes(), now)
        if self._interruptions.heed_found(now):
            self._tell(self._model.take_changes(), now)

    def _tell(self, changes: Changes, now: datetime) -> None:
        if not changes:
            return
        self._tries.heed(changes, self._timers.monotonic())
        for name in (
            sorted(self._model.objects.pools.keys() - self._pools_told.keys()) if changes.pools else ()
        ):
            self._audience.open_disruptor(name)
        for uid in changes.pods:
            self._tell_pod(uid)
        for bound in changes.bound:
            self._audience.pod_watcher.tell(bound)
        moved = self._model.objects.take_moved()
        for name in changes.views:
            self._nodes.tell(name, now, moved=name in moved)
        if changes.views:
            self._interruptions.settle(changes.views)
            there = max(len(self._model.objects.claims), len(self._model.objects.nodes))
            self._telemetry.gauge(metrics.CLUSTER_STATE_NODES.name, there)
        if changes.pools:
            self._tell_pools()

    def _tell_pod(self, uid: str) -> None:
        waiting, pod = self._model.waiting(uid), self._model.objects.pods.get(uid)
        if pod is None or pod.bound:
            self._launch_backoff.forget(uid)
        if waiting == (uid in self._waiting):
            return
        if waiting:
            self._waiting[uid] = None
        else:
            del self._waiting[uid]
        changed = PodChanged(uid=uid, pod=pod, waiting=waiting, not_before=self._launch_backoff.until(uid))
        self._audience.pod_watcher.tell(changed)

    def _tell_pools(self) -> None:
        for name in sorted(self._pools_told.keys() | self._model.objects.pools.keys()):
            pool = self._model.objects.pools.get(name)
            node_class = self._model.objects.node_class(pool.node_class) if pool is not None else None
            changed = PoolChanged(name=name, pool=pool, node_class=node_class)
            self._audience.disruptor(name).tell(changed)
            self._audience.arbiter.tell(changed)
            if pool is None:
                self._audience.close_disruptor(name)
        self._pools_told = dict.fromkeys(sorted(self._model.objects.pools))
        pools, node_classes = self._model.objects.pools.values(), self._model.objects.node_classes.values()
        seen = PoolsSeen(pools=tuple(pools), node_classes=tuple(node_classes))
        self._audience.reporter.tell(seen)
        self._audience.keeper.tell(seen)
        self._audience.surveyor.tell(seen)
        self._audience.lifecycle.tell(seen)
        self._audience.accountant.tell(seen)
        if self._audience.trial is not None:
            self._audience.trial.tell(seen)

    def _watch_promises(self, now: datetime) -> None:
        at = self._model.promises.next_expiry()
        if at is not None and at != self._promises_watched:
            self._promises_watched = at
            self.later("promises", _Due(), seconds=max(0.0, (at - now).total_seconds()))

    def _watch_refused(self) -> None:
        at = self._tries.look_at
        if at is not None and at != self._look_at:
            self._look_at = at
            self.later("refused", _Look(), seconds=max(0.0, at - self._timers.monotonic()))
