"""What nodes cost beside their prices, as the command line tells of it and is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import treenail

INFLATE = "examples/001-inflate.yaml"


def simulated(*options: str, file: str = INFLATE) -> dict[str, Any]:
    ran = treenail("simulate", "-f", file, "-o", "json", *options)
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def beside_prices(*options: str, file: str = INFLATE) -> float:
    """What each of the nodes costs beside its price, $/h."""
    found = simulated(*options, file=file)
    return float((found["wholeCost"] - found["cost"]) / len(found["nodeClaims"]))


def test_a_node_costs_its_volumes_and_two_cents_more_unless_it_is_said_otherwise() -> None:
    volumes = 20 * 0.08 / 730

    assert beside_prices() == pytest.approx(volumes + 0.02)
    assert beside_prices("--node-overhead-cost", "0.5") == pytest.approx(volumes + 0.5)
    assert beside_prices("--node-overhead-cost", "0") == pytest.approx(volumes)


def test_what_a_pool_says_comes_before_the_option(tmp_path: Path) -> None:
    said = 'metadata: {name: default, annotations: {treenail.sh/node-overhead-cost: "0.3"}}'
    file = tmp_path / "own.yaml"
    file.write_text(Path(INFLATE).read_text().replace("metadata: {name: default}", said, 1))

    assert beside_prices("--node-overhead-cost", "0.5", file=str(file)) == pytest.approx(
        20 * 0.08 / 730 + 0.3
    )


@pytest.mark.parametrize("written", ["-0.02", "nan", "inf", "1e-2", "two cents", "1001", ""])
@pytest.mark.parametrize("command", ["simulate", "rehearse"])
def test_a_cost_that_is_no_amount_is_refused(command: str, written: str) -> None:
    ran = treenail(command, "-f", INFLATE, f"--node-overhead-cost={written}")

    assert ran.code == 2
    assert ran.err == (
        f"treenail: --node-overhead-cost (NODE_OVERHEAD_COST) {written!r} is not an amount of US dollars "
        "an hour between 0 and 1000, such as 0.02\n"
    )


def test_a_rehearsal_decides_by_what_it_is_told_too() -> None:
    def spans(*options: str) -> str:
        return treenail("rehearse", "-f", INFLATE, "--for", "1m", *options).out

    assert spans("--node-overhead-cost", "0.5") != spans()
