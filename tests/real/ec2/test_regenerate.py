from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from tests.real.lab.lab import Lab
from treenail.adapters.cli.regenerate import regenerate
from treenail.adapters.ec2 import data
from treenail.adapters.ec2.records import PRICES_FILE, TYPES_FILE, shipped_price_lists

SHIPPED = Path(data.__file__ or "").parent
REGION_FILE = "us-east-1.json"


@pytest.fixture
def command(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Typer:
    for name, value in lab.environment.items():
        monkeypatch.setenv(name, value)
    app = Typer()
    app.command()(regenerate)
    return app


def run(command: Typer, lab: Lab, into: Path, *more: str) -> Result:
    arguments = ("us-east-1", "--into", str(into), "--endpoint-url", lab.endpoint_url, *more)
    return CliRunner().invoke(command, arguments)


def test_the_command_writes_from_the_apis_what_is_shipped(lab: Lab, command: Typer, tmp_path: Path) -> None:
    result = run(command, lab, tmp_path, "--no-spot")

    assert result.exit_code == 0, result.output
    for file in (TYPES_FILE, REGION_FILE, PRICES_FILE):
        assert (tmp_path / file).read_text() == (SHIPPED / file).read_text(), file
    assert "us-east-1: 6 zones" in result.stdout


def test_figures_from_files_and_spot_prices_are_written_too(lab: Lab, command: Typer, tmp_path: Path) -> None:
    limits = tmp_path / "limits.json"
    limits.write_text(json.dumps({"m5.large": 7}))

    # The laboratory lists the prices of its own region alone.
    prices_alone = ("--prices-of", "us-east-1")

    result = run(command, lab, tmp_path, "--branch-interfaces", str(limits), "--prune", *prices_alone)

    assert result.exit_code == 0, result.output
    types = {one[0]: one for one in json.loads((tmp_path / TYPES_FILE).read_text())}
    shipped = {one[0]: one for one in json.loads((SHIPPED / TYPES_FILE).read_text())}
    assert [
        (old, new) for old, new in zip(shipped["m5.large"], types["m5.large"], strict=True) if old != new
    ] == [(9, 7)]
    prices = json.loads((tmp_path / PRICES_FILE).read_text())
    assert prices.pop("us-east-1")["m5.large"] == lab.on_demand_price("m5.large")
    assert prices == shipped_price_lists()
    sales = {one[0]: one for one in json.loads((tmp_path / REGION_FILE).read_text())["sales"]}
    zones, spot = sales["m5.large"][1], sales["m5.large"][3]
    assert spot == [lab.spot_price("m5.large", zone) for zone in zones]


def test_where_a_question_has_no_answer_nothing_is_written(lab: Lab, command: Typer, tmp_path: Path) -> None:
    lab.fault("ec2", "DescribeInstanceTypeOfferings", code="UnauthorizedOperation", status=403, times=None)

    result = run(command, lab, tmp_path)

    assert result.exit_code == 1
    assert result.stderr.startswith("nothing is written: ")
    assert "UnauthorizedOperation" in result.stderr
    assert list(tmp_path.iterdir()) == []
