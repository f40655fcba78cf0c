"""The packer on the calling thread: for one-off decisions and for seeded runs."""

from __future__ import annotations

from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem


class InlineSolver:
    """The `Solver` port without a process of its own."""

    def solve(self, problem: Problem) -> PackingPlan:
        """Return the plan for `problem`."""
        # Numpy is only paid for by those who pack.
        from treenail.domain.packing.pack import pack  # noqa: PLC0415

        return pack(problem)
