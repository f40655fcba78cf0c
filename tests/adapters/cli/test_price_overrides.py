from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import INFLATE, treenail
from tests.scenarios.manifests import deployment, node_class, node_pool, text

COMMANDS = [
    pytest.param(("catalogue", "--family", "m5"), id="catalogue"),
    pytest.param(("simulate", "-f", INFLATE), id="simulate"),
    pytest.param(("rehearse", "-f", INFLATE, "--for", "1m"), id="rehearse"),
]


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """A file by which m5 costs a tenth, on demand."""
    file = tmp_path / "prices.yaml"
    file.write_text("overrides: [{instanceTypes: [m5.*], capacityTypes: [on-demand], factor: 0.1}]")
    return str(file)


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    """Pods for m5 or c5 on demand, of which c5 costs less by the public prices."""
    file = tmp_path / "pods.yaml"
    file.write_text(text(node_class(), node_pool(capacity_types=("on-demand",)), deployment(replicas=1)))
    return str(file)


def out(*arguments: str) -> Any:
    ran = treenail(*arguments, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def test_a_decision_goes_by_ones_own_prices(manifests: str, prices: str) -> None:
    public = out("simulate", "-f", manifests)
    own = out("simulate", "-f", manifests, "--price-overrides-file", prices)

    families = [one["nodeClaims"][0]["instanceTypes"][0].partition(".")[0] for one in (public, own)]
    assert families == ["c5", "m5"]
    assert own["cost"] < public["cost"] / 5


def test_a_rehearsal_buys_and_pays_by_ones_own_prices(manifests: str, prices: str) -> None:
    public = out("rehearse", "-f", manifests, "--for", "5m")
    own = out("rehearse", "-f", manifests, "--for", "5m", "--price-overrides-file", prices)

    families = [one["nodes"][0]["instanceType"].partition(".")[0] for one in (public, own)]
    assert families == ["c5", "m5"]
    assert own["cost"] < public["cost"] / 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_variable_of_the_same_name_does_too_and_what_is_wrong_is_one_line_and_code_two(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("overrides: [{factor: -1}]")
    monkeypatch.setenv("PRICE_OVERRIDES_FILE", str(bad))

    ran = treenail(*command)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"treenail: {bad}: overrides[0].factor: -1.0 is not a number above 0\n"


def test_the_catalogue_warns_of_an_entry_that_is_about_nothing_there_is(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("overrides: [{factor: 0.5}, {instanceTypes: [m5.lrage], factor: 2}]")

    ran = treenail("catalogue", "--family", "m5", "--price-overrides-file", str(file))

    assert ran.code == 0
    assert ran.err == f"treenail: warning: {file}: overrides[1]: is about no instance type there is\n"
