from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.bench.packing import peer
from tests.bench.packing.contest import Measurement
from tests.bench.packing.studies import main
from tests.bench.packing.study_tables import costs, growths, launches, speeds
from tests.bench.packing.test_report import OURS, THEIRS, cells

FREE = msgspec.structs.replace(OURS, side="treenail any nodes", cost=8.4)


def last_line(table: str) -> dict[str, str]:
    """Return the figures of a table's last line; of headings that come twice, the first."""
    headings, _, *lines = table.splitlines()
    figures: dict[str, str] = {}
    for heading, figure in zip(cells(headings), cells(lines[-1]), strict=True):
        figures.setdefault(heading, figure)
    return figures


def seeded(seed: int, cost: float) -> list[Measurement]:
    return [
        msgspec.structs.replace(THEIRS, seed=seed),
        msgspec.structs.replace(OURS, seed=seed, cost=cost, launched_cost=cost),
    ]


def test_speed_is_by_pods_a_second() -> None:
    figures = last_line(speeds([THEIRS, OURS]))

    assert figures["pods"] == "100"
    assert (figures["Karpenter's pods/s"], figures["pods/s"]) == ("1,000", "8,000")
    assert (figures["times as fast"], figures["at first"]) == ("8.0", "4.0")


def test_cost_is_the_median_and_the_highest_over_seeds() -> None:
    figures = last_line(costs([*seeded(1, 9.0), *seeded(2, 9.2), *seeded(3, 10.1), FREE]))

    assert figures["seeds"] == "3"
    assert (figures["cost/Karpenter, median"], figures["highest"]) == ("0.9200", "1.0100")
    assert figures["cost/bound, median"] == "1.1500"
    assert figures["by prices alone, median"] == "1.0500"


def test_launches_are_compared_by_what_they_cost() -> None:
    figures = last_line(launches([*seeded(1, 11.0), *seeded(2, 5.5)]))

    assert figures["types per spot claim"] == "14.5"
    assert (figures["launched/Karpenter, median"], figures["highest"]) == ("0.7500", "1.0000")


def test_growth_is_the_power_of_the_work_that_time_follows() -> None:
    ten_times = msgspec.structs.replace(OURS, size=1_000, processor_seconds=0.2)

    figures = last_line(growths([OURS, ten_times]))

    assert figures["workload, types"] == "generic kwok"
    assert (figures["100 pods"], figures["1,000 pods"]) == ("20.0 ms", "200.0 ms")
    assert figures["grows as pods to the power of"] == "1.00"


@pytest.mark.parametrize("study", ["speed", "growth", "cost", "spot"])
def test_a_study_measures_and_prints_its_table(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        peer.program()
    except peer.PeerNotBuiltError as error:
        pytest.skip(str(error))
    lines, chart = tmp_path / "lines", tmp_path / "chart.svg"
    few = ["--pods", "5", "--workloads", "generic", "--catalogues", "kwok", "--seeds", "7"]

    main([study, *few, "--lines", str(lines), "--chart", str(chart)])

    assert len(capsys.readouterr().out.splitlines()) == 3
    assert all(json.loads(line)["pods"] == 5 for line in lines.read_text().splitlines())
    assert chart.exists() == (study == "growth")
