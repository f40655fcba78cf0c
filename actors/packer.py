"""Packer: sends problems to the `Solver` port, and its plans to ClusterState."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.planning import PackRequested, PlanDecided
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.packing.plan import ClassReport, PackingPlan, RefusedClass
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.packing.reasons import Reason, Refusal, furthest
from treenail.domain.ports import Solver


@dataclass(frozen=True, slots=True)
class _Solved:
    """The answer of the solver to a request."""

    request: PackRequested
    outcome: Outcome[PackingPlan]


@dataclass(frozen=True, slots=True)
class _Running:
    """A problem that the solver has, and what it is of."""

    request: PackRequested
    problem: Problem


_Refused = TypeVar("_Refused", RefusedClass, ClassReport)

PackerInbox: TypeAlias = PackRequested | _Solved


class Packer(DomainActor[PackerInbox]):
    """Turn a snapshot and the offers of its pools into a plan.

    Owns the running solve, which the `Solver` port does, and which an urgent request ends: whoever sends one
    waits for no other. Tells the cluster state `PlanDecided`.
    """

    def __init__(
        self, runtime: Runtime, *, cluster: Ref[PlanDecided], solver: Solver, settings: PackingSettings
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._solver = solver
        self._settings = settings
        self._running: list[_Running] = []

    def handle(self, message: PackerInbox) -> None:
        match message:
            case PackRequested():
                self._solve(message)
            case _Solved():
                self._answer(message)
            case _:
                assert_never(message)

    def _solve(self, request: PackRequested) -> None:
        snapshot = request.snapshot
        problem = Problem(
            pods=snapshot.pods,
            existing_nodes=snapshot.existing_nodes,
            offers=request.offers,
            daemons=tuple(d.spec for d in snapshot.daemons),
            volumes=snapshot.volumes,
            namespaces=snapshot.namespaces,
            settings=self._settings,
        )
        if request.decision.urgent:
            self._give_way()
        self._running.append(_Running(request, problem))
        self._tasks.run(
            ("solver",),
            lambda: self._solver.solve(problem),
            self.me,
            lambda outcome: _Solved(request, outcome),
        )

    def _give_way(self) -> None:
        for one in self._running:
            if not one.request.decision.urgent:
                self.log("packing gives way to an interruption", logger="controller.provisioner")
                self._solver.cancel(one.problem)

    def _answer(self, solved: _Solved) -> None:
        request = solved.request
        self._running = [one for one in self._running if one.request is not request]
        match solved.outcome:
            case Done(value=plan):
                for problem in plan.problems:
                    self.log("part of packing failed", logger="controller.provisioner", error=problem)
            case Failed(error=error):
                # The pods stay where they are: waiting. They are asked for again.
                self.log("packing failed", logger="controller.provisioner", error=str(error))
                plan = PackingPlan()
        self._cluster.tell(
            PlanDecided(
                decision=request.decision,
                snapshot=request.snapshot,
                plan=_with_refusals(plan, request.not_ready),
                considered=tuple(dict.fromkeys(o.pool.name for o in request.offers)),
                selected_at=request.selected_at,
                packed_at=self._timers.now(),
            )
        )


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
