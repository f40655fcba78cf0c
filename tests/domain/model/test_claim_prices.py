from __future__ import annotations

import pytest

from tests.builders import claim
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claim_prices import ClaimPrices, price_of, write_price
from treenail.domain.model.claims import DECISION
from treenail.domain.model.nodes import NodeClaim


def bought(name: str, decision: str, price: float = 0.0) -> NodeClaim:
    return claim(name, annotations={DECISION: decision, **write_price(price)})


@pytest.mark.parametrize("price", [0.0116, 24.78])
def test_a_claim_says_what_it_costs(price: float) -> None:
    assert price_of(bought("c1", "d1", price)) == price


@pytest.mark.parametrize("said", ["", "dear", "nan", "inf", "-1"])
def test_what_is_no_price_is_not_known(said: str) -> None:
    assert price_of(claim("c1", annotations={labels.PRICE: said})) is None
    assert write_price(0.0) == {}


def after(*decisions: str, cause: Cause = Cause.DRIFTED) -> float | None:
    prices = ClaimPrices()
    for one in (bought("c1", "d1", 0.5), bought("c2", "d1", 0.25), bought("c3", "d2", 1), bought("c4", "d3")):
        prices.note(one)
    prices.note(bought("c5", "d2", 8))
    prices.forget("c5")
    return prices.after(cause, decisions)


def test_what_takes_a_nodes_place_costs_what_the_decisions_on_its_pods_bought() -> None:
    assert after("d1") == 0.75
    assert after("d1", "d2") == 1.75


def test_where_the_pods_went_to_nodes_there_were_nothing_is_added() -> None:
    assert after("d9") == 0.0


def test_what_is_not_launched_yet_has_no_price() -> None:
    assert after("d1", "d3") is None


def test_nothing_takes_the_place_of_an_empty_node() -> None:
    assert after(cause=Cause.EMPTY) == 0.0


def test_where_nobody_decided_nothing_is_known() -> None:
    assert after() is None
