"""Packer: sends problems to the `Solver` port, and its plans to ClusterState."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.consolidating import ConsolidationPlanned
from treenail.domain.cluster.planning import Consolidation, PackRequested, PlanDecided
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import ClassReport, PackingPlan, RefusedClass
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal, furthest
from treenail.domain.ports import Solver
from treenail.domain.scheduling.candidate_prices import priced


@dataclass(frozen=True, slots=True)
class _Solved:
    """The answer of the solver to a request."""

    request: PackRequested
    outcome: Outcome[PackingPlan]


@dataclass(frozen=True, slots=True)
class _Consolidated:
    """The answer of the solver to a search for moves."""

    request: PackRequested
    consolidation: Consolidation
    outcome: Outcome[ConsolidationPlan]


@dataclass(frozen=True, slots=True)
class _Running:
    """A problem that the solver has, and what it is of."""

    request: PackRequested
    problem: Problem | ConsolidationProblem


_Refused = TypeVar("_Refused", RefusedClass, ClassReport)

PackerInbox: TypeAlias = PackRequested | _Solved | _Consolidated


class Packer(DomainActor[PackerInbox]):
    """Turn a snapshot and the offers of its pools into a plan.

    Owns the running solve, which the `Solver` port does. An urgent request ends another decision's solve. Any
    decision ends a search for consolidation moves, unless the search was ended so often that only urgent ones
    may. Tells the cluster state `PlanDecided`, and the consolidator `ConsolidationPlanned`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[PlanDecided],
        consolidator: Ref[ConsolidationPlanned],
        solver: Solver,
        settings: PackingSettings,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._consolidator = consolidator
        self._solver = solver
        self._settings = settings
        self._running: list[_Running] = []

    def handle(self, message: PackerInbox) -> None:
        match message:
            case PackRequested():
                self._solve(message)
            case _Solved():
                self._answer(message)
            case _Consolidated():
                self._tell_moves(message)
            case _:
                assert_never(message)

    def _solve(self, request: PackRequested) -> None:
        problem = request.snapshot.problem(
            request.offers, self._settings, ordinary_offers=request.ordinary_offers
        )
        if request.consolidation is not None:
            self._consolidate(request, request.consolidation, problem)
            return
        self._give_way(urgent=bool(request.decision.urgent))
        self._running.append(_Running(request, problem))
        self._tasks.run(
            ("solver",),
            lambda: self._solver.solve(problem),
            self.me,
            lambda outcome: _Solved(request, outcome),
        )

    def _consolidate(self, request: PackRequested, what: Consolidation, problem: Problem) -> None:
        asked = ConsolidationProblem(
            problem=problem,
            candidates=priced(what.candidates, request.offers, self._settings),
            terms=what.terms,
            not_receiving=what.not_receiving,
            spot_to_spot=what.spot_to_spot,
            whole=what.whole,
        )
        self._running.append(_Running(request, asked))
        self._tasks.run(
            ("solver",),
            lambda: self._solver.consolidate(asked),
            self.me,
            lambda outcome: _Consolidated(request, what, outcome),
        )

    def _give_way(self, *, urgent: bool) -> None:
        for one in self._running:
            what = one.request.consolidation
            if what is not None and (urgent or not what.urgent_only):
                self.log("consolidation gives way to a decision", logger="controller.disruption")
                self._solver.cancel(one.problem)
            elif what is None and urgent and not one.request.decision.urgent:
                self.log("packing gives way to an interruption", logger="controller.provisioner")
                self._solver.cancel(one.problem)

    def _tell_moves(self, found: _Consolidated) -> None:
        request = found.request
        self._running = [one for one in self._running if one.request is not request]
        plan: ConsolidationPlan | None = None
        match found.outcome:
            case Done(value=plan):
                pass
            case Failed(error=error):
                self.log("no consolidation plan", logger="controller.disruption", error=str(error))
        self._consolidator.tell(
            ConsolidationPlanned(
                decision=request.decision,
                snapshot=request.snapshot,
                consolidation=found.consolidation,
                plan=plan,
                considered=_pools(request),
                selected_at=request.selected_at,
                packed_at=self._timers.now(),
            )
        )

    def _answer(self, solved: _Solved) -> None:
        request = solved.request
        self._running = [one for one in self._running if one.request is not request]
        failure = ""
        match solved.outcome:
            case Done(value=plan):
                for problem in plan.problems:
                    self.log("part of packing failed", logger="controller.provisioner", error=problem)
            case Failed(error=error):
                # The pods stay where they are: waiting. They are asked for again.
                self.log("packing failed", logger="controller.provisioner", error=str(error))
                plan, failure = PackingPlan(), str(error)
        self._cluster.tell(
            PlanDecided(
                decision=request.decision,
                snapshot=request.snapshot,
                plan=_with_refusals(plan, request.not_ready),
                considered=_pools(request),
                selected_at=request.selected_at,
                packed_at=self._timers.now(),
                not_ready=request.not_ready,
                unanswered=request.unanswered,
                delays=request.delays,
                failure=failure,
            )
        )


def _pools(request: PackRequested) -> tuple[str, ...]:
    return tuple(dict.fromkeys(offer.pool.name for offer in request.offers))


def _with_refusals(plan: PackingPlan, more: tuple[Refusal, ...]) -> PackingPlan:
    """Add the pools that were never asked to the reasons of every refused class."""
    if not more or not plan.refused:
        return plan

    def added(one: _Refused) -> _Refused:
        # That there is no pool is said where there is none, not where none is ready.
        refusals = tuple(r for r in (*one.refusals, *more) if r.reason is not Reason.NO_POOLS)
        nearest = one.nearest if one.nearest is None else furthest((one.nearest, *more))
        return replace(one, refusals=refusals, nearest=nearest)

    return replace(
        plan,
        refused=tuple(added(group) for group in plan.refused),
        classes=tuple(added(report) if report.refused else report for report in plan.classes),
    )
