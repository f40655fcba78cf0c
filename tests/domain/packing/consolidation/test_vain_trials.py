"""What did not pay for some nodes is not tried again of nodes that are like them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, Standing, node
from tests.domain.packing.problems import asking, is_in, offer, pods, pool
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.rearrangement import Rearrangement
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.consolidation.vain_trials import VainTrials

TAINT = Taint("team", Effect.NO_SCHEDULE, "data")


def four(*, pods_of_last: int = 3) -> list[Standing]:
    """Return nodes that are alike, but perhaps for how many pods the last one has."""
    return [node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", pods_of_last if i == 3 else 3)) for i in range(4)]


def of(nodes: list[Standing]) -> tuple[Rearrangement, list[CandidateNode]]:
    problem = Cluster(nodes=tuple(nodes), offers=()).problem()
    return Rearrangement(problem.problem, problem.candidates), list(problem.candidates)


def test_nodes_like_those_that_were_tried_count_as_tried() -> None:
    cluster, (n0, n1, n2, n3) = of(four())
    vain = VainTrials(cluster)

    vain.note((n0, n1))

    assert vain.tried((n3, n2))
    assert not vain.tried((n0,))
    assert not vain.tried((n0, n1, n2))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(four(pods_of_last=4)[3], id="more pods"),
        pytest.param(node("n3", "m5.4xlarge", *pods("p3", 3)), id="another type"),
        pytest.param(node("n3", "m5.2xlarge", *pods("p3", 3), zone="zone-b"), id="another zone"),
        pytest.param(node("n3", "m5.2xlarge", *pods("p3", 3), node_labels={"team": "data"}), id="a label"),
        pytest.param(node("n3", "m5.2xlarge", *pods("p3", 3), taints=(TAINT,)), id="a taint"),
        pytest.param(
            node("n3", "m5.2xlarge", *pods("p3", 2), *pods("q", 1, asking(2))), id="pods of another size"
        ),
    ],
)
def test_a_node_that_differs_in_what_counts_is_tried(other: Standing) -> None:
    cluster, (n0, n1, n2, n3) = of([*four()[:3], other])
    vain = VainTrials(cluster)

    vain.note((n0, n1))

    assert vain.tried((n1, n2))
    assert not vain.tried((n0, n3))


@pytest.mark.parametrize(
    "more", [{"price": 0.1}, {"surcharge": 0.1}, {"least_saving": 0.1}, {"eviction_costs": {"p3-0": 9.0}}]
)
def test_a_node_whose_move_would_be_judged_otherwise_is_tried(more: dict[str, object]) -> None:
    cluster, (n0, n1, _, n3) = of(four())
    vain = VainTrials(cluster)

    vain.note((n0, n1))

    assert not vain.tried((n0, replace(n3, **more)))  # type: ignore[arg-type]


def test_all_is_tried_anew_once_a_node_has_gone() -> None:
    cluster, (n0, n1, n2, n3) = of(four())
    vain = VainTrials(cluster)
    vain.note((n1, n2))

    cluster.keep(cluster.without([n0.name]))

    assert not vain.tried((n2, n3))


def test_why_a_node_stays_is_said_of_nodes_like_it_unless_it_names_a_pod() -> None:
    cluster, (n0, n1, _, n3) = of(four(pods_of_last=4))
    vain = VainTrials(cluster)
    vain.note((n0,), Block.NONE_CHEAPER.by())
    vain.note((n3,), cluster.unplaced("p3-0"))

    assert vain.why((n1,)) == Block.NONE_CHEAPER.by()
    assert vain.why((n3,)) is None


def test_a_search_of_hundreds_of_nodes_that_are_alike_is_not_cut_short() -> None:
    # By what their pods ask for in all, fewer nodes would do; but no more than six pods fit on one.
    on_demand = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
    only = offer(pool("default", is_in(labels.INSTANCE_TYPE, "m5.2xlarge"), on_demand))
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 6, asking("1200m"))) for i in range(250))

    plan = repack(Cluster(nodes=nodes, offers=(only,)).problem())

    assert not plan.moves
    assert not plan.cut_short
