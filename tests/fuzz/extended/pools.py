"""Pools and daemons with all that they may say."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz import plain
from tests.fuzz.manifests import (
    ARCH,
    CAPACITY_TYPE,
    CPU,
    FAMILY,
    GENERATION,
    INSTANCE_TYPE,
    RACK,
    REQUIRED,
    SHARD,
    ZONE,
    Manifest,
    container,
    daemon_set,
    need,
)

RACKS: Final = ("r1", "r2", "r3")


def pool(dice: random.Random, number: int) -> Manifest:
    """Return a plain pool with labels of its own, choice to be left, more taints and more limits."""
    written = plain.pool(dice, number)
    template = written["spec"]["template"]
    requirements = template["spec"]["requirements"]
    if dice.random() < 0.4:
        template["metadata"]["labels"][GENERATION] = str(dice.randint(1, 5))
    if dice.random() < 0.35:
        requirements.append(need(RACK, "In", *dice.sample(RACKS, dice.randint(1, 3))))
    if dice.random() < 0.15:
        requirements.append(need(SHARD, "Exists"))
    if dice.random() < 0.2:
        _ask_for_choice(dice, requirements)
    if dice.random() < 0.2:
        taint = {"key": "starting", "value": "yes", "effect": dice.choice(("NoSchedule", "NoExecute"))}
        template["spec"]["startupTaints"] = [taint]
    if dice.random() < 0.2:
        taint = {"key": "crowded", "value": dice.choice("xy"), "effect": "PreferNoSchedule"}
        template["spec"].setdefault("taints", []).append(taint)
    _limit(dice, written["spec"])
    return written


def _ask_for_choice(dice: random.Random, requirements: list[Manifest]) -> None:
    key, least = dice.choice(((INSTANCE_TYPE, 5), (INSTANCE_TYPE, 12), (FAMILY, 2), (FAMILY, 3), (CPU, 3)))
    known = next((line for line in requirements if line["key"] == key), None)
    if known is None:
        known = need(key, "Exists")
        requirements.append(known)
    listed = len(known["values"]) if known["operator"] == "In" else least
    known["minValues"] = min(least, listed)


def _limit(dice: random.Random, spec: Manifest) -> None:
    if dice.random() < 0.15:
        spec.setdefault("limits", {})["memory"] = f"{dice.choice((32, 128, 512))}Gi"
    if dice.random() < 0.1:
        spec.setdefault("limits", {})["nodes"] = str(dice.randint(1, 4))
    if dice.random() < 0.05:
        spec.setdefault("limits", {})["ephemeral-storage"] = "100Gi"


def daemons(dice: random.Random, number: int) -> Manifest:
    """Return daemons that run on some nodes only, and may have ports."""
    spec: Manifest = {}
    if dice.random() < 0.6:
        spec["tolerations"] = [plain.EVERYTHING]
    where = dice.random()
    if where < 0.15:
        spec["nodeSelector"] = {ARCH: "amd64"}
    elif where < 0.3:
        spec["nodeSelector"] = {CAPACITY_TYPE: "spot"}
    elif where < 0.4:
        spec["nodeSelector"] = {RACK: dice.choice(RACKS)}
    elif where < 0.55:
        terms = [
            {"matchExpressions": [need(FAMILY, "In", dice.choice("csm"))]},
            {"matchExpressions": [need(ZONE, "In", dice.choice(plain.ZONES))]},
        ]
        spec["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms[: dice.randint(1, 2)]}}}
    requests = {"cpu": f"{dice.choice((50, 200, 700))}m", "memory": f"{dice.choice((100, 900))}Mi"}
    spec["containers"] = [container(requests, name="d")]
    if dice.random() < 0.2:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": dice.choice((8080, 9100))}]
    return daemon_set(f"ds-{number}", {"ds": str(number)}, spec)
