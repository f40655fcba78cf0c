from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import treenail
from tests.adapters.cli.consolidated_manifests import KWOK_CLASS, LARGE, PRICES, node, pool
from tests.scenarios.manifests import deployment, need, node_class, node_overlay, node_pool, text

CHEAP = node_overlay("own", need("karpenter.k8s.aws/instance-family", "m5"), priceAdjustment="-90%")


def out(*arguments: str) -> Any:
    ran = treenail(*arguments, "-o", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize("command", ["simulate", "rehearse"])
def test_a_decision_on_files_goes_by_the_overlays_in_them(tmp_path: Path, command: str) -> None:
    pods = [node_class(), node_pool(capacity_types=("on-demand",)), deployment(replicas=1)]
    for name, overlays in (("public", []), ("own", [CHEAP])):
        (tmp_path / f"{name}.yaml").write_text(text(*pods, *overlays))

    families = [_families(command, tmp_path / f"{name}.yaml") for name in ("public", "own")]

    assert families == [{"c5"}, {"m5"}]


def _families(command: str, file: Path) -> set[str]:
    more = ("--for", "3m") if command == "rehearse" else ()
    told = out(command, "-f", str(file), *more)
    if command == "simulate":
        types = [one["instanceTypes"][0] for one in told["nodeClaims"]]
    else:
        types = [one["instanceType"] for one in told["nodes"]]
    return {one.partition(".")[0] for one in types}


def test_a_plan_of_files_goes_by_the_overlays_in_them(tmp_path: Path) -> None:
    public, own = tmp_path / "public.yaml", tmp_path / "own.yaml"
    there = [KWOK_CLASS, pool(), node("one", LARGE)]
    public.write_text(text(*there))
    dear = node_overlay("own", need("node.kubernetes.io/instance-type", LARGE), price="9")
    own.write_text(text(*there, dear))

    costs = [out("plan", "-f", str(file))["costBefore"] for file in (public, own)]

    assert costs[1] - costs[0] == pytest.approx(9 - PRICES[LARGE])
