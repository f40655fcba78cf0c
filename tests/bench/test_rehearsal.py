from __future__ import annotations

import cProfile
import pstats
import resource

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.large_cluster import LargeCluster
from tests.test_readme import ROOT, shown_test


def test_an_hour_of_a_thousand_nodes_and_ten_thousand_pods(benchmark: BenchmarkFixture) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")

    def hour() -> LargeCluster:
        cluster = LargeCluster(10_000)
        cluster.settle()
        cluster.churn(until=3600.0)
        cluster.rehearsal.run("10m")
        return cluster

    cluster: LargeCluster = benchmark.pedantic(hour, rounds=1, iterations=1)  # type: ignore[no-untyped-call]

    rehearsal = cluster.rehearsal
    benchmark.extra_info["nodes"] = len(rehearsal.nodes())
    benchmark.extra_info["pods"] = cluster.pods
    benchmark.extra_info["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert rehearsal.running() == cluster.pods
    assert len(rehearsal.nodes()) >= 1000
    assert rehearsal.telemetry.orphans() == ()


def test_the_test_that_the_readme_shows_takes_less_than_a_second(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    benchmark.pedantic(shown_test(), rounds=3, iterations=1)  # type: ignore[no-untyped-call]

    if (timed := benchmark.stats) is not None:
        assert timed.stats.median < 1.0


TRACING = ("_trace.py", "tracing.py", "telemetry.py")


def _seconds_in(profile: cProfile.Profile, *files: str) -> float:
    """Return the seconds spent in functions of these files themselves."""
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return float(sum(own for (file, _, _), (_, _, own, _, _) in rows.items() if file.endswith(files)))


def test_a_large_cluster_loses_no_span_and_spends_little_time_on_them(request: pytest.FixtureRequest) -> None:
    profile = cProfile.Profile()
    profile.enable()
    cluster = LargeCluster(5_000 if request.config.getoption("--soak") else 1_500)
    cluster.settle()
    cluster.rehearsal.run("2m")
    profile.disable()

    telemetry = cluster.rehearsal.telemetry
    bound = [s for s in telemetry.spans() if s.name == "bind"]
    assert telemetry.orphans() == ()
    assert all(len(telemetry.tree(trace)) == 1 for trace in telemetry.trace_ids())
    assert sum(int(str(s.attributes["treenail.pods"])) for s in bound) == cluster.pods
    assert _seconds_in(profile, *TRACING) < 0.05 * _seconds_in(profile, "")
