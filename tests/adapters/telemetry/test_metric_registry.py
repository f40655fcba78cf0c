from __future__ import annotations

from datetime import UTC, datetime, timedelta

from treenail.adapters.telemetry.metric_registry import MetricRegistry
from treenail.domain.telemetry.metrics import BY_NAME, METRICS_REFUSED, OF_CLUSTER_STATE
from treenail.domain.telemetry.series import Series, Since
from treenail.domain.telemetry.state_metrics import BUILD_INFO, NODES_ALLOCATABLE, NODES_LIFETIME

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STARTUP = "karpenter_pods_startup_duration_seconds"


class Time:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


def quantiles(registry: MetricRegistry) -> dict[str, float | None]:
    return {q: registry.value(STARTUP, {"quantile": q}) for q in ("0.0", "0.5", "0.9", "0.99", "1.0")}


def test_a_summary_has_the_quantiles_of_the_last_ten_minutes() -> None:
    time = Time()
    registry = MetricRegistry(time)
    registry.observe(STARTUP, 1000, {})
    time.seconds = 601
    for value in range(1, 101):
        registry.observe(STARTUP, value, {})

    assert quantiles(registry) == {"0.0": 1, "0.5": 50, "0.9": 90, "0.99": 99, "1.0": 100}
    lines = registry.exposition().decode().splitlines()
    assert f"# TYPE {STARTUP} summary" in lines
    assert f'{STARTUP}{{quantile="0.9"}} 90' in lines
    assert f"{STARTUP}_count 101" in lines
    assert registry.value(f"{STARTUP}_sum", {}) == 6050


def test_a_summary_without_recent_values_says_so() -> None:
    time = Time()
    registry = MetricRegistry(time)
    registry.observe(STARTUP, 1, {})
    time.seconds = 601

    assert f'{STARTUP}{{quantile="1"}} NaN' in registry.exposition().decode().splitlines()


def test_series_are_computed_once_and_only_their_ages_anew() -> None:
    time, asked = Time(), []
    registry = MetricRegistry(time)
    node = {"node_name": 'a"\\\n', "zone": ""}

    def gauges() -> tuple[Series, ...]:
        asked.append(1)
        return Series(NODES_LIFETIME, Since(NOW), node), Series(NODES_ALLOCATABLE, 1.5, node)

    registry.show("node a", gauges)
    registry.exposition()
    time.seconds = 30.0
    lines = registry.exposition().decode().splitlines()

    assert asked == [1]
    assert r'karpenter_nodes_current_lifetime_seconds{node_name="a\"\\\n"} 30.0' in lines
    assert r'karpenter_nodes_allocatable{node_name="a\"\\\n"} 1.5' in lines
    assert lines.count("# TYPE karpenter_nodes_allocatable gauge") == 1


def test_series_that_cannot_be_computed_are_refused_and_the_others_shown() -> None:
    registry = MetricRegistry(Time())
    registry.show("good", lambda: (Series(NODES_ALLOCATABLE, 1, {"node_name": "a"}),))
    registry.show("bad", lambda: (Series(NODES_ALLOCATABLE, 1 // 0),))
    registry.show("unknown", lambda: (Series(NODES_ALLOCATABLE, 1, {"colour": "red"}),))

    assert b'karpenter_nodes_allocatable{node_name="a"} 1\n' in registry.exposition()
    assert registry.value("treenail_metrics_refused_total", {}) == 2


def test_metrics_that_are_hidden_are_not_there_and_are_no_defect() -> None:
    registry = MetricRegistry(Time(), OF_CLUSTER_STATE)
    node, build = Series(NODES_ALLOCATABLE, 1, {"node_name": "a"}), Series(BUILD_INFO, 1, {"version": "1"})
    transition = "operator_node_status_condition_transitions_total"
    labels = dict.fromkeys(BY_NAME[transition].labels, "x")

    registry.show("node a", lambda: (node, build))
    registry.count(transition, 1, labels)
    registry.observe(STARTUP, 1, {})

    lines = registry.exposition().decode()
    assert "karpenter_nodes_allocatable" not in lines
    assert "operator_" not in lines
    assert "karpenter_build_info{" in lines
    assert STARTUP in lines
    assert registry.value(f"{METRICS_REFUSED.name}", {}) == 0
