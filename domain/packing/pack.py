"""Pack pods: the one entry."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.domain.packing.attempt.attempt import Attempt
from treenail.domain.packing.attempt.comparison import places_others, places_the_same
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Packing, Problem

# Pods are placed once more, one by one, only up to so many: that attempt costs a step a pod. The first number
# is for pods without a place, the second for money alone, which is worth less time.
_MOST_CONTENDED: Final = 2_000
_MOST_BOUGHT_FOR: Final = 300
# For money alone, where the nodes cost more than the bound by this factor.
_TO_WIN: Final = 1.02
# A second plan must cost less than this share of the first: rounding is no saving.
_WORTH_IT: Final = 0.9995


def pack(problem: Problem) -> PackingPlan:
    """Decide where every pod of `problem` goes.

    Depends on nothing but the problem, and not on the order its pods come in. A class of pods on
    which packing fails is set aside with the error's text; the others are packed.
    """
    context = PackingContext(problem)
    first = Attempt(context)
    plan = first.plan()
    # Where nobody was left and the cost is near its bound, this is the plan. Otherwise the second attempt
    # counts on the same context, which it clears.
    if context.steps.exhausted or not _worth_another(first, plan, problem):
        return plan
    second = Attempt(context)
    try:
        other = second.plan_one_by_one(first, plan.whole_cost * _WORTH_IT)
    except Exception as error:  # noqa: BLE001 (there is a plan already)
        problem_met = f"pods were not placed one by one: {type(error).__name__}: {error}"
        return replace(plan, problems=(*plan.problems, problem_met))
    # Cut short, a second plan is not comparable with one that is whole.
    if other is None or context.steps.exhausted or not _better(second, other, first, plan):
        return plan
    return other


def pack_once(problem: Problem) -> PackingPlan:
    """Decide like `pack`, but in one attempt. Where there is not enough for all, it may leave other pods."""
    return Attempt(PackingContext(problem)).plan()


def _worth_another(first: Attempt, plan: PackingPlan, problem: Problem) -> bool:
    """Return whether packing one by one may place pods that have no place, or save money."""
    # A pod was left that could have had another's place: only a trial shows which pods Karpenter would have
    # placed.
    if len(problem.pods) <= _MOST_CONTENDED and first.contended:
        return True
    if (
        problem.settings.packing is not Packing.CHEAPEST
        or plan.whole_cost <= plan.whole_lower_bound * _TO_WIN
    ):
        return False
    # Domains were chosen before nodes. Pod by pod they are chosen with a view to nodes that are open already;
    # without terms about other pods that changes nothing.
    return sum(len(claim.pods) for claim in plan.claims) <= _MOST_BOUGHT_FOR and first.order_matters


def _better(second: Attempt, other: PackingPlan, first: Attempt, plan: PackingPlan) -> bool:
    """Return whether the second plan places pods that the first leaves, or all of them for less."""
    if places_others(second.outcome, first.outcome):
        return True
    # Cheaper in all, and never at a higher sum of prices: that is promised of every plan.
    cheaper = other.whole_cost < plan.whole_cost * _WORTH_IT and other.cost <= plan.cost
    return cheaper and places_the_same(second.outcome, first.outcome)
