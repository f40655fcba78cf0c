from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import node_pool
from treenail.domain.disruption.consolidation_terms import terms_of
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
