"""How long it takes until all nodes of a large cluster are replaced, in virtual time; and in ours."""

from __future__ import annotations

import resource

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.scenarios.test_drift_of_pools import filled, replaced_after
from treenail.adapters.embed.rehearsal import Rehearsal

POOLS, NODES = 20, 250


def test_five_thousand_nodes_that_all_drift_are_replaced_in_little_more_time_than_budgets_allow(
    benchmark: BenchmarkFixture,
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, 1, 1)
        one = replaced_after(rehearsal, range(1))

    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, POOLS, NODES)
        took: float = benchmark.pedantic(  # type: ignore[no-untyped-call]
            replaced_after, args=(rehearsal, range(POOLS)), rounds=1, iterations=1
        )
        benchmark.extra_info["messages"] = rehearsal.world.steps
        # EC2 takes five a second: what is not bought together is bought one after the other.
        benchmark.extra_info["CreateFleet"] = rehearsal.ec2.calls["CreateFleet"]
        benchmark.extra_info["CreateFleet refused"] = rehearsal.ec2.refused.get("CreateFleet", 0)
        causes = [record.cause for record in rehearsal.history() if record.terminated_at is not None]

    benchmark.extra_info["virtual seconds"] = round(took)
    benchmark.extra_info["times the least"] = round(took / (10 * one), 2)
    benchmark.extra_info["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert causes.count("drifted") == POOLS * NODES
    # A replacement that came late, for a node that stayed after all, is given back for being empty.
    assert set(causes) <= {"drifted", "empty"}
    # A tenth at a time: ten times what one node takes, at best.
    assert took < 1.3 * 10 * one
