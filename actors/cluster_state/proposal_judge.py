"""Verdicts on proposals to give nodes up: whether they may be made, and whether they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from treenail.domain.cluster.batch_window import Decision, NodesToReplace
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.disruption.acceptance import judge
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
)
from treenail.domain.disruption.disruption_candidates import (
    DisruptionCandidate,
    DisruptionCandidates,
    disruption_candidates,
)
from treenail.domain.disruption.objections import CHANGED, objection
from treenail.domain.disruption.retry_plan import retry_plan_for
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.causes import CONSOLIDATION, Cause
from treenail.domain.model.event_subjects import of_view
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.runtime import Ref
from treenail.domain.packing.plan import PackingPlan


class ProposalJudge:
    """The judge of proposals, by the model of the cluster. `disruptor` finds that of a pool.

    Owns the candidates that budgets allow and that are not decided on. Has the `batcher` wait for more work
    beside their pods; the `event_publisher` tells people what keeps a node.
    """

    def __init__(
        self,
        model: ClusterModel,
        *,
        arbiter: Ref[DisruptionProposed | DisruptionRefused],
        disruptor: Callable[[str], Ref[DisruptionRefused]],
        event_publisher: Ref[DisruptionBlocked],
        batcher: Ref[NodesToReplace],
    ) -> None:
        self._model = model
        self._arbiter = arbiter
        self._disruptor = disruptor
        self._event_publisher = event_publisher
        self._batcher = batcher
        self._book = DisruptionCandidates()

    def screen(self, proposal: DisruptionProposed, now: datetime) -> None:
        """Send the arbiter the proposed nodes that nothing speaks against, and the others back.

        A node that may not go would otherwise take the budget of one that may, again and again. Nodes that
        are considered already were proposed too often: their result is told when it is decided.
        """
        considered = self._book.names
        names = tuple(name for name in proposal.candidates if name not in considered)
        if proposal.together and len(names) < len(proposal.candidates):
            self._send_back(proposal, proposal.candidates, CHANGED)
            return
        kept = self._without_objection(proposal, names, now)
        if kept:
            self._arbiter.tell(replace(proposal, candidates=kept))

    def _send_back(self, proposal: DisruptionProposed, names: tuple[str, ...], why: Blocker) -> None:
        back = DisruptionRefused(pool=proposal.pool, candidates=names, why=why)
        self._disruptor(proposal.pool).tell(back)

    def _without_objection(
        self, proposal: DisruptionProposed, names: Sequence[str], now: datetime
    ) -> tuple[str, ...]:
        """Return those that nothing speaks against; tell the disruptor of the others, and why."""
        against = {name: objection(self._model, name, proposal, now) for name in names}
        whys = sorted({why for why in against.values() if why is not None}, key=lambda why: why.sentence)
        for why in whys:
            refused = tuple(name for name in names if against[name] == why)
            self._tell_blocked(refused, why)
            if not proposal.together:
                self._send_back(proposal, refused, why)
        if proposal.together and whys:
            self._send_back(proposal, proposal.candidates, whys[0])
            return ()
        return tuple(name for name in names if against[name] is None)

    def consider(self, allowed: DisruptionAllowed, now: datetime) -> tuple[DisruptNodes, ...]:
        """Take in what budgets allow; return what is given up at once, as it asks for no new places.

        For the pods of the others places are found first.
        """
        those, planned = disruption_candidates(allowed), allowed.proposal.planned
        if planned is not None:
            self._book.bring(planned, those)
            return ()
        judgement = judge(self._model, those, PackingPlan(), now)
        self._refuse(judgement.refused)
        self._find_places(one for one, _ in judgement.lacking)
        return self._give_up(judgement.accepted, now, PackingPlan())

    def plan(self, decision: Decision) -> tuple[str, ...]:
        """Return the nodes whose pods are to be placed by this decision as if they were gone.

        An urgent one is on none: its window was that of these nodes too, so another one is asked for.
        """
        if not decision.urgent:
            return self._book.plan(decision.id)
        if self._book.waiting:
            self._batcher.tell(NodesToReplace(names=self._book.waiting))
        return ()

    def settle(self, decision: str, plan: PackingPlan, now: datetime) -> tuple[DisruptNodes, ...]:
        """Return which of the nodes that were planned with a decision are given up; refuse the others."""
        return self._accept(self._book.end(decision), plan, now)

    @property
    def plans(self) -> bool:
        """True if nodes are considered whose pods a decision is to find places for."""
        return self._book.to_be_planned

    def settle_brought(
        self, now: datetime, held: Callable[[PlanDecided], Blocker | None]
    ) -> tuple[PlanDecided, tuple[DisruptNodes, ...]] | None:
        """Return a plan that came with a proposal, and what is given up for it; None where none waits.

        `held` says why a consolidation is not to be made now, None where it may be.
        """
        brought = self._book.take_brought()
        if brought is None:
            return None
        planned, those = brought
        consolidation = any(one.proposal.cause is Cause.UNDERUTILIZED for one in those)
        why = held(planned) if consolidation else None
        if why is not None:
            self._refuse(((one, why) for one in those), told=False)
            return planned, ()
        return planned, self._accept(those, planned.plan, now)

    def _accept(
        self, those: tuple[DisruptionCandidate, ...], plan: PackingPlan, now: datetime
    ) -> tuple[DisruptNodes, ...]:
        judgement = judge(self._model, those, plan, now)
        self._refuse(judgement.refused)
        retry_plan = retry_plan_for(judgement.lacking, plan, beside=len(those))
        self._find_places(retry_plan.again)
        self._refuse(retry_plan.blocked, lasting=True)
        self._refuse(retry_plan.later, told=False)
        return self._give_up(judgement.accepted, now, plan)

    def _find_places(self, those: Iterable[DisruptionCandidate]) -> None:
        """Ask for places for the pods of all these at once: EC2 takes few calls a second."""
        waiting = tuple(those)
        if waiting:
            self._book.wait(waiting)
            self._batcher.tell(NodesToReplace(names=tuple(name for one in waiting for name in one.names)))

    def _give_up(
        self, those: tuple[DisruptionCandidate, ...], now: datetime, plan: PackingPlan
    ) -> tuple[DisruptNodes, ...]:
        """Note that these go, and return an order for each proposal. Their pods go where `plan` says."""
        names: dict[int, list[str]] = {}
        for one in those:
            names.setdefault(id(one.allowed), []).extend(one.names)
        proposals = {id(one.allowed): one.proposal for one in those}
        orders: list[DisruptNodes] = []
        for key, proposal in proposals.items():
            views = tuple(view for name in names[key] if (view := self._model.objects.view(name)) is not None)
            for view in views:
                self._model.mark_for_disruption(view.name)
            orders.append(
                DisruptNodes(
                    nodes=views,
                    cause=proposal.cause,
                    replaced_first=proposal.replaced_first,
                    decided_at=now,
                    bought=self._bought_for(
                        views, plan if proposal.planned is None else proposal.planned.plan
                    ),
                    policies=self._policies(views, proposal.cause),
                )
            )
        return tuple(orders)

    def _bought_for(self, views: Iterable[NodeView], plan: PackingPlan) -> int:
        """Return how many nodes a plan buys for pods of these."""
        pods = {pod.uid for view in views for pod in self._model.objects.pods_of(view)}
        return sum(not pods.isdisjoint(claim.pods) for claim in plan.claims)

    def _policies(self, views: Iterable[NodeView], cause: Cause) -> dict[str, str]:
        """Return the consolidation policies of the pools of these, where this is consolidation."""
        pools = self._model.objects.pools
        named = sorted({view.pool for view in views}) if cause in CONSOLIDATION else []
        return {name: pools[name].disruption.policy.written for name in named if name in pools}

    def _refuse(
        self,
        refused: Iterable[tuple[DisruptionCandidate, Blocker]],
        *,
        lasting: bool = False,
        told: bool = True,
    ) -> None:
        """Send proposals back through the arbiter, which frees their budgets for others."""
        for one, why in refused:
            self._arbiter.tell(
                DisruptionRefused(pool=one.proposal.pool, candidates=one.names, why=why, lasting=lasting)
            )
            if told:
                self._tell_blocked(one.names, why)

    def _tell_blocked(self, names: Iterable[str], why: Blocker) -> None:
        views = (self._model.objects.view(name) for name in names)
        about = tuple(ref for view in views if view is not None for ref in of_view(view))
        if why != CHANGED and about:
            said = why.sentence
            self._event_publisher.tell(DisruptionBlocked(about=about, why=said[:1].upper() + said[1:]))
