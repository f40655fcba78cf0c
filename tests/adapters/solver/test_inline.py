from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.consolidation.clusters import Cluster, node
from tests.domain.packing.problems import pods
from treenail.adapters.solver.inline import InlineSolver

CLUSTER = Cluster(
    nodes=(node("full", "m5.2xlarge", *pods("a", 5)), node("thin", "m5.2xlarge", *pods("b", 2)))
)


def test_a_consolidation_problem_equal_to_the_last_one_has_its_plan() -> None:
    solver = InlineSolver()

    first = solver.consolidate(CLUSTER.problem())

    assert solver.consolidate(CLUSTER.problem()) is first
    assert first.moves


def test_a_consolidation_problem_that_differs_in_a_price_is_planned_anew() -> None:
    solver, problem = InlineSolver(), CLUSTER.problem()
    first = solver.consolidate(problem)
    dearer = tuple(replace(one, price=(one.price or 0.0) * 2) for one in problem.candidates)

    assert solver.consolidate(replace(problem, candidates=dearer)).cost > first.cost
