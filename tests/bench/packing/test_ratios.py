"""What packing promises beside Karpenter, each measured in one run: for `make bench-packing`."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.packing import peer
from tests.bench.packing.catalogues import CATALOGUES, catalogue
from tests.bench.packing.chart import growth, lines_of
from tests.bench.packing.contest import Case, Contest, Measurement, Variant
from tests.bench.packing.spot import Launches
from tests.bench.packing.study_tables import whole_cost
from treenail.adapters.kwok.catalogue import read_catalogue

BARE = Variant(name="treenail")
PRICES_ALONE = Variant(name="treenail by prices alone", settings=("node_overhead_cost=0",))
FIRST_FIT = Variant(name="first-fit", settings=("packing=first-fit-descending",))
# Seeds that nothing was tuned on.
UNSEEN = range(201, 211)
WORKLOADS = ("generic", "replicas", "diverse", "preference")
# As many types as EC2 should be offered, for spot to be cheap and to last.
ENOUGH_TYPES = 15
AT_2000 = {"generic": 10, "replicas": 10, "diverse": 15, "preference": 40}


class Bench:
    """Contests timed as one round of a benchmark: not to be repeated for its own sake."""

    def __init__(self, benchmark: BenchmarkFixture, folder: Path) -> None:
        self._benchmark = benchmark
        self._folder = folder

    def run(
        self,
        *cases: Case,
        runs: int = 5,
        karpenter_runs: int = 6,
        beside: bool = True,
        variant: Variant = BARE,
        others: tuple[Variant, ...] = (),
    ) -> list[Measurement]:
        """Return what each side did with each case, Karpenter first; without it, where not `beside` it."""
        if self._benchmark.disabled:
            pytest.skip("takes a while: make bench-packing runs it")
        try:
            peer.program()
        except peer.PeerNotBuiltError as error:
            pytest.skip(str(error))
        contest = Contest(
            folder=self._folder,
            catalogue=lambda name: catalogue(name, self._folder),
            launches=lambda name: Launches(read_catalogue(catalogue(name, self._folder))),
            variants=[variant, *others],
            runs=runs,
            karpenter_runs=karpenter_runs,
            with_karpenter=beside,
        )
        measured: list[Measurement] = self._benchmark.pedantic(  # type: ignore[no-untyped-call]
            lambda: [one for case in cases for one in contest.measure(case)], rounds=1, iterations=1
        )
        return measured

    def say(self, **figures: object) -> None:
        self._benchmark.extra_info.update(figures)


@pytest.fixture
def bench(benchmark: BenchmarkFixture, tmp_path: Path) -> Bench:
    return Bench(benchmark, tmp_path)


def case(workload: str, pods: int, types: str, seed: int = 42) -> Case:
    return Case(workload=workload, pods=pods, catalogue=types, seed=seed)


def times_as_fast(bench: Bench, theirs: Measurement, ours: Measurement) -> float:
    """Return by how much, once it is certain that the same pods were placed."""
    assert ours.unschedulable == 0
    assert ours.placed == theirs.placed
    faster = theirs.seconds / ours.seconds
    bench.say(faster=round(faster, 1), at_first=round(theirs.first_seconds / ours.first_seconds, 1))
    return faster


@pytest.mark.parametrize("types", CATALOGUES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_two_thousand_pods_are_packed_many_times_as_fast(bench: Bench, workload: str, types: str) -> None:
    theirs, ours = bench.run(case(workload, 2_000, types))

    assert times_as_fast(bench, theirs, ours) >= AT_2000[workload]


@pytest.mark.parametrize("types", CATALOGUES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_five_hundred_pods_are_packed_five_times_as_fast(bench: Bench, workload: str, types: str) -> None:
    theirs, ours = bench.run(case(workload, 500, types))

    assert times_as_fast(bench, theirs, ours) >= 5


@pytest.mark.parametrize("types", CATALOGUES)
@pytest.mark.parametrize("workload", ["generic", "replicas", "diverse"])
def test_twenty_thousand_pods_are_packed_forty_times_as_fast(bench: Bench, workload: str, types: str) -> None:
    theirs, ours = bench.run(case(workload, 20_000, types), runs=3, karpenter_runs=1)

    assert times_as_fast(bench, theirs, ours) >= 40


def test_a_hundred_thousand_pods_of_deployments_find_their_nodes_in_five_seconds(bench: Bench) -> None:
    (ours,) = bench.run(case("deployments", 100_000, "fake400"), runs=3, beside=False)

    bench.say(seconds=round(ours.seconds, 2))
    assert ours.placed == 100_000
    assert ours.seconds < 5


@pytest.mark.parametrize("workload", WORKLOADS)
def test_time_grows_no_faster_than_the_work(bench: Bench, workload: str) -> None:
    sizes = (1_000, 2_000, 5_000, 10_000, 20_000)
    measured = bench.run(*(case(workload, n, "kwok") for n in sizes), runs=3, beside=False)

    (points,) = lines_of(measured, processor=True).values()
    exponent = growth(points)
    bench.say(exponent=round(exponent, 2))
    assert all(one.unschedulable == 0 for one in measured)
    assert exponent <= 1.1


@pytest.mark.parametrize("pods", [100, 300, 2_000])
@pytest.mark.parametrize("types", CATALOGUES)
@pytest.mark.parametrize("workload", ["generic", "replicas", "diverse"])
def test_nodes_cost_no_more_than_karpenters_and_no_less_than_the_bound(
    bench: Bench, workload: str, types: str, pods: int
) -> None:
    cases = (case(workload, pods, types, seed) for seed in UNSEEN)
    measured = bench.run(*cases, runs=2, karpenter_runs=3)

    pairs = list(zip(measured[::2], measured[1::2], strict=True))
    dearer = [ours.cost / theirs.cost for theirs, ours in pairs]
    launched = [ours.launched_cost / theirs.launched_cost for theirs, ours in pairs]
    bench.say(worst=round(max(dearer), 4), median=round(median(dearer), 4), launched=round(max(launched), 4))
    assert all(ours.placed == theirs.placed for theirs, ours in pairs)
    assert all(ours.cost >= ours.lower_bound * (1 - 1e-9) for _, ours in pairs)
    assert max(dearer) <= 1.001
    assert median(dearer) <= (0.8 if workload == "diverse" else 1.0)
    assert median(launched) <= 1.0
    for theirs, ours in pairs:
        if (theirs.types_per_spot_claim or 0) >= ENOUGH_TYPES:
            assert ours.types_per_spot_claim is not None
            assert ours.types_per_spot_claim >= ENOUGH_TYPES


@pytest.mark.parametrize("pods", [200, 500, 2_000])
@pytest.mark.parametrize("types", ["kwok", "ec2"])
def test_nodes_cost_less_in_all_than_karpenters_and_there_are_not_many_more_than_first_fits(
    bench: Bench, types: str, pods: int
) -> None:
    cases = (case(workload, pods, types, seed) for workload in WORKLOADS for seed in (201, 202))
    measured = bench.run(*cases, runs=0, karpenter_runs=1, others=(FIRST_FIT,))

    sides = list(zip(measured[::3], measured[1::3], measured[2::3], strict=True))
    dearer = [whole_cost(ours) / whole_cost(theirs) for theirs, ours, _ in sides if theirs.nodes]
    bench.say(worst=round(max(dearer), 4), median=round(median(dearer), 4))
    assert max(dearer) <= 1.0
    assert median(dearer) <= (0.9 if types == "ec2" else 0.95)
    assert all(ours.placed == theirs.placed for theirs, ours, _ in sides)
    assert all(ours.nodes <= max(3 * classic.nodes + 3, pods / 20) for _, ours, classic in sides)


@pytest.mark.parametrize(("pods", "most"), [(300, 1.04), (2_000, 1.02), (10_000, 1.02)])
@pytest.mark.parametrize("types", CATALOGUES)
@pytest.mark.parametrize("workload", ["generic", "replicas"])
def test_nodes_cost_little_more_than_the_bound_where_there_may_be_any_number(
    bench: Bench, workload: str, types: str, pods: int, most: float
) -> None:
    cases = (case(workload, pods, types, seed) for seed in UNSEEN)
    measured = bench.run(*cases, runs=0, beside=False, variant=PRICES_ALONE)

    over = [one.cost / one.lower_bound for one in measured]
    bench.say(worst=round(max(over), 4), median=round(median(over), 4))
    assert all(one.unschedulable == 0 for one in measured)
    assert min(over) >= 1 - 1e-9
    assert max(over) <= most


def test_twenty_thousand_diverse_pods_take_less_than_five_hundred_mebibytes(bench: Bench) -> None:
    (ours,) = bench.run(case("diverse", 20_000, "fake400"), runs=0, beside=False)

    bench.say(peak_mib=round(ours.peak_mib), before_mib=round(ours.resident_mib))
    assert ours.unschedulable == 0
    assert ours.peak_mib < 500
