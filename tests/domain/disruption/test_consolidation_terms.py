from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, claim, node, node_pool
from tests.domain.disruption.consolidating import its_claim, its_node, its_pod, known, pool
from treenail.domain.disruption.consolidation_terms import pool_terms, terms_of
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model import labels
from treenail.domain.model.node_pools import ConsolidationPolicy, Disruption

HOUR = timedelta(hours=1)


def test_a_pool_that_says_no_payback_has_that_of_all() -> None:
    own = replace(node_pool(), payback=2 * HOUR)

    assert terms_of(own).payback == terms_of(own, payback=HOUR).payback == 2 * HOUR
    assert terms_of(node_pool(), payback=HOUR).payback == HOUR
    assert terms_of(node_pool()).payback is None


def test_the_terms_of_a_pool_name_its_policy() -> None:
    own = replace(node_pool(), disruption=Disruption(policy=ConsolidationPolicy.BALANCED))

    assert terms_of(own).policy is ConsolidationPolicy.BALANCED


def test_the_terms_of_pools_have_what_all_their_nodes_cost_and_would_disturb() -> None:
    overhead = pool(node_overhead_cost=0.01, payback=HOUR)
    kept = its_pod(annotations={labels.DO_NOT_DISRUPT: "true"})
    dear = its_pod("p2", on="c2", annotations={labels.POD_DELETION_COST: str(2**27)})
    model = known(
        *(overhead, pool(name="idle")),
        *(its_claim(annotations={labels.PRICE: "0.05"}), its_node(), kept),
        *(its_claim("c2"), its_node("c2"), dear, node("alone")),
        claim("c3"),
    )

    terms = pool_terms(model, START, prices=NodePrices(), payback=2 * HOUR)

    assert list(terms) == ["default", "idle"]
    assert terms["default"].cost == pytest.approx(0.05 + 3 * 0.01)
    assert terms["default"].disruption == (1 + 1) + (1 + 2) + 1
    assert terms["default"].payback == HOUR
    assert (terms["idle"].cost, terms["idle"].disruption, terms["idle"].payback) == (0.0, 0.0, 2 * HOUR)
