"""Extended scenarios: every constraint of pods and pools, few of each, so that they meet each other."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.extended.nodes import node_with_pods
from tests.fuzz.extended.pools import daemons, pool
from tests.fuzz.extended.storage import Storage
from tests.fuzz.extended.workloads import workload
from tests.fuzz.manifests import Manifest

NAMESPACES: Final = {"default": "web", "blue": "web", "green": "data"}


def extended(seed: int) -> list[Manifest]:
    """Return the manifests of one scenario; equal seeds give equal ones."""
    dice = random.Random(f"extended {seed}")
    storage = Storage(dice)
    pools = dice.randint(1, 4)
    items = [_namespace(name, stage) for name, stage in NAMESPACES.items()]
    items += [pool(dice, n) for n in range(pools)]
    items += [daemons(dice, n) for n in range(dice.choice((0, 1, 1, 2)))]
    for n in range(dice.choice((0, 0, 1, 2, 4))):
        items += node_with_pods(dice, n, pools, storage)
    for n in range(dice.randint(2, 9)):
        items += workload(dice, n, storage)
    return [*items, *storage.manifests()]


def _namespace(name: str, stage: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"stage": stage}}}
