"""Disruptor: proposes which nodes of one pool to give back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import ToldLately, publish
from treenail.domain.cluster.cluster_facts import says_the_same
from treenail.domain.disruption.candidates import Candidates
from treenail.domain.disruption.consolidation_windows import consolidatable_at, note_consolidatable
from treenail.domain.disruption.disruption import (
    CandidateChanged,
    DisruptionProposed,
    DisruptionRefused,
    EmptyNodes,
    NodeEmptied,
    PoolChanged,
    decision_labels,
)
from treenail.domain.disruption.drift import Standard
from treenail.domain.disruption.drift_brake import DriftBrake, held_back
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.disruption.window_ends import WindowEnds
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_class_status import NodeClassStatusSeen
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch, together
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import ClusterWriter
from treenail.domain.telemetry import metrics

_PROPOSE_AGAIN: Final = timedelta(seconds=10)
_NOTE_AGAIN_SECONDS: Final = 60.0
_TOLD_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class _Due:
    """Private timer tick: some node may have been empty for long enough."""


@dataclass(frozen=True, slots=True)
class _Replace:
    """Private timer tick: some node may have to be replaced."""


@dataclass(frozen=True, slots=True)
class _Noted:
    """The outcome of a note on a claim: it was written, or was not."""

    name: str
    outcome: Outcome[NodeClaim]


@dataclass(frozen=True, slots=True)
class _WindowOver:
    """Private timer tick: pods may have left some node alone for long enough."""


@dataclass(frozen=True, slots=True)
class _Hold:
    """Private timer tick: hold the claims against their pool again."""


DisruptorInbox: TypeAlias = (
    NodeEmptied
    | CandidateChanged
    | PoolChanged
    | NodeClassStatusSeen
    | InstancesSurveyed
    | DisruptionRefused
    | _Due
    | _Replace
    | _Noted
    | _WindowOver
    | _Hold
)


class Disruptor(DomainActor[DisruptorInbox]):
    """Watch the nodes of one pool, and propose those that have stood empty, or lived, for its time.

    Owns its candidates. Tells the cluster state `DisruptionProposed`.
    """

    def __init__(
        self, runtime: Runtime, *, pool: str, cluster: Ref[DisruptionProposed], writer: ClusterWriter
    ) -> None:
        super().__init__(runtime)
        self._name = pool
        self._cluster = cluster
        self._writer = writer
        self._pool: NodePool | None = None
        self._empty = EmptyNodes()
        self._brake = DriftBrake()
        self._candidates = Candidates(self._brake)
        self._replace_at: datetime | None = None
        self._standard: Standard | None = None
        self._class_status: NodeClassStatusSeen | None = None
        self._survey: InstancesSurveyed | None = None
        self._told = ToldLately(runtime.timers.monotonic, seconds=_TOLD_SECONDS)
        # What is written to claims now, and whether something else was to be written meanwhile.
        self._writing: dict[str, tuple[ClaimPatch, bool]] = {}
        self._windows = WindowEnds()
        # When the next of them is looked at.
        self._window_over_at: datetime | None = None

    def handle(self, message: DisruptorInbox) -> None:
        match message:
            case NodeEmptied():
                self._note(message)
                self._propose_or_wait()
            case CandidateChanged():
                self._change_candidate(message)
            case PoolChanged():
                self._change_pool(message)
            case NodeClassStatusSeen():
                self._class_status = message
                self._know_meaning()
                self._replace()
            case InstancesSurveyed():
                self._survey = message
                self._know_meaning()
                self._replace()
            case _Noted():
                self._noted(message)
            case _Hold():
                self._compare_all()
                self._replace()
            case _WindowOver():
                self._look_at_windows()
            case DisruptionRefused():
                now = self._timers.now()
                self._empty.postpone(message.candidates, now + _PROPOSE_AGAIN)
                chance = self._runtime.dice.uniform(0, 1) if message.lasting else 0.0
                self._candidates.refuse(message, now, chance)
                self._propose_or_wait()
                self._arm_replacing()
            case _Due():
                self._propose_or_wait()
            case _Replace():
                self._replace()
            case _:
                assert_never(message)

    def _change_candidate(self, changed: CandidateChanged) -> None:
        self._candidates.note(changed.name, changed.claim)
        if changed.claim is not None:
            self._compare(changed.claim)
        else:
            self._windows.forget(changed.name)
        self._replace_later(changed.name)

    def _change_pool(self, changed: PoolChanged) -> None:
        self._pool = changed.pool
        if changed.pool is None:
            self._timers.cancel("replace", self.me)
            self._timers.cancel("hold", self.me)
            self._timers.cancel("window", self.me)
            self._window_over_at = None
        self._propose_or_wait()
        self._set_standard(changed)
        self._replace()

    def _note(self, emptied: NodeEmptied) -> None:
        self._empty.note(emptied)
        if emptied.duplicate:
            self._telemetry.count(metrics.NODES_BOUGHT_TWICE.name, nodepool=self._name)
            self.log("node was bought twice", level="warning", nodeclaim=emptied.name)
        after = self._empty_after
        if emptied.since is not None and after is not None:
            self.log(
                "added TTL to empty node",
                logger="controller.node",
                nodeclaim=emptied.name,
                ttl_seconds=after.total_seconds(),
            )

    @property
    def _empty_after(self) -> timedelta | None:
        pool = self._pool
        return pool.disruption.consolidate_after if pool is not None and not pool.static else None

    def _propose_or_wait(self) -> None:
        after, now, began = self._empty_after, self._timers.now(), self._timers.monotonic()
        due = self._empty.due(after, now)
        self._measure(Cause.EMPTY, began)
        if due:
            # Whatever comes of it, these are not proposed again until they were refused or a while is over.
            self._empty.postpone(due, now + 6 * _PROPOSE_AGAIN)
            self._tell("emptiness", due)
            self._cluster.tell(DisruptionProposed(pool=self._name, candidates=due, cause=Cause.EMPTY))
        at = self._empty.next_due(after)
        if at is None:
            self._timers.cancel("due", self.me)
        else:
            self.later("due", _Due(), seconds=max(0.0, (at - now).total_seconds()))

    def _replace(self) -> None:
        """Propose what is due to be replaced, and come back when more is."""
        self._replace_at = None
        if self._pool is None:
            return
        began = self._timers.monotonic()
        proposals = self._candidates.propose(self._pool, self._timers.now())
        self._measure(Cause.DRIFTED, began)
        for proposal in proposals:
            how = "expiration" if proposal.cause is Cause.EXPIRED else "drift"
            self._tell(how, proposal.candidates)
            self._cluster.tell(proposal)
        self._arm_replacing()

    def _measure(self, cause: Cause, began: float) -> None:
        """Measure how long it took, from a monotonic second on, to find the nodes that go for a cause."""
        labels = decision_labels(cause, 1, bought=0)
        self._telemetry.observe(
            metrics.DISRUPTION_EVALUATION_DURATION.name,
            self._timers.monotonic() - began,
            reason=labels["reason"],
            consolidation_type=labels["consolidation_type"],
        )

    def _tell(self, how: str, names: tuple[str, ...]) -> None:
        """Log a proposal, for each node once in a while: one that may not go is proposed again and again."""
        news = [name for name in names if self._told.news((how, name))]
        if news:
            self.log(f"deprovisioning via {how}", logger="controller.deprovisioning", nodeclaims=news)

    def _arm_replacing(self) -> None:
        if self._pool is not None:
            self._replace_by(self._candidates.next_due(self._pool))

    def _replace_later(self, name: str) -> None:
        if self._pool is not None:
            self._replace_by(self._candidates.due_at(name, self._pool))

    def _replace_by(self, at: datetime | None) -> None:
        """Look by then, unless that is to be done sooner anyway. To look too soon does no harm."""
        if at is None or (self._replace_at is not None and self._replace_at <= at):
            return
        self._replace_at = at
        self.later("replace", _Replace(), seconds=max(0.0, (at - self._timers.now()).total_seconds()))

    # --- drift

    def _set_standard(self, changed: PoolChanged) -> None:
        """Compare claims with the pool as it is now; without a pool there is nothing to compare."""
        if changed.pool is None:
            self._standard = None
            return
        before, now = self._standard, self._timers.now()
        self._standard = Standard(changed.pool, changed.node_class)
        if before is None or not self._standard.asks_the_same(before):
            self._brake.release(now)
        self._know_meaning()

    def _know_meaning(self) -> None:
        """Add the status of the node class, if it is of the class's present generation."""
        standard, seen = self._standard, self._class_status
        if standard is None:
            return
        self._standard = standard = replace(standard, survey=self._survey)
        of_now = standard.node_class
        if seen is not None and of_now is not None and says_the_same(seen.node_class, of_now):
            self._standard = replace(standard, meaning=seen.status.meaning)
            self._brake.meant(seen.status.meaning, self._timers.now())
        self._compare_all()

    def _compare_all(self) -> None:
        for claim in self._candidates.claims:
            self._compare(claim)

    def _compare(self, claim: NodeClaim) -> None:
        standard = self._standard
        if standard is None:
            return
        why = standard.drift(claim)
        self._candidates.note_drift(claim.name, None if why is None else self._timers.now())
        if why is not None and self._brake.drifted(claim, self._timers.now()):
            self._tell_held_back(standard.pool, claim, why)
        drift, now = standard.note(claim, why), self._timers.now()
        patch = drift
        if not standard.pool.static:
            patch = together(drift, note_consolidatable(claim, standard.pool, now))
            self._windows.note(claim.name, consolidatable_at(claim, standard.pool), now)
            self._look_by(self._windows.next())
        if claim.name in self._writing:
            written, _ = self._writing[claim.name]
            self._writing[claim.name] = written, patch not in (None, written)
            return
        if patch is None:
            return
        self._writing[claim.name] = patch, False
        if why is not None and drift is not None and drift.conditions:
            self.log("detected drift", logger="controller.disruption", nodeclaim=claim.name, reason=why)
        writer, name = self._writer, claim.name
        self._tasks.run(
            ("kubernetes", "drift", name),
            lambda: writer.patch_claim(name, patch),
            self.me,
            lambda outcome: _Noted(name, outcome),
            purpose=Purpose.HOUSEKEEPING,
        )

    def _look_at_windows(self) -> None:
        """Compare the claims again whose windows are over, and come back when more are."""
        self._window_over_at = None
        for name in self._windows.take(self._timers.now()):
            claim = self._candidates.claim(name)
            if claim is not None:
                self._compare(claim)
                self._replace_later(name)
        self._look_by(self._windows.next())

    def _look_by(self, at: datetime | None) -> None:
        """Look at windows by then, unless that is to be done sooner anyway."""
        known = self._window_over_at
        if at is None or (known is not None and known <= at):
            return
        self._window_over_at = at
        self.later("window", _WindowOver(), seconds=max(0.0, (at - self._timers.now()).total_seconds()))

    def _tell_held_back(self, pool: NodePool, claim: NodeClaim, why: str) -> None:
        until = self._brake.until
        if until is not None:
            self._telemetry.count(metrics.DRIFT_HELD_BACK.name, nodepool=pool.name, reason=why)
            self.log(
                "new node drifted: drifted nodes are not replaced for now",
                logger="controller.disruption",
                nodeclaim=claim.name,
                reason=why,
                until=until.isoformat(),
            )
            publish(self._tasks, self._writer, held_back(pool, claim, why, until))

    def _noted(self, noted: _Noted) -> None:
        """Try again later what failed; what was written comes by the watch, maybe before its answer."""
        _, more = self._writing.pop(noted.name, (None, False))
        claim = self._candidates.claim(noted.name)
        if not isinstance(noted.outcome, Done):
            self.later("hold", _Hold(), seconds=_NOTE_AGAIN_SECONDS)
        elif more and claim is not None:
            self._compare(claim)
