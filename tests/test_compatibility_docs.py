"""The page that counts what there is of Karpenter agrees with the code, where the code knows the figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.adapters.settings.test_settings import KARPENTERS
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.unsupported_settings import FOLLOWED, GATES, IGNORED, REFUSED
from treenail.domain.telemetry.metrics import BY_NAME

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "karpenter-compatibility.md").read_text()
# Of Karpenter before 1.0.
OF_OLD = {
    *("ASSUME_ROLE_ARN", "ASSUME_ROLE_DURATION", "DISABLE_WEBHOOK", "LEADER_ELECT", "WEBHOOK_METRICS_PORT"),
    "WEBHOOK_PORT",
}
SETTINGS = {*KARPENTERS.split(), "SCHEDULER_CONFIG"} - OF_OLD


def row(area: str) -> list[int]:
    (found,) = [line for line in PAGE.splitlines() if line.startswith(("| " + area, f"| [{area}"))]
    return [int(cell) for cell in re.findall(r"(?<=\| )\d+(?= \|)", found)]


@pytest.mark.parametrize("line", [line for line in PAGE.splitlines() if re.search(r"\| \d+ \| \d+ \|", line)])
def test_the_figures_of_a_row_add_up(line: str) -> None:
    whole, *parts = [int(cell) for cell in re.findall(r"(?<=\| )\d+(?= \|)", line)]

    assert whole == sum(parts)


def test_no_more_settings_work_than_the_code_has() -> None:
    whole, works, *_ = row("settings")

    assert whole == len(SETTINGS)
    assert works <= len(SETTINGS & {one.name for one in VARIABLES})
    assert all(f"`{name}`" in PAGE for name in SETTINGS & {*IGNORED, *REFUSED} - {"AWS_FEATURE_GATES"})


def test_no_more_feature_gates_work_than_the_code_follows() -> None:
    # Drift was one before 1.0; that of the AWS provider is refused.
    gates = set(GATES) - {"Drift"}
    whole, works, *_ = row("feature gates")

    assert whole == len(gates) + 1
    assert works <= len(gates & FOLLOWED)


@pytest.mark.parametrize(
    ("area", "family"),
    [("metrics](metrics.md) `karpenter_`", "karpenter_"), ("metrics `operator_`", "operator_")],
)
def test_no_fewer_metrics_are_there_than_it_says(area: str, family: str) -> None:
    there = [name for name in BY_NAME if name.startswith(family)]

    assert len(there) >= row(area)[1]
