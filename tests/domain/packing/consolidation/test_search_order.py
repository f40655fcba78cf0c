"""Orders of a search that come to the same one are searched once."""

from __future__ import annotations

from tests.domain.packing.consolidation.clusters import Cluster, node
from tests.domain.packing.problems import pods
from treenail.domain.packing.consolidation.search_order import WAYS, other_ways


def test_nodes_that_cost_the_same_are_not_tried_again_the_dearest_first() -> None:
    alike = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 2)) for i in range(3))

    ways = other_ways(Cluster(nodes=alike, offers=()).problem())

    assert ways == WAYS[1:3]


def test_every_order_is_tried_where_the_dearest_node_is_not_the_first() -> None:
    # The cheap one saves most for what its pod costs to evict.
    nodes = (node("dear", "m5.8xlarge", *pods("a", 30)), node("cheap", "m5.large", *pods("b", 1)))

    assert other_ways(Cluster(nodes=nodes, offers=()).problem()) == WAYS[1:]


def test_one_node_alone_is_tried_in_one_way() -> None:
    alone = (node("n", "m5.large", *pods("a", 1)),)

    assert other_ways(Cluster(nodes=alone, offers=()).problem()) == ()
