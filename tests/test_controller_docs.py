from __future__ import annotations

import re
from pathlib import Path

from treenail.adapters.controller.failures import TOO_MANY, WITHIN
from treenail.adapters.controller.liveness import STUCK_SECONDS
from treenail.adapters.runtime.tasks import WORKERS
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.unsupported_settings import IGNORED
from treenail.adapters.solver.process import WorkerLimits
from treenail.domain.telemetry.metric import Metric
from treenail.domain.telemetry.metrics import BY_NAME, METRICS
from treenail.domain.telemetry.state_metrics import NODE_LABELS

DOCS = Path(__file__).resolve().parent.parent / "docs"
SETTINGS = (DOCS / "settings.md").read_text()
PAGE = (DOCS / "controller.md").read_text()


def test_the_table_of_settings_is_that_of_the_code() -> None:
    table = SETTINGS.partition("<!-- settings -->\n")[2].partition("<!-- /settings -->")[0]
    rows = ["| variable | default | what |", "|---|---|---|"]
    for variable in VARIABLES:
        default = f" `{variable.default}` |" if variable.default else " |"
        rows.append(f"| `{variable.name}` |{default} {variable.about} |")

    assert table.splitlines() == rows


def test_the_settings_that_change_nothing_are_named() -> None:
    named = SETTINGS.partition("says so at the start:")[2].partition("\nOne of several")[0]

    assert re.findall(r"^\| `(\w+)` \|", named, re.MULTILINE) == list(IGNORED)


def test_the_figures_and_metrics_are_those_of_the_code() -> None:
    limits = WorkerLimits()

    assert f"silent for {STUCK_SECONDS:.0f} s" in PAGE
    assert "at most 16 to the API server, 16 to EC2 and 4 to SQS" in PAGE
    assert (WORKERS["kubernetes"], WORKERS["ec2"], WORKERS["sqs"]) == (16, 16, 4)
    assert (limits.solve_seconds, limits.losses, limits.within_seconds) == (240, 3, 60)
    assert (TOO_MANY, WITHIN.total_seconds()) == (3, 600)
    for page in sorted(DOCS.glob("*.md")):
        assert set(re.findall(r"`(treenail_\w+)`", page.read_text())) <= BY_NAME.keys()


def test_the_page_of_metrics_is_that_of_the_code() -> None:
    table = (DOCS / "metrics.md").read_text().partition("<!-- metrics -->\n")[2].partition("<!-- /metrics")[0]

    assert table.splitlines() == [
        "| metric | type | labels | what |",
        "|---|---|---|---|",
        *map(row, METRICS),
    ]


def row(metric: Metric) -> str:
    written = " ".join(metric.labels).replace(" ".join(NODE_LABELS), "NODE")
    written = written.replace(" ".join(NODE_LABELS[1:]), "KIND")
    said = {"NODE": "those of nodes", "KIND": f"those of nodes but `{NODE_LABELS[0]}`"}
    labels = ", ".join(said.get(label, f"`{label}`") for label in written.split())
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help} |"
