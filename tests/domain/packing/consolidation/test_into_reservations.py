"""Moves into reserved capacity whose pods may take each other's places, so that a node more may be bought."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, node
from tests.domain.packing.problems import asking, catalogue, is_in, pods, pool
from tests.domain.reserved import count
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.scheduling.reserved_offers import Stock

EITHER = (labels.ON_DEMAND, labels.RESERVED)
NOTHING_ASKED: Mapping[str, str] = {}


def into_reservation(
    *, ways: tuple[str, ...] = EITHER, asked: Mapping[str, str] = NOTHING_ASKED
) -> ConsolidationPlan:
    """Plan for a large node whose pods just fit on a free node and on a reserved one.

    Both large pods may go to the free node, and then the last small one fits nowhere.
    """
    there = {"team": "x", **asked}
    small, large = asking(1, selector={"team": "x"}), asking("3600m", selector=asked)
    big = node("big", "m5.4xlarge", *pods("small", 4, small), *pods("large", 2, large), node_labels=there)
    free = node("free", "m5.2xlarge", node_labels=there)
    stock = Stock.of(with_reserved(catalogue(), (count("cr-1", "m5.xlarge", "zone-a"),)))
    offers = stock.offers(pool("default", is_in(labels.CAPACITY_TYPE, *ways)), None, taken={})
    return repack(Cluster(nodes=(big, free), offers=offers).problem())


def test_a_node_moves_into_a_reservation_though_a_node_more_on_demand_may_be_needed() -> None:
    (move,) = into_reservation().moves

    assert move.removed == ("big",)
    assert [claim.requirements[labels.RESERVATION_ID].single for claim in move.claims] == ["cr-1"]


def test_it_stays_where_its_pool_buys_nothing_but_what_is_reserved() -> None:
    plan = into_reservation(ways=(labels.RESERVED,))

    assert not plan.moves
    assert "may take each other's places" in plan.staying[0].why.sentence


@pytest.mark.parametrize(
    "asked",
    [{labels.CAPACITY_TYPE: labels.RESERVED}, {labels.RESERVATION_ID: "cr-1"}],
    ids=["reserved", "this reservation"],
)
def test_it_stays_where_a_pod_runs_on_reserved_capacity_alone(asked: Mapping[str, str]) -> None:
    plan = into_reservation(asked=asked)

    assert not plan.moves
    assert "may take each other's places" in plan.staying[0].why.sentence
