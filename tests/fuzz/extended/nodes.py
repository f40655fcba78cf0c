"""Nodes that are there: tainted or not, of a pool or not, with pods that have rules, ports and volumes."""

from __future__ import annotations

import random

from tests.fuzz import plain
from tests.fuzz.extended.between_pods import term
from tests.fuzz.extended.pools import RACKS
from tests.fuzz.extended.storage import Storage
from tests.fuzz.manifests import (
    ARCH,
    CAPACITY_TYPE,
    GENERATION,
    HOSTNAME,
    INSTANCE_TYPE,
    OS,
    POOL,
    RACK,
    REQUIRED,
    TEAM,
    ZONE,
    Manifest,
    bound_pod,
    container,
    node,
)


def node_with_pods(dice: random.Random, number: int, pools: int, storage: Storage) -> list[Manifest]:
    """Return a node and what is bound to it; how many volumes it can hold is said to `storage`."""
    name, cpus = f"node-{number}", dice.choice((4, 8, 16))
    labels = {
        ZONE: dice.choice(plain.ZONES),
        ARCH: dice.choice(plain.ARCHITECTURES),
        OS: "linux",
        HOSTNAME: name,
        TEAM: dice.choice("ab"),
        CAPACITY_TYPE: dice.choice(("on-demand", "spot")),
    }
    if dice.random() < 0.3:
        labels[RACK] = dice.choice((*RACKS, "r9"))
    if dice.random() < 0.3:
        labels[GENERATION] = str(dice.randint(1, 5))
    if dice.random() < 0.3:
        labels |= {
            POOL: f"pool-{dice.randrange(pools)}",
            INSTANCE_TYPE: f"s-{cpus}x-{labels[ARCH]}-linux",
            "karpenter.sh/registered": "true",
            "karpenter.sh/initialized": "true",
        }
    existing_node = {"cpu": str(cpus), "memory": f"{cpus * 4}Gi", "pods": "30", "ephemeral-storage": "20Gi"}
    if dice.random() < 0.2:
        existing_node["example.com/widget"] = "2"
    items = [node(name, labels, existing_node, _taints(dice))]
    items[0].setdefault("spec", {})["providerID"] = f"kwok:///{name}"
    if dice.random() < 0.4:
        storage.limit(name, dice.randint(1, 4))
    for n in range(dice.randint(0, 3)):
        items.append(_bound(dice, f"bound-{number}-{n}", items[0], storage))
    return items


def _taints(dice: random.Random) -> list[Manifest]:
    drawn = dice.random()
    if drawn < 0.1:
        return [{"key": "dedicated", "value": dice.choice("xy"), "effect": "NoSchedule"}]
    if drawn < 0.2:
        return [{"key": "crowded", "value": dice.choice("xy"), "effect": "PreferNoSchedule"}]
    return []


def _bound(dice: random.Random, name: str, on: Manifest, storage: Storage) -> Manifest:
    labels = {"app": f"app-{dice.randrange(9)}", "tier": dice.choice("pq")}
    spec: Manifest = {"containers": [container({"cpu": "500m", "memory": "1Gi"})]}
    namespace = dice.choice(("default", "default", "blue", "green"))
    if dice.random() < 0.2:
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term(dice, labels)]}}
    if dice.random() < 0.15:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    if dice.random() < 0.3:
        claim = f"{name}-data"
        storage.claim(claim, namespace, "bound", on["metadata"]["labels"][ZONE])
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return bound_pod(name, labels, spec, node=on["metadata"]["name"], namespace=namespace)
