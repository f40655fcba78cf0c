"""Consolidation as ClusterState sees it: snapshots for passes, and accepted moves that do not work out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from treenail.actors.cluster_state.refused_pod_retries import RefusedPodRetries
from treenail.actors.runtime.base import Runtime
from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.consolidating import ConsolidationPostponed, ConsolidationWanted, MoveWithdrawn
from treenail.domain.cluster.expected_pods import is_expected
from treenail.domain.cluster.planning import Consolidation, PlanCommitted, PlanDecided, SnapshotTaken
from treenail.domain.disruption.consolidation_pass import ConsolidationRules, consolidation_pass
from treenail.domain.disruption.disruption import DisruptNodes, decision_labels
from treenail.domain.disruption.move_history import MoveHistory
from treenail.domain.disruption.move_trace import made_span, withdrawn_span
from treenail.domain.disruption.move_validity import pass_of
from treenail.domain.disruption.moves_under_way import MovesUnderWay, MoveUnderWay
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.model.consolidated_claims import Origin
from treenail.domain.model.event_subjects import of_view
from treenail.domain.model.runtime import Ref
from treenail.domain.scheduling.commitment import BoughtFor
from treenail.domain.telemetry import metrics
from treenail.domain.termination.end_records import cause_said


class ConsolidationMoves:
    """Consolidation within ClusterState: snapshots for the Consolidator, and the moves it proposed.

    Looks after the `moves` under way. Sends the `selector` snapshots for a pass, the `consolidator` the
    reason where there is none, and both it and the `termination` the nodes of moves that are withdrawn.
    """

    def __init__(
        self,
        runtime: Runtime,
        model: ClusterModel,
        moves: MovesUnderWay,
        retries: RefusedPodRetries,
        rules: ConsolidationRules,
        *,
        selector: Ref[SnapshotTaken],
        consolidator: Ref[ConsolidationPostponed | MoveWithdrawn],
        termination: Ref[MoveWithdrawn],
    ) -> None:
        self._runtime = runtime
        self._model = model
        self._retries = retries
        self._rules = rules
        self._selector = selector
        self._consolidator = consolidator
        self._termination = termination
        self._moves = moves
        # The moves of the present pass that are made, by decision.
        self._made: dict[str, None] = {}
        self.history = MoveHistory()
        # What was looked at last, and the version of the model that it was.
        self._looked_at: tuple[object, Consolidation] | None = None

    def serve(self, wanted: ConsolidationWanted, now: datetime, *, busy: bool) -> None:
        """Give a snapshot for a pass, unless pods are decided on, or there is nothing to be found."""
        if busy or self.pods_wait():
            self._consolidator.tell(ConsolidationPostponed(busy=True))
            return
        found = self._unchanged(now)
        if found is None or not _fruitless(found, wanted):
            found = consolidation_pass(
                self._model, self._rules, self.history, now, urgent_only=wanted.urgent_only
            )
            self._looked_at = self._model.version, found
        if _fruitless(found, wanted):
            self._consolidator.tell(ConsolidationPostponed(consolidation=found))
            return
        names = frozenset(one.name for one in found.candidates)
        snapshot = self._retries.without_refused(
            self._model.snapshot(now, movable=names, beside_buffers=True), self._runtime.timers.monotonic()
        )
        self._model.buffers.offer_moved(pod for pod in snapshot.pods if is_expected(pod))
        decision = Decision(id=self._runtime.dice.token(), opened_at=now, closed_at=now, pods=0)
        self._selector.tell(SnapshotTaken(decision=decision, snapshot=snapshot, consolidation=found))

    def _unchanged(self, now: datetime) -> Consolidation | None:
        """Return what was looked at last, where neither the model nor the time has changed it since."""
        version, found = self._looked_at or (None, None)
        if found is None or version is None or version != self._model.version:
            return None
        return found if found.same_until is None or now < found.same_until else None

    def held(self, planned: PlanDecided, now: datetime, *, busy: bool) -> Blocker | None:
        """Return why a move is not to be made now: pods may need the room, or it undoes a recent one."""
        if busy or self.pods_wait():
            return Block.PODS_WAIT.by()
        if any(decision not in self._made for decision in planned.after):
            return Block.EARLIER_NOT_MADE.by()
        known, loops = self._model.objects.claims, self.history.loops
        removed = [known[name] for name in planned.removed if name in known]
        why = self.history.undoes(removed, planned.plan.claims, now)
        if self.history.loops > loops:
            self._runtime.telemetry.count(metrics.CONSOLIDATION_LOOPS.name, self.history.loops - loops)
        return why

    def pods_wait(self) -> bool:
        """Return whether pods wait for a decision. Refused pods do not, until they are retried."""
        model, now = self._model, self._runtime.timers.monotonic()
        return any(
            model.waiting(uid) and not self._retries.held(uid, now) for uid in model.objects.provisionable
        )

    def bought_for(self, decided: PlanDecided, now: datetime) -> BoughtFor:
        """Return what tells why the claims of a plan are bought, by the nodes whose pods they take.

        The claims of a move save what it saves in equal parts. What is bought later, for pods of a move that
        lost their places, saves nothing, and is in place of their nodes all the same.
        """
        known, share = self._model.objects.claims, decided.saves / max(1, len(decided.plan.claims))
        removed = [known[name] for name in decided.removed if name in known]
        planned = self.history.origins(removed, share, now) if removed else ()

        def bought_for(nodes: Iterable[str]) -> tuple[Origin, ...]:
            if planned:
                return planned
            claims = [known.get(self._model.objects.view_name(node)) for node in nodes]
            # What the claims say holds after a restart, and for a move that was withdrawn too late.
            left = [one for one in claims if one is not None and cause_said(one) is Cause.UNDERUTILIZED]
            return self.history.origins(left, 0.0, now) if left else ()

        return bought_for

    def begin(
        self, decided: PlanDecided, committed: PlanCommitted, orders: Iterable[DisruptNodes], now: datetime
    ) -> None:
        """Follow a move that was accepted, and remember what claims were bought for."""
        for claim in committed.claims:
            self.history.bought(claim)
        for order in orders:
            if order.cause is Cause.UNDERUTILIZED:
                self._note_made(decided.decision.id)
                self._moves.begin(decided, committed, order.nodes, now)

    def resume(self, moves: Iterable[MoveUnderWay]) -> None:
        """Follow moves that were accepted by the process before this one."""
        for move in moves:
            self._moves.follow(move)

    def _note_made(self, decision: str) -> None:
        """Remember that a move is made, for those of its pass that come after it."""
        self._made = {one: None for one in self._made if pass_of(one) == pass_of(decision)}
        self._made[decision] = None

    def _tell_made(self, changed: Iterable[str], now: datetime) -> None:
        """Count what moves saved whose nodes are gone with the pools of these, in equal shares."""
        for move, saved in tuple(self._moves.made(changed)):
            for pool in move.pools:
                share = saved / len(move.pools)
                self._runtime.telemetry.count(metrics.CONSOLIDATION_SAVED.name, share, nodepool=pool)
            self._runtime.telemetry.record(made_span(move, saved, now))

    def stays(self, name: str, why: str) -> None:
        """Take in that a node stays after all that was to go."""
        self._moves.stays(name, why)

    def follow(self, changed: Iterable[str], now: datetime) -> tuple[DisruptNodes, ...]:
        """Take back the moves that do not work out; return orders to give back what was bought for them.

        What was bought is told of again once a move ends, however it does: what is empty of it may go then.
        While nodes that stay bear their taints still, their budgets may have no room for these. Nodes of
        moves whose replacements are all in use are told of again: they may go now.
        """
        names = tuple(changed)
        for move, nodes, why in tuple(self._moves.withdrawn(names)):
            of_move = decision_labels(Cause.UNDERUTILIZED, len(move.nodes), bought=len(move.claims))
            self.history.withdrawn(name for name, _ in move.claims)
            for name in nodes:
                self._model.unmark(name)
            views = (self._model.objects.view(name) for name in nodes)
            withdrawn = MoveWithdrawn(
                names=nodes,
                why=why,
                bought=len(move.claims),
                saves=move.saves,
                about=tuple(ref for view in views if view is not None for ref in of_view(view)),
            )
            self._termination.tell(withdrawn)
            self._consolidator.tell(withdrawn)
            self._runtime.telemetry.count(metrics.DISRUPTION_QUEUE_FAILURES.name, **of_move)
            self._runtime.telemetry.record(withdrawn_span(move, nodes, why, now))
        for move in tuple(self._moves.completed(names)):
            for name in move.nodes:
                self._model.note_view(name)
        self._tell_made(names, now)
        for name in self._moves.freed():
            if self._model.objects.view(name) is not None:
                self._model.note_view(name)
        unneeded = self._moves.unneeded(names)
        for one in unneeded:
            self._model.mark_for_disruption(one.name)
        return (DisruptNodes(nodes=unneeded, cause=Cause.EMPTY, decided_at=now),) if unneeded else ()


def _fruitless(found: Consolidation, wanted: ConsolidationWanted) -> bool:
    """Return whether there is nothing to be found: no node may go, or the last search found nothing."""
    return not found.candidates or found.state == wanted.fruitless
