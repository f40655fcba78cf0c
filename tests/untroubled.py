"""A plan may hide that some of the work for it failed; where plans are judged, that is a failure."""

from __future__ import annotations

from treenail.domain.packing.plan import PackingPlan


class ProblemsMetError(Exception):
    """What went wrong while a plan was made, at no pod's cost."""


def untroubled(plan: PackingPlan) -> PackingPlan:
    """Return a plan.

    Raises:
        ProblemsMetError: something went wrong while it was made.
    """
    if plan.problems:
        raise ProblemsMetError("; ".join(plan.problems))
    return plan
