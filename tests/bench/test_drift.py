"""How long it takes until all nodes of a large cluster are replaced, in virtual time; and in ours."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.scenarios.test_drift_of_pools import filled, replaced_after, run_out
from treenail.adapters.embed.rehearsal import Rehearsal

POOLS, NODES = 20, 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """After how many seconds the nodes of each pool were replaced, why nodes ended, and what it took."""

    seconds: Mapping[int, float]
    causes: tuple[str, ...]
    messages: int
    calls: int
    refused: int

    @property
    def others(self) -> float:
        """After how many seconds the nodes of all pools but the first were replaced."""
        return max(seconds for number, seconds in self.seconds.items() if number)


@cache
def replaced(*, short: bool = False) -> Replaced:
    """Let all nodes drift. Where the first pool is `short`, none of its launches comes to anything."""
    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, POOLS, NODES)
        if short:
            run_out(rehearsal)
        seconds = replaced_after(rehearsal, range(1 if short else 0, POOLS))
        return Replaced(
            seconds=seconds,
            causes=tuple(str(one.cause) for one in rehearsal.history() if one.terminated_at is not None),
            messages=rehearsal.world.steps,
            calls=rehearsal.ec2.calls["CreateFleet"],
            refused=rehearsal.ec2.refused.get("CreateFleet", 0),
        )


def test_five_thousand_nodes_that_all_drift_are_replaced_in_little_more_time_than_budgets_allow(
    benchmark: BenchmarkFixture,
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, 1, 1)
        one = max(replaced_after(rehearsal, range(1)).values())

    done: Replaced = benchmark.pedantic(replaced, rounds=1, iterations=1)  # type: ignore[no-untyped-call]

    took = max(done.seconds.values())
    benchmark.extra_info["messages"] = done.messages
    # EC2 takes five a second: what is not bought together is bought one after the other.
    benchmark.extra_info["CreateFleet"] = done.calls
    benchmark.extra_info["CreateFleet refused"] = done.refused
    benchmark.extra_info["virtual seconds"] = round(took)
    benchmark.extra_info["times the least"] = round(took / (10 * one), 2)
    benchmark.extra_info["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert done.causes.count("drifted") == POOLS * NODES
    # A replacement that came late, for a node that stayed after all, is given back for being empty.
    assert set(done.causes) <= {"drifted", "empty"}
    # A tenth at a time: ten times what one node takes, at best.
    assert took < 1.3 * 10 * one


def test_a_pool_whose_launches_all_fail_delays_nineteen_others_by_under_a_twentieth(
    benchmark: BenchmarkFixture,
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    without = replaced().others

    done: Replaced = benchmark.pedantic(  # type: ignore[no-untyped-call]
        replaced, kwargs={"short": True}, rounds=1, iterations=1
    )

    benchmark.extra_info["virtual seconds"] = round(done.others)
    benchmark.extra_info["where all can buy"] = round(without)
    benchmark.extra_info["CreateFleet"] = done.calls
    assert done.causes.count("drifted") == (POOLS - 1) * NODES
    assert done.others < 1.05 * without
