from __future__ import annotations

import pytest

from tests.bench.packing.everyday import PAGE, WORKLOADS, decided, written_into
from treenail.domain.packing.problem import Packing


def test_the_table_in_the_documentation_is_what_comes_of_it_now() -> None:
    """After a change: python -m tests.bench.packing everyday, and look at it."""
    page = PAGE.read_text()

    assert written_into(page) == page


@pytest.mark.parametrize("name", WORKLOADS)
def test_an_everyday_workload_gets_no_dearer_nodes_than_first_fits_nor_many_more(name: str) -> None:
    ours, classic = (decided(name, packing) for packing in Packing)

    assert sum(len(claim.pods) for claim in ours.claims) == sum(len(claim.pods) for claim in classic.claims)
    assert ours.cost <= classic.cost + 1e-9
    assert ours.whole_cost <= classic.whole_cost + 1e-9
    assert len(ours.claims) <= max(
        3 * len(classic.claims) + 3, sum(len(claim.pods) for claim in ours.claims) / 20
    )
