from __future__ import annotations

from datetime import timedelta

import pytest

from tests.domain.packing.consolidation.clusters import node
from tests.domain.packing.problems import pods
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.packing.consolidation.earnings import earned, earned_by_all, hours_to_earn
from treenail.domain.packing.consolidation.worth import EVICTION_DOLLARS


@pytest.mark.parametrize(
    ("paybacks", "hours"),
    [((), 24), ((None,), 24), ((4, None), 4), ((2, 1), 1), ((8760,), 24), ((0,), 1 / 60)],
)
def test_what_moves_cost_is_spread_over_the_shortest_payback_of_a_pool_a_day_at_most(
    paybacks: tuple[int | None, ...], hours: float
) -> None:
    terms = {
        f"pool-{n}": PoolTerms(payback=None if one is None else timedelta(hours=one))
        for n, one in enumerate(paybacks)
    }

    assert hours_to_earn(terms) == pytest.approx(hours)


def test_a_deletion_earns_its_saving_less_the_evictions_spread_over_the_hours() -> None:
    one = node("n", "m5.2xlarge", *pods("a", 3)).candidate()
    move = Move(removed=("n",), saves=one.cost, disruption=one.disruption)

    assert earned((one,), (), 2.0) == pytest.approx(one.cost - 4 * EVICTION_DOLLARS / 2)
    assert earned_by_all([move], 2.0) == pytest.approx(earned((one,), (), 2.0))
