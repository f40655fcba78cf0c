"""The packer on the calling thread, for single decisions and seeded runs."""

from __future__ import annotations

from treenail.adapters.solver.garbage import uncollected
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem

# Numpy is only paid for by those who pack.


class InlineSolver:
    """Packs without a process of its own, and without advice for the pods it refuses.

    Keeps the last consolidation problem: in a rehearsal of days most are equal to the one before.
    """

    def __init__(self) -> None:
        self._last: tuple[ConsolidationProblem, ConsolidationPlan] | None = None

    def solve(self, problem: Problem) -> PackingPlan:
        """Return the plan for `problem`."""
        from treenail.domain.packing.pods_to_come import pack_but_last_resorts  # noqa: PLC0415

        with uncollected():
            return pack_but_last_resorts(problem)

    def consolidate(self, problem: ConsolidationProblem) -> ConsolidationPlan:
        """Return which nodes of a cluster may go, and where their pods go."""
        if self._last is not None and self._last[0] == problem:
            return self._last[1]
        from treenail.domain.packing.consolidation.repack import repack  # noqa: PLC0415

        with uncollected():
            plan = repack(problem)
        self._last = problem, plan
        return plan

    def cancel(self, problem: Problem | ConsolidationProblem) -> None:
        """Do nothing: on one thread no call can come while a problem is being solved."""

    def advise(self, problem: Problem, plan: PackingPlan) -> PackingPlan:
        """Return `plan`, made for `problem`, with advice for the pods it refuses."""
        from treenail.domain.packing.decide import advise  # noqa: PLC0415

        with uncollected():
            return advise(problem, plan)


class AdvisingSolver(InlineSolver):
    """The `Solver` port without a process of its own: decides in full, as the worker does."""

    def solve(self, problem: Problem) -> PackingPlan:
        """Return the plan for `problem`, with advice for the pods it refuses."""
        return self.advise(problem, super().solve(problem))
