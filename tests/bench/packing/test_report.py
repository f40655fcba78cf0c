from __future__ import annotations

import msgspec
import pytest

from tests.bench.packing.__main__ import _variant
from tests.bench.packing.chart import growth, lines_of, svg
from tests.bench.packing.contest import KARPENTER, Measurement, without
from tests.bench.packing.freshness import Pods
from tests.bench.packing.ranges import numbers
from tests.bench.packing.report import table
from tests.bench.packing.workloads import manifests

OURS = Measurement(
    side="treenail",
    workload="generic",
    catalogue="kwok",
    size=100,
    seed=1,
    pods=80,
    first_seconds=0.02,
    seconds=0.01,
    processor_seconds=0.02,
    runs=(0.01,),
    placed=80,
    unschedulable=0,
    nodes=3,
    cost=9.0,
    lower_bound=8.0,
    types_per_spot_claim=14.5,
    launched_cost=11.0,
    resident_mib=60.0,
    peak_mib=70.4,
)
THEIRS = msgspec.structs.replace(
    OURS,
    side=KARPENTER,
    pods=100,
    seconds=0.1,
    processor_seconds=0.1,
    first_seconds=0.1,
    cost=10.0,
    lower_bound=0.0,
    unschedulable=20,
)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_compares_pods_per_second_by_the_pods_of_each_side() -> None:
    heading, _, theirs, ours = (cells(line) for line in table([THEIRS, OURS]).splitlines())

    told = dict(zip(heading, ours, strict=True))
    assert (told["x Karpenter"], told["x by CPU"], told["x at first"]) == ("8.0", "4.0", "4.0")
    assert (told["cost/bound"], told["cost/Karpenter"]) == ("1.1250", "0.9000")
    assert (told["types per spot claim"], told["peak MiB"]) == ("14.5", "70")
    assert dict(zip(heading, theirs, strict=True))["cost/bound"] == "1.2500"


def test_the_table_compares_within_a_case_and_leaves_out_what_there_is_not() -> None:
    other = msgspec.structs.replace(OURS, seed=2, lower_bound=0.0, types_per_spot_claim=None)

    *_, last = (cells(line) for line in table([THEIRS, OURS, other]).splitlines())

    assert last[6:9] == ["-"] * 3
    assert last[11:15] == ["-"] * 4


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_growth_is_the_exponent_of_time_by_pods(power: float) -> None:
    points = [(float(n), 3e-5 * n**power) for n in (100, 1_000, 10_000)]

    assert growth(points) == pytest.approx(power)


def test_growth_of_one_size_is_none() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        growth([(100.0, 1.0)])


def test_the_chart_has_a_line_for_each_side_and_a_point_for_each_size() -> None:
    larger = msgspec.structs.replace(OURS, size=1_000, seconds=0.2)
    drawn = svg(lines_of([THEIRS, OURS, larger]))

    assert drawn.count("<polyline") == 2
    assert drawn.count("<circle") == 3
    assert "generic kwok, karpenter" in drawn
    assert "generic kwok, treenail" in drawn


def test_seeds_and_variants_are_read_as_they_are_written() -> None:
    assert numbers("3,10-12") == [3, 10, 11, 12]
    read = _variant("free:decoded:order=memory")
    assert (read.name, read.pods, read.settings) == ("free", Pods.DECODED, ("order=memory",))
    assert _variant("plain").pods is Pods.BARE


def test_pods_that_are_left_out_leave_the_others_as_they_are() -> None:
    content = manifests("generic", 3, 1)

    kept = without(content, frozenset({"default/p000002"}))["items"]

    assert [item["metadata"]["name"] for item in kept] == ["default", "p000001", "p000003"]
