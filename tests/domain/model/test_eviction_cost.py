from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import bound_pod, spec
from treenail.domain.model import labels
from treenail.domain.model.eviction_cost import disruption_cost, eviction_cost
from treenail.domain.model.pods import Pod

THERE = bound_pod("p1", "node-c1")


def pod(*, priority: int = 0, deletion_cost: str | None = None) -> Pod:
    said = {} if deletion_cost is None else {labels.POD_DELETION_COST: deletion_cost}
    return replace(THERE, spec=spec(1, priority=priority), annotations=said)


@pytest.mark.parametrize(
    ("own", "cost"),
    [
        pytest.param(pod(), 1.0, id="nothing said"),
        pytest.param(pod(deletion_cost=str(2**27)), 2.0, id="dear"),
        pytest.param(pod(deletion_cost=str(-(2**27))), 0.0, id="for nothing"),
        pytest.param(pod(deletion_cost=str(-(2**31) + 1)), -10.0, id="least deletion cost"),
        pytest.param(pod(deletion_cost="1e400"), 1.0, id="too large for a float"),
        pytest.param(pod(deletion_cost="Inf"), 10.0, id="infinite"),
        pytest.param(pod(deletion_cost="NaN"), 1.0, id="not a number"),
        pytest.param(pod(deletion_cost="cheap"), 1.0, id="unreadable"),
        pytest.param(pod(deletion_cost=" 134217728"), 1.0, id="with a space"),
        pytest.param(pod(deletion_cost="134_217_728"), 1.0, id="with underscores"),
        pytest.param(pod(deletion_cost=""), 1.0, id="empty"),
        pytest.param(pod(priority=2**25), 2.0, id="important"),
        pytest.param(pod(priority=-(2**25)), 0.0, id="unimportant"),
        pytest.param(pod(priority=2_000_000_000), 10.0, id="critical"),
        pytest.param(pod(priority=-(2**31)), -10.0, id="least important"),
        pytest.param(pod(priority=-10), 1 - 10 / 2**25, id="a placeholder"),
        pytest.param(pod(priority=2**25, deletion_cost=str(-(2**28))), 0.0, id="both"),
    ],
)
def test_what_an_eviction_costs_follows_from_deletion_cost_and_priority(own: Pod, cost: float) -> None:
    assert eviction_cost(own) == pytest.approx(cost, abs=1e-12)


@given(
    st.integers(-(2**31), 2_000_001_000), st.one_of(st.text(), st.integers().map(str), st.floats().map(str))
)
def test_it_is_a_number_from_minus_ten_to_ten_whatever_is_written(priority: int, written: str) -> None:
    assert -10 <= eviction_cost(pod(priority=priority, deletion_cost=written)) <= 10


def test_a_node_costs_one_and_what_its_evictions_cost() -> None:
    assert disruption_cost([]) == 1.0
    assert disruption_cost([1.0, 2.0]) == 4.0
    # What is gained by one pod does not pay for another.
    assert disruption_cost([-10.0, 1.0]) == 2.0
