"""Consolidator: proposes moves that let the cluster run on nodes that cost less."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import ToldLately, publish
from treenail.domain.cluster.consolidating import (
    ConsolidationPlanned,
    ConsolidationPostponed,
    ConsolidationWanted,
    MoveWithdrawn,
    NodesGoLater,
)
from treenail.domain.cluster.planning import Consolidation
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.disruption.disruption import DisruptionProposed, DisruptionRefused, decision_labels
from treenail.domain.disruption.going_later import GoingLater
from treenail.domain.disruption.move_proposals import ProposedMoves, proposal_of
from treenail.domain.explain.consolidation_events import (
    About,
    approved,
    candidate,
    no_candidates,
    rejected,
    unconsolidatable,
    withdrawn,
)
from treenail.domain.model.causes import Cause
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.model.runtime import Ref
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move
from treenail.domain.packing.consolidation.worth import BALANCED_THRESHOLD, balanced_scores
from treenail.domain.ports import ClusterWriter
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.series import Series
from treenail.domain.telemetry.state_metrics import DISRUPTION_ELIGIBLE_NODES

_LOOK_SECONDS: Final = 10.0
_LONGEST_PAUSE: Final = 300.0
# What was asked and never answered is asked again.
_ANSWERED_SECONDS: Final = 300.0
# A state that gave nothing is looked at again after so long, then after twice as long: prices change, too.
_FRUITLESS_LASTS: Final = timedelta(minutes=5)
_FRUITLESS_LASTS_MOST: Final = timedelta(minutes=30)
# Passes that were ended for decisions in a row, until only urgent ones may end the next.
_MOST_CANCELLED: Final = 3
_TOLD_SECONDS: Final = 900.0
_MOST_EVENTS: Final = 100
_BALANCED: Final = ConsolidationPolicy.BALANCED.value


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: something may be gained by now."""


ConsolidatorInbox: TypeAlias = (
    ConsolidationPostponed | ConsolidationPlanned | DisruptionRefused | MoveWithdrawn | _Look
)


class Consolidator(DomainActor[ConsolidatorInbox]):
    """Ask for a consolidation plan of the whole cluster every ten seconds, and propose its moves in order.

    While nothing has changed since a plan without moves that may be proposed, nothing is planned for 5 min;
    then for 10, 20 and 30 where the whole search found no move. A plan gives way to a decision on pods; it is
    asked for again after 10 s, 20 and 40, and then only urgent decisions end it. Owns what was proposed
    lately. Tells the cluster state `ConsolidationWanted` and `DisruptionProposed`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[ConsolidationWanted | DisruptionProposed],
        soft_tainter: Ref[NodesGoLater],
        writer: ClusterWriter,
        rules: ConsolidationRules,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._soft_tainter = soft_tainter
        self._writer = writer
        self._acting = rules.acting
        self._going_later = GoingLater()
        self._told_later: tuple[str, ...] = ()
        self._proposed = ProposedMoves(runtime.dice.uniform)
        self._told = ToldLately(runtime.timers.monotonic, seconds=_TOLD_SECONDS)
        self._cancelled = 0
        self._fruitless: tuple[object, datetime] | None = None
        self._fruitless_lasts = _FRUITLESS_LASTS
        # The moves that were proposed last, and what their nodes are known by.
        self._moves: dict[tuple[str, ...], tuple[Move, About]] = {}
        # What was reported last, and before when (in monotonic seconds) all of it was told lately.
        self._reported: tuple[Consolidation | None, float] = (None, 0.0)

    def begin(self) -> None:
        self._look_after(_LOOK_SECONDS)

    def handle(self, message: ConsolidatorInbox) -> None:
        match message:
            case _Look():
                self._ask()
            case ConsolidationPostponed():
                if message.consolidation is not None:
                    self._report(message.consolidation)
                self._look_after(_LOOK_SECONDS)
            case ConsolidationPlanned():
                self._take(message)
            case DisruptionRefused():
                self._refused(message)
            case MoveWithdrawn():
                self._publish(withdrawn(message))
                self._proposed.withdraw(message.names, self._timers.now())
            case _:
                assert_never(message)

    def _look_after(self, seconds: float) -> None:
        self.later("look", _Look(), seconds=seconds)

    def _tell_going_later(self) -> None:
        """Have those nodes used last that go later: before the first pods are evicted that could go there."""
        names = self._going_later.names(self._timers.now())
        if names != self._told_later:
            self._told_later = names
            self._soft_tainter.tell(NodesGoLater(names=names))

    def _ask(self) -> None:
        self._look_after(_ANSWERED_SECONDS)
        self._tell_going_later()
        state, until = self._fruitless or (None, self._timers.now())
        fruitless = state if self._timers.now() < until else None
        urgent_only = self._cancelled >= _MOST_CANCELLED
        self._cluster.tell(ConsolidationWanted(fruitless=fruitless, urgent_only=urgent_only))

    def _take(self, found: ConsolidationPlanned) -> None:
        if found.plan is None:
            self._cancelled += 1
            pause = _LOOK_SECONDS * 2.0 ** min(self._cancelled - 1, 10)
            self._look_after(min(pause, _LONGEST_PAUSE))
            return
        self._cancelled = 0
        took = (found.packed_at - found.snapshot.taken_at).total_seconds()
        labels = {"reason": Cause.UNDERUTILIZED.value, "consolidation_type": "multi"}
        self._telemetry.observe(metrics.DISRUPTION_EVALUATION_DURATION.name, took, **labels)
        self._report(found.consolidation)
        if found.plan.cut_short:
            self._telemetry.count(metrics.CONSOLIDATION_TIMEOUTS.name, consolidation_type="multi")
        self._publish(unconsolidatable(found.plan.staying, found.consolidation.about))
        self._count_unworthy(found.plan)
        now = self._timers.now()
        if self._acting:
            self._going_later.planned(found.consolidation.candidates, found.plan, now)
            self._tell_going_later()
        proposed = self._propose(found, found.plan)
        if not proposed:
            due = self._proposed.next_due(now) if found.plan.moves and self._acting else None
            until = now + self._pause_of(found.consolidation.state, found.plan)
            self._fruitless = found.consolidation.state, until if due is None else min(due, until)
        self._look_after(_LOOK_SECONDS)

    def _pause_of(self, state: object, plan: ConsolidationPlan) -> timedelta:
        """Return how long a state that gave nothing is left alone: twice as long as the last time it did.

        Five minutes where the plan was cut short or has moves, none of which may be proposed yet: the next
        pass may do better.
        """
        whole = not plan.moves and not plan.cut_short
        again = whole and self._fruitless is not None and self._fruitless[0] == state
        pause = self._fruitless_lasts * 2 if again else _FRUITLESS_LASTS
        self._fruitless_lasts = min(pause, _FRUITLESS_LASTS_MOST)
        return self._fruitless_lasts

    def _report(self, consolidation: Consolidation) -> None:
        """Publish how many nodes may be consolidated, and events on why others may not."""
        before, told_until = self._reported
        if consolidation is before and self._timers.monotonic() < told_until:
            return
        reason = {"reason": Cause.UNDERUTILIZED.value}
        eligible = Series(DISRUPTION_ELIGIBLE_NODES, len(consolidation.candidates), reason)
        self._telemetry.show("nodes to consolidate", lambda: (eligible,))
        events = no_candidates(consolidation.staying, consolidation.events, consolidation.about)
        self._reported = consolidation, self._publish(events)

    def _publish(self, events: Iterable[ClusterEvent]) -> float:
        """Have events written that were not lately, and not too many at a time.

        Return from which monotonic second on one of them is news again, or still.
        """
        left, news_at = _MOST_EVENTS, math.inf
        for event in events:
            about = event.about.uid or event.about.name
            what = event.message if event.reason.startswith("Consolidation") else ""
            key = about, event.reason, what
            if left and self._told.news(key):
                left -= 1
                publish(self._tasks, self._writer, event)
            news_at = min(news_at, self._told.news_at(key))
        return news_at

    def _propose(self, found: ConsolidationPlanned, plan: ConsolidationPlan) -> int:
        """Propose the moves that may be; return how many."""
        now = self._timers.now()
        self._moves = {}
        for index, move in tuple(self._proposed.due(plan.moves, now)):
            about = found.consolidation.about
            self._publish(candidate(move, about))
            self._count(move, found.consolidation)
            self._score(move, found.consolidation)
            self.log(
                "consolidation found" if not self._acting else "deprovisioning via consolidation",
                logger="controller.deprovisioning",
                decision=move.action.value,
                nodeclaims=list(move.removed),
                replacements=len(move.claims),
                saves_usd_hour=round(move.saves, 6),
            )
            if self._acting:
                self._moves[move.removed] = move, about
                self._proposed.propose(move.removed, now)
                self._cluster.tell(proposal_of(found, index, move))
        return len(self._moves)

    def _count(self, move: Move, consolidation: Consolidation) -> None:
        """Count a move once with each pool that its nodes are of."""
        pool_of = {one.name: one.pool for one in consolidation.candidates}
        for pool in sorted({pool_of[name] for name in move.removed if name in pool_of}):
            terms = consolidation.terms.get(pool)
            policy = terms.policy.value if terms is not None else ""
            self._telemetry.count(
                metrics.CONSOLIDATION_MOVES.name, decision="approved", nodepool=pool, policy=policy
            )

    def _score(self, move: Move, consolidation: Consolidation) -> None:
        """Publish the scores at which pools with the policy Balanced approved a move."""
        removed = [one for one in consolidation.candidates if one.name in move.removed]
        scores = balanced_scores(removed, saves=move.saves, terms=consolidation.terms)
        # A move may be made for another reason than its saving, which no score approves.
        passed = {pool: score for pool, score in scores.items() if score.value >= BALANCED_THRESHOLD}
        for pool, score in passed.items():
            self._observe_score("approved", pool, score.value)
            self._publish(approved(move, score, consolidation.about))

    def _count_unworthy(self, plan: ConsolidationPlan) -> None:
        """Count the nodes whose best move Balanced rejects, with its scores."""
        for why in (one.why for one in plan.staying):
            if why.score is not None:
                moves = metrics.CONSOLIDATION_MOVES.name
                self._telemetry.count(moves, decision="rejected", nodepool=why.name, policy=_BALANCED)
                self._observe_score("rejected", why.name, why.score)

    def _observe_score(self, decision: str, pool: str, score: float) -> None:
        self._telemetry.observe(
            metrics.CONSOLIDATION_SCORE.name, score, decision=decision, nodepool=pool, policy=_BALANCED
        )

    def _refused(self, refused: DisruptionRefused) -> None:
        self._proposed.refuse(refused.candidates, self._timers.now())
        labels = decision_labels(Cause.UNDERUTILIZED, len(refused.candidates), bought=0)
        kind = labels["consolidation_type"]
        failed = metrics.DISRUPTION_FAILED_VALIDATIONS.name
        self._telemetry.count(failed, len(refused.candidates), consolidation_type=kind)
        known = self._moves.pop(refused.candidates, None)
        if known is not None:
            self._telemetry.count(metrics.CONSOLIDATION_REJECTED.name, reason=refused.why.kind.value)
            self._publish(rejected(*known, refused.why))
