"""A decision in full: the plan, and advice for the pods it refuses."""

from __future__ import annotations

from treenail.domain.packing.advice.advice import with_remedies
from treenail.domain.packing.pack import pack, pack_once
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.pods_to_come import pack_but_last_resorts
from treenail.domain.packing.problem import Problem


def decide(problem: Problem) -> PackingPlan:
    """Return the plan for `problem`, with advice for the pods it refuses."""
    return advise(problem, pack_but_last_resorts(problem))


def advise(problem: Problem, plan: PackingPlan) -> PackingPlan:
    """Return `plan`, which packing made of `problem`, with advice for the pods it refuses."""
    return with_remedies(problem, plan, pack_once, whole=pack)
