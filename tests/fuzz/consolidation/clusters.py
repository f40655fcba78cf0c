"""Random clusters by seed, as manifests: nodes of several pools with fewer pods than they have room for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.fuzz.check.homes import Way
from tests.fuzz.check.pools import Pool
from tests.fuzz.consolidation.machines import Machine, types
from tests.fuzz.consolidation.workloads import Workloads
from tests.fuzz.manifests import CPU, INSTANCE_TYPE, Manifest, need
from tests.fuzz.plain import daemons, pool

_SIZES: Final = (5, 6, 8, 10, 12, 16, 20, 30, 60)
_POLICIES: Final = (*["WhenEmptyOrUnderutilized"] * 7, "WhenEmpty", "Balanced", "Balanced")
_BUDGETS: Final = ("100%", "100%", "100%", "50%", "10%", "2", "0")


@dataclass(frozen=True)
class Cluster:
    """A cluster to consolidate. `spot_to_spot` says whether that gate is open."""

    items: tuple[Manifest, ...]
    spot_to_spot: bool = False


def cluster(seed: int) -> Cluster:
    """Return one cluster; equal seeds give equal ones."""
    dice = random.Random(seed)
    pools = [_pool(dice, n) for n in range(dice.choice((1, 2, 2, 3)))]
    sets = [daemons(dice, n) for n in range(dice.choice((0, 1, 1, 2)))]
    machines = _machines(dice, pools)
    daemon_pods = [pod for one in machines for pod in one.run_daemons(sets)]
    workloads = Workloads(dice)
    made = workloads.running(machines, filled=dice.uniform(0.1, 0.6))
    waiting = workloads.waiting() if dice.random() < 0.1 else []
    _limit(dice, pools, machines)
    nodes = [manifest for one in machines for manifest in one.manifests()]
    items = (*pools, *sets, *nodes, *workloads.manifests(), *daemon_pods, *made, *waiting)
    return Cluster(items, dice.random() < 0.4)


def _pool(dice: random.Random, number: int) -> Manifest:
    written = pool(dice, number)
    spec = written["spec"]
    spec.pop("limits", None)
    spec["disruption"] = {
        "consolidationPolicy": dice.choice(_POLICIES),
        "consolidateAfter": "0s" if dice.random() < 0.95 else "Never",
        "budgets": [{"nodes": dice.choice(_BUDGETS)}],
    }
    spec["template"]["spec"]["expireAfter"] = "Never"
    if dice.random() < 0.1:
        least = {**need(INSTANCE_TYPE, "Exists"), "minValues": dice.choice((2, 5, 15))}
        spec["template"]["spec"]["requirements"].append(least)
    return written


def _machines(dice: random.Random, pools: Sequence[Manifest]) -> list[Machine]:
    ways = {one["metadata"]["name"]: _ways(one) for one in pools}
    able = [one for one in pools if ways[one["metadata"]["name"]]]
    machines = []
    for number in range(dice.choice(_SIZES) if able else 0):
        of = dice.choice(able)
        way = dice.choice(ways[of["metadata"]["name"]])
        machines.append(Machine.of_way(f"node-{number:02}", of, way))
    for one in machines:
        drawn = dice.random()
        one.keep = drawn < 0.03
        one.initialized = not 0.03 <= drawn < 0.06
        one.consolidatable = not 0.06 <= drawn < 0.11
        one.managed = not 0.11 <= drawn < 0.15
        one.volumes = 2 if 0.15 <= drawn < 0.2 else None
    return machines


def _ways(written: Manifest) -> list[Way]:
    """Return what nodes of a pool may be like, of a middling size."""
    read = Pool.of(written).new_node("a node", types(), {})
    return [way for way in read.ways if 2 <= int(way.labels[CPU]) <= 32]


def _limit(dice: random.Random, pools: Sequence[Manifest], machines: Sequence[Machine]) -> None:
    """Give some pools a limit, which leaves them room for little more than they have."""
    for one in pools:
        if dice.random() < 0.15:
            used = sum(m.cpus for m in machines if m.pool == one["metadata"]["name"])
            one["spec"]["limits"] = {"cpu": str(used + dice.choice((0, 4, 32)))}
