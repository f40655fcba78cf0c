"""Whether a spot node is replaced with a cheaper spot node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.movable import ANY_WAY, at_least, coming, going
from tests.domain.packing.problems import instance_type, is_in, offer
from tests.sentences import said
from treenail.domain.model import labels
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.packing.consolidation.spot_to_spot import concerns, spot_to_spot
from treenail.domain.packing.plan import PlannedClaim

ON_DEMAND = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
# Of 40 types, each costs a cent more on spot than the one before; every tenth is of a new family.
TYPES = tuple(
    instance_type(f"c{i // 10}.{i}xlarge", cpu=4, memory=8, price=0.025 * (i + 1)) for i in range(40)
)
OFFERS = (offer(types=TYPES),)
CENT = 0.01


def replaced(
    cents: float, *requirements: Requirement, nodes: int = 1, allowed: bool = True
) -> PlannedClaim | str:
    """What replaces so many spot nodes that cost so much together."""
    removed = [going(f"n{i}", price=cents * CENT / nodes, way=labels.SPOT) for i in range(nodes)]
    claim = coming(TYPES, *(requirements or (ANY_WAY,)))
    return said(spot_to_spot(removed, claim, OFFERS, cents * CENT, allowed=allowed))


def names(claim: PlannedClaim | str) -> list[str]:
    assert not isinstance(claim, str), claim
    return list(claim.instance_types)


def test_without_the_gate_no_spot_node_is_replaced_with_one() -> None:
    for nodes in (1, 3):
        assert replaced(30.5, nodes=nodes, allowed=False) == (
            "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
        )


def test_one_node_is_replaced_where_fifteen_types_are_cheaper_and_with_the_cheapest_of_them() -> None:
    assert names(replaced(15.5)) == [one.name for one in TYPES[:15]]
    assert names(replaced(30.5)) == [one.name for one in TYPES[:15]]
    assert replaced(14.5) == (
        "SpotToSpotConsolidation requires 15 cheaper instance type options "
        "than the current candidate to consolidate, got 14"
    )
    assert replaced(0.5) == "Can't replace with a cheaper node"


def test_several_nodes_are_replaced_with_any_cheaper_type() -> None:
    assert names(replaced(30.5, nodes=2)) == [one.name for one in TYPES[:30]]
    assert names(replaced(3.5, nodes=2)) == [one.name for one in TYPES[:3]]


def test_what_replaces_a_spot_node_is_a_spot_node() -> None:
    found = replaced(15.5)

    assert not isinstance(found, str)
    assert found.requirements[labels.CAPACITY_TYPE].values == {labels.SPOT}
    assert found.price == pytest.approx(CENT)


def test_more_than_fifteen_types_are_listed_where_min_values_needs_them() -> None:
    families = at_least(3, Requirement.of(labels.INSTANCE_FAMILY, Operator.EXISTS))
    types = at_least(18, Requirement.of(labels.INSTANCE_TYPE, Operator.EXISTS))
    few = at_least(2, Requirement.of(labels.INSTANCE_FAMILY, Operator.EXISTS))

    # The first of the third family is the 21st.
    assert len(names(replaced(30.5, ANY_WAY, families))) == 21
    assert len(names(replaced(30.5, ANY_WAY, types))) == 18
    assert len(names(replaced(30.5, ANY_WAY, few))) == 15
    why = replaced(20.5, ANY_WAY, families)
    assert isinstance(why, str)
    assert why.startswith("Filtering by price: minValues requirement is not met")


def test_the_rule_concerns_spot_nodes_alone_and_what_may_be_one() -> None:
    spot, on_demand = going(way=labels.SPOT), going("n2", way=labels.ON_DEMAND)

    assert concerns([spot], coming(TYPES, ANY_WAY))
    assert concerns([spot], coming(TYPES))
    assert not concerns([spot, on_demand], coming(TYPES, ANY_WAY))
    assert not concerns([spot], coming(TYPES, ON_DEMAND))


@given(st.integers(16, 39), st.integers(0, 14))
def test_whatever_comes_for_a_spot_node_is_not_replaced_again(cents: int, launched: int) -> None:
    first = names(replaced(cents + 0.5))

    assert TYPES[launched].name in first
    # What costs so many cents has fewer than fifteen types that cost less.
    assert isinstance(replaced(launched + 1), str)
