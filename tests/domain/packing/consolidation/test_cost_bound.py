from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.consolidation.clusters import OVERHEAD, Cluster, node
from tests.domain.packing.problems import is_in, offer, pods, pool
from treenail.domain.model import labels
from treenail.domain.packing.consolidation.cost_bound import cost_bound
from treenail.domain.packing.consolidation.repack import repack

ON_DEMAND = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)))
TYPES = st.sampled_from(("m5.large", "m5.2xlarge", "c5.4xlarge", "m5.8xlarge"))


@given(st.lists(st.tuples(TYPES, st.integers(1, 6)), min_size=1, max_size=4))
def test_no_plan_costs_less_than_the_bound(there: list[tuple[str, int]]) -> None:
    nodes = tuple(node(f"n{i}", kind, *pods(f"p{i}", count)) for i, (kind, count) in enumerate(there))
    problem = Cluster(nodes=nodes, offers=(ON_DEMAND,)).problem(whole=True)

    assert cost_bound(problem) <= repack(problem).cost_after + 1e-9


def test_what_is_free_on_nodes_that_stay_costs_nothing() -> None:
    nodes = (node("stays", "m5.8xlarge"), node("goes", "m5.large", *pods("p", 1)))
    problem = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"stays"})).problem()

    assert cost_bound(problem) == 0.0


def test_a_candidate_that_is_cheaper_than_all_on_offer_counts() -> None:
    cheap = node("cheap", "m5.large", *pods("p", 1))
    problem = Cluster(nodes=(cheap,), offers=()).problem()

    assert 0.0 < cost_bound(problem) <= cheap.price + OVERHEAD + 1e-9
