"""NodeLifecycle: sees launched nodes into use, and gives back those that never come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.life_lines import tell_initialized, tell_registered
from treenail.actors.runtime.work_queue import Look, WorkQueue
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.launch.launching import NodeLaunched
from treenail.domain.lifecycle.garbage import Garbage, garbage
from treenail.domain.lifecycle.joining_delays import JoiningDelays
from treenail.domain.lifecycle.lifecycle import (
    AbandonNode,
    GiveBack,
    MarkInitialized,
    NextStep,
    NodeInitialized,
    NodeNeverCame,
    NodeRegistered,
    PatchClaim,
    SyncNode,
    WaitUntil,
    next_step,
)
from treenail.domain.lifecycle.lifecycle_trace import stage_span
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import ConflictError
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.observed_capacity import (
    CapacityObserved,
    allocatable_observation,
    memory_observation,
)
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.call_delays import noting_delays
from treenail.domain.telemetry.delays import CallDelay, Delay, placed
from treenail.domain.telemetry.tracing import SpanContext

_GARBAGE_SECONDS: Final = 120.0
_FIRST_GARBAGE_SECONDS: Final = 30.0
_HEAL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Did:
    """A step of one claim was tried, from `started_at` on; it was decided for the claim as it was then.

    `delays` are those within its call.
    """

    name: str
    step: NextStep
    tried_on: NodeView
    started_at: datetime
    outcome: Outcome[object]
    delays: tuple[Delay, ...]


@dataclass(frozen=True, slots=True)
class _CollectGarbage:
    """Private timer tick: compare cloud and cluster."""


@dataclass(frozen=True, slots=True)
class _GarbageFound:
    """The comparison is made."""

    outcome: Outcome[Garbage]


@dataclass(frozen=True, slots=True)
class _Collected:
    """Some garbage was taken away, or was not: the next comparison finds it again."""

    outcome: Outcome[None]


LifecycleInbox: TypeAlias = (
    NodeLaunched | NodeChanged | PoolsSeen | Look | _Did | _CollectGarbage | _GarbageFound | _Collected
)
LifecycleTells: TypeAlias = NodeRegistered | NodeInitialized | NodeNeverCame


class NodeLifecycle(DomainActor[LifecycleInbox]):
    """Register nodes, initialize them, and collect what is left over on either side.

    Owns the deadlines of launches and registrations. Tells `NodeRegistered`, `NodeInitialized` and
    `NodeNeverCame` to those who want to know, the reporter among them, the selector `MemoryObserved` and
    `AllocatableObserved`, and the termination actor `ClaimGivenUp`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        observer: Ref[LifecycleTells],
        selector: Ref[CapacityObserved],
        reporter: Ref[NodeRegistered | NodeNeverCame],
        termination: Ref[ClaimGivenUp],
        reader: ClusterReader,
        writer: ClusterWriter,
        cloud: Cloud,
    ) -> None:
        super().__init__(runtime)
        self._observer = observer
        self._selector = selector
        self._reporter = reporter
        self._termination = termination
        self._reader = reader
        self._writer = writer
        self._cloud = cloud
        self._views: dict[str, NodeView] = {}
        self._left_alone: dict[str, LeftAlone | None] = {}
        # The names of the pools whose nodes are left alone entirely.
        self._static: frozenset[str] = frozenset()
        self._work = WorkQueue(self, Look)
        # Claims that we said are to go.
        self._given_up: dict[str, None] = {}
        self._delays = JoiningDelays()

    def begin(self) -> None:
        self.later("garbage", _CollectGarbage(), seconds=_FIRST_GARBAGE_SECONDS)

    def handle(self, message: LifecycleInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case PoolsSeen():
                self._static = frozenset(message.left_alone)
            case NodeLaunched(claim=claim):
                self._look(claim.name)
            case Look(name=name):
                self._look(name)
            case _Did():
                self._did(message)
            case _CollectGarbage():
                self._collect()
            case _GarbageFound():
                self._take_away(message.outcome)
            case _Collected():
                pass
            case _:
                assert_never(message)

    # --- one claim at a time

    def _note(self, changed: NodeChanged) -> None:
        name, view = changed.name, changed.view
        if view is None or view.claim is None or view.claim.resource_version == 0:
            self._views.pop(name, None)
            self._left_alone.pop(name, None)
            self._given_up.pop(name, None)
            self._work.forget(name)
            self._delays.forget(name)
            return
        known = self._views.get(name)
        self._left_alone[name] = changed.left_alone
        self._tell_disputes(view, known)
        # The answers to what we write may be ahead of the watch.
        self._views[name] = view.updated(known.claim).updated(known.node) if known is not None else view
        self._learn(memory_observation(self._views[name]))
        if known is None or _resized(known, view):
            # In use before this process saw it, or grown since.
            self._learn(allocatable_observation(view, coming=False))
        self._look(name)

    def _tell_disputes(self, view: NodeView, known: NodeView | None) -> None:
        """Log nodes or claims that name one machine, when that is new."""
        claim = view.claim
        if claim is None:
            return
        if view.rivals and (known is None or known.rivals != view.rivals):
            nodes = sorted((view.node_name, *view.rivals))
            self.log("claim matches several nodes", level="warning", nodeclaim=claim.name, nodes=nodes)
        if view.claimants and not view.holder and (known is None or known.claimants != view.claimants):
            others = list(view.claimants)
            self.log(
                "several claims name one machine",
                level="warning",
                nodeclaim=claim.name,
                others=others,
                provider_id=claim.provider_id,
            )

    def _learn(self, observation: CapacityObserved | None) -> None:
        """Send the selector the real capacity of a node, for estimates of nodes to be bought."""
        if observation is not None and self._cloud.learn(observation):
            self._selector.tell(observation)

    def _look(self, name: str) -> None:
        view = self._views.get(name)
        if view is None:
            return
        self._delays.look(view, self._timers.now())
        if self._work.busy(name):
            return
        step = next_step(view, self._timers.now(), self._left_alone.get(name))
        match step:
            case None:
                self._work.rest(name)
            case WaitUntil(at=at):
                seconds = (at - self._timers.now()).total_seconds()
                self._work.again(name, max(0.0, seconds))
            case GiveBack():
                self._give_up(step)
            case _:
                self._do(name, step)

    def _give_up(self, step: GiveBack) -> None:
        """Send that a claim is given up, again and again until it is gone; log and record it once."""
        claim, cause = step.claim, step.cause
        actor = "" if cause is Cause.DELETED else type(self).__name__
        self._termination.tell(ClaimGivenUp(name=claim.name, cause=cause, actor=actor))
        self._work.again(claim.name, _HEAL_SECONDS)
        if claim.name in self._given_up:
            return
        self._given_up[claim.name] = None
        if claim.launched and not claim.initialized:
            stage = "initialize" if claim.registered else "register"
            self.within(self._span(stage, claim, self._timers.now(), cause))
        if cause not in (Cause.EXPIRED, Cause.DELETED):
            never = NodeNeverCame(claim=claim, cause=cause)
            self._observer.tell(never)
            self._reporter.tell(never)

    def _do(self, name: str, step: NextStep) -> None:
        tried_on = self._views[name]
        started_at, delays = self._timers.now(), list[CallDelay]()
        self._work.begin(name)
        self._tasks.run(
            ("kubernetes", "lifecycle", name),
            noting_delays(self._call(step), delays),
            self.me,
            lambda outcome: _Did(name, step, tried_on, started_at, outcome, placed(delays, started_at)),
        )

    def _call(self, step: NextStep) -> Callable[[], object]:
        writer = self._writer
        match step:
            case AbandonNode():
                patch = NodePatch(remove_finalizers=(labels.TERMINATION_FINALIZER,))
                return lambda: writer.patch_node(step.node, patch)
            case SyncNode():
                return lambda: writer.patch_node(step.node.name, step.patch, seen=step.node)
            case PatchClaim():
                return lambda: writer.patch_claim(step.claim.name, step.patch)
            case MarkInitialized():

                def mark() -> NodeClaim:
                    patch = NodePatch(labels={labels.INITIALIZED: "true"})
                    writer.patch_node(step.node.name, patch, seen=step.node)
                    return writer.patch_claim(step.claim.name, ClaimPatch(conditions=step.conditions))

                return mark
            case GiveBack() | WaitUntil() | None:
                raise TypeError(f"{step} is not a call")
            case _:
                assert_never(step)

    def _did(self, did: _Did) -> None:
        name, view = did.name, self._views.get(did.name)
        self._work.end(name)
        if view is not None:
            error = did.outcome.error if isinstance(did.outcome, Failed) else None
            self._delays.tried(
                name, did.step, did.delays, error, since=did.started_at, now=self._timers.now()
            )
        if isinstance(did.outcome, Failed):
            if isinstance(did.outcome.error, ConflictError) and view != did.tried_on:
                # The write it conflicted with is known by now: kubelets write often while they join.
                self._look(name)
            elif view is not None:
                self._work.retry(name)
            return
        self._work.succeeded(name)
        if isinstance(did.step, MarkInitialized):
            self._learn(allocatable_observation(did.tried_on, coming=True))
        self._report(did)
        if view is None:
            return
        self._views[name] = view.updated(did.outcome.value)
        if self._views[name] != did.tried_on:
            self._look(name)
        else:  # The watch brings what came of it; a tick heals it where that is lost.
            self._work.again(name, _HEAL_SECONDS)

    def _report(self, did: _Did) -> None:
        now = self._timers.now()
        match did.step:
            case PatchClaim(claim=claim, patch=patch) if patch.node_name:
                span = self._span("register", claim, now)
                where = {"nodepool": claim.pool, "zone": claim.zone}
                self._telemetry.count(metrics.NODES_CREATED.name, **where)
                self.within(span)
                registered = NodeRegistered(claim=claim, node=patch.node_name)
                self._observer.tell(registered)
                self._reporter.tell(registered)
                tell_registered(self.log, claim, patch.node_name, span)
            case AbandonNode(node=node):
                self.log("releasing node whose machine another node has", node=node)
            case MarkInitialized(claim=claim, node=node):
                span = self._span("initialize", claim, now)
                self.within(span)
                self._observer.tell(NodeInitialized(claim=claim, node=node.name))
                tell_initialized(self.log, claim, node.name, span)
            case _:
                pass

    def _span(
        self, stage: str, claim: NodeClaim, now: datetime, cause: Cause | None = None
    ) -> SpanContext | None:
        """Record the span of a stage, if there is one; return where it is. `cause` says why it failed."""
        context = None
        view = self._views.get(claim.name) or NodeView(claim=claim)
        events = self._delays.take(claim.name, now)
        for span in stage_span(stage, view, now, events=events, cause=cause):
            self._telemetry.record(span)
            context = span.context
        return context

    # --- garbage

    def _collect(self) -> None:
        clock, cloud, reader = self._timers, self._cloud, self._reader
        heard = tuple(view.claim for view in self._views.values() if view.claim is not None)
        known = tuple(claim.provider_id for claim in heard)
        nodes = (view.node for view in self._views.values())
        ready = tuple(node.provider_id for node in nodes if node is not None and node.ready)
        static = self._static

        def compare() -> Garbage:
            listed_at = clock.now()
            instances = cloud.instances()

            def among(claims: tuple[NodeClaim, ...]) -> Garbage:
                return garbage(
                    instances, claims, listed_at=listed_at, known=known, ready=ready, static_pools=static
                )

            # Claims are listed only if the known ones leave garbage: mostly there is none.
            suspected = among(heard)
            return among(reader.list_claims()) if suspected else suspected

        self._tasks.run(("ec2", "garbage"), compare, self.me, _GarbageFound, purpose=Purpose.HOUSEKEEPING)
        self.later("garbage", _CollectGarbage(), seconds=_GARBAGE_SECONDS)

    def _take_away(self, outcome: Outcome[Garbage]) -> None:
        if not isinstance(outcome, Done):
            return
        found = outcome.value
        if found.instances:
            self.log("garbage collecting instances", instances=list(found.instances))
            self._tasks.run(
                ("ec2", "garbage"),
                lambda: self._cloud.terminate(found.instances, purpose=Purpose.HOUSEKEEPING),
                self.me,
                _Collected,
                purpose=Purpose.HOUSEKEEPING,
            )
        for claim in found.claims:
            view = self._views.get(claim.name)
            if view is not None and view.unread:
                continue
            given_up = ClaimGivenUp(name=claim.name, cause=Cause.GARBAGE_COLLECTED, actor=type(self).__name__)
            self._termination.tell(given_up)
        for claim in found.unreserved:
            self._relabel(claim)

    def _relabel(self, claim: NodeClaim) -> None:
        """Label a claim and its node as on-demand: their reservation ended, and they remain."""
        self.log("reservation of node ended", nodeclaim=claim.name, node=claim.node_name)
        writer, plain = self._writer, {labels.CAPACITY_TYPE: labels.ON_DEMAND}

        def relabel() -> None:
            # The claim last: as long as it says otherwise, all of it is done again.
            if claim.node_name:
                writer.patch_node(
                    claim.node_name, NodePatch(labels=plain, remove_labels=labels.OF_RESERVATIONS)
                )
            writer.patch_claim(claim.name, ClaimPatch(labels=plain, remove_labels=labels.OF_RESERVATIONS))

        key = ("kubernetes", "claim", claim.name)
        self._tasks.run(key, relabel, self.me, _Collected, purpose=Purpose.HOUSEKEEPING)


def _resized(before: NodeView, after: NodeView) -> bool:
    """Return whether a node has more or less room for pods than it had."""
    return (
        before.node is not None
        and after.node is not None
        and (before.node.allocatable != after.node.allocatable)
    )
