from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from treenail.domain.telemetry.metric import MetricKind
from treenail.domain.telemetry.metrics import BY_NAME, METRICS

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"
TESTS = ROOT / "deploy" / "prometheus" / "tests.yaml"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))

# Labels that Prometheus adds, and those of buckets.
ADDED = {"instance", "le"}


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels(of: Path) -> list[dict[str, Any]]:
    return [panel for panel in json.loads(of.read_text())["panels"] if panel["type"] != "row"]


def queries() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    for dashboard in DASHBOARDS:
        yield from (target["expr"] for panel in panels(dashboard) for target in panel["targets"])


def named(query: str) -> set[str]:
    """Return the names of our series in a query, without those of recording rules and of the process."""
    return set(re.findall(r"\b(?:karpenter|treenail|leader)_\w+", query))


def metric_of(series: str) -> str:
    """Return the metric that a series belongs to: that of a bucket or a count is its histogram."""
    stem = re.sub(r"_(bucket|count|sum)$", "", series)
    histogram = stem in BY_NAME and BY_NAME[stem].kind is MetricKind.HISTOGRAM
    return stem if histogram else series


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_queries_ask_for_metrics_and_labels_that_are_declared(query: str) -> None:
    metrics = [BY_NAME[metric_of(series)] for series in sorted(named(query))]
    of_labels = re.findall(r"\bby \(([^)]*)\)", query) + re.findall(r"(\w+)=~?\"", query)
    asked = {label.strip() for found in of_labels for label in found.split(",")} - ADDED

    if metrics:
        assert asked <= {label for metric in metrics for label in metric.labels}


def test_every_metric_of_our_own_is_on_a_dashboard() -> None:
    shown = {
        metric_of(series)
        for dashboard in DASHBOARDS
        for panel in panels(dashboard)
        for target in panel["targets"]
        for series in named(target["expr"])
    }

    own = {metric.name for metric in METRICS if metric.name.startswith("treenail_")}
    assert own <= shown <= BY_NAME.keys()


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_says_what_it_shows_and_in_which_unit(dashboard: Path) -> None:
    there = panels(dashboard)

    assert all(panel["description"].endswith(".") for panel in there)
    assert all(panel["fieldConfig"]["defaults"]["unit"] for panel in there)
    assert len({panel["id"] for panel in there}) == len(there)


def test_panels_do_not_overlap() -> None:
    for dashboard in DASHBOARDS:
        covered: set[tuple[int, int]] = set()
        for panel in json.loads(dashboard.read_text())["panels"]:
            at = panel["gridPos"]
            cells = {
                (at["x"] + across, at["y"] + down) for across in range(at["w"]) for down in range(at["h"])
            }
            assert not cells & covered, (dashboard.name, panel["title"])
            assert at["x"] + at["w"] <= 24
            covered |= cells


def test_every_alert_has_a_section_that_says_what_to_do() -> None:
    sections = re.findall(r"^### (\w+)$", (ROOT / "docs" / "alerts.md").read_text(), re.MULTILINE)
    alerts = {rule["alert"]: rule["annotations"]["runbook"] for rule in rules() if "alert" in rule}

    assert set(alerts) == set(sections)
    assert all(runbook == f"docs/alerts.md#{alert.lower()}" for alert, runbook in alerts.items())


def test_every_alert_is_tested_to_fire_and_to_be_silent() -> None:
    cases = [case for test in yaml.safe_load(TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    alerts = {rule["alert"] for rule in rules() if "alert" in rule}

    assert {case["alertname"] for case in cases if "exp_alerts" in case} == alerts
    assert {case["alertname"] for case in cases if "exp_alerts" not in case} == alerts
