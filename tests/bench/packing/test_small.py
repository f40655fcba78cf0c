from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.packing import peer
from tests.bench.packing.small import Timed, table, timed, times_by_processors
from tests.bench.packing.test_report import cells

SCENARIO = Timed(
    kind="plain", seed=1, pods=40, theirs=0.02, ours=0.01, their_processors=0.03, our_processors=0.01
)
# At least so many times as fast as Karpenter, by the time of all processors.
REACHED = {"plain": 1.2, "extended": 0.9}


def test_a_line_for_each_kind_says_how_many_times_as_fast() -> None:
    slow = Timed(
        kind="extended", seed=1, pods=20, theirs=0.01, ours=0.02, their_processors=0.01, our_processors=0.02
    )

    headings, _, plain, extended = map(cells, table([SCENARIO, SCENARIO, slow]).splitlines())

    assert dict(zip(headings, plain, strict=True)) == {
        "scenarios": "plain",
        "seeds": "2",
        "pods, mean": "40.0",
        "Karpenter's ms, median": "20.0",
        "ms, median": "10.0",
        "times as fast, median": "2.00",
        "by CPU": "3.00",
        "in all": "2.00",
    }
    assert extended[-3:] == ["0.50", "0.50", "0.50"]


@pytest.mark.parametrize("kind", REACHED)
def test_small_scenarios_are_decided_on_as_fast_as_they_were(
    benchmark: BenchmarkFixture, tmp_path: Path, kind: str
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench-packing runs it")
    try:
        peer.program()
    except peer.PeerNotBuiltError as error:
        pytest.skip(str(error))

    scenarios: list[Timed] = benchmark.pedantic(  # type: ignore[no-untyped-call]
        lambda: list(timed(kind, range(1, 101), tmp_path, runs=5)), rounds=1, iterations=1
    )

    benchmark.extra_info.update(faster=round(times_by_processors(scenarios), 2))
    assert times_by_processors(scenarios) >= REACHED[kind]
