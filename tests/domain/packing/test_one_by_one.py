"""Pods placed one by one, as Karpenter does."""

from __future__ import annotations

from tests.domain.packing.colocated import apart, app, of_app, with_terms
from tests.domain.packing.problems import asking, instance_type, offer, problem
from treenail.domain.model import labels
from treenail.domain.packing.attempt.attempt import Attempt
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.one_by_one.one_by_one import OneByOne
from treenail.domain.packing.problem import Problem


def placed(of: Problem) -> list[int]:
    """Return how many pods each claim has, in the order they were opened."""
    context = PackingContext(of)
    attempt = Attempt(context)
    turns = OneByOne(context, attempt._placements, attempt.outcome)
    turns.place(context.parsed.classes, lambda _, error: (_ for _ in ()).throw(error))
    _, planned_nodes = turns.planned()
    return [sum(planned_node.parts.values()) for planned_node in planned_nodes]


def test_of_two_claims_with_as_many_pods_the_one_that_was_emptier_goes_on() -> None:
    keep_apart = with_terms(apart(of_app("apart"), key=labels.HOSTNAME), of=asking(5))
    large = instance_type("c5.9xlarge", cpu=36, memory=72, price=1.5)
    first = (*app("big", 1, asking(20)), *app("middle", 1, asking(6)))

    of = problem((*first, *app("apart", 2, keep_apart), *app("small", 3)), offers=(offer(types=(large,)),))

    assert placed(of) == [3, 4]
