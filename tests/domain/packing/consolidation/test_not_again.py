"""No node is replaced by what it came in place of lately; the search plans around that."""

from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.consolidation.clusters import Cluster, node
from tests.domain.packing.problems import is_in, offer, pods, pool
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block
from treenail.domain.model.consolidated_claims import Shape
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.consolidation.repack import repack

ON_DEMAND = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)))
LARGE = Cluster(nodes=(node("large", "m5.4xlarge", *pods("a", 2)),), offers=(ON_DEMAND,)).problem()


def came_for(problem: ConsolidationProblem, *shapes: Shape) -> ConsolidationProblem:
    return replace(problem, candidates=tuple(replace(one, replaced=shapes) for one in problem.candidates))


def bought(plan: ConsolidationPlan) -> list[str]:
    return [kind for move in plan.moves for claim in move.claims for kind in claim.instance_types]


def test_the_next_best_type_is_bought_where_the_cheapest_is_what_the_node_came_in_place_of() -> None:
    freely = bought(repack(LARGE))
    before = Shape("default", freely[0], "zone-b", labels.ON_DEMAND)

    assert bought(repack(came_for(LARGE, before))) == freely[1:]


def test_what_was_bought_in_another_way_or_by_another_pool_is_something_else() -> None:
    freely = bought(repack(LARGE))
    others = [Shape("other", freely[0], "", labels.ON_DEMAND), Shape("default", freely[0], "", labels.SPOT)]

    assert bought(repack(came_for(LARGE, *others))) == freely


def test_a_node_stays_and_says_why_where_only_what_it_came_in_place_of_is_cheaper() -> None:
    shapes = [Shape("default", kind, "zone-a", labels.ON_DEMAND) for kind in bought(repack(LARGE))]

    plan = repack(came_for(LARGE, *shapes))

    assert plan.moves == ()
    assert plan.staying[0].why.block is Block.UNDOES
    assert f"large came in place of {shapes[0]} lately" in plan.staying[0].why.sentence


def test_a_node_that_came_in_place_of_an_unknown_type_is_not_replaced() -> None:
    assert repack(came_for(LARGE, Shape("default", "", "", ""))).moves == ()


def test_a_node_whose_pods_fit_elsewhere_goes_whatever_it_came_in_place_of() -> None:
    nodes = (node("full", "m5.2xlarge", *pods("a", 5)), node("thin", "m5.2xlarge", *pods("b", 2)))
    problem = Cluster(nodes=nodes, offers=()).problem()
    shapes = [Shape("default", "m5.2xlarge", "", "")]

    assert [move.removed for move in repack(came_for(problem, *shapes)).moves] == [("thin",)]
