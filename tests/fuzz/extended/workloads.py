"""Applications whose pods ask for anything a pod may ask for."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz import plain
from tests.fuzz.extended.between_pods import pod_affinity, spread
from tests.fuzz.extended.pools import RACKS
from tests.fuzz.extended.storage import Storage
from tests.fuzz.manifests import (
    ARCH,
    CAPACITY_TYPE,
    CPU,
    FAMILY,
    GENERATION,
    PREFERRED,
    RACK,
    REQUIRED,
    SHARD,
    TEAM,
    ZONE,
    Manifest,
    container,
    need,
    pod,
)

_TOLERATIONS: Final = (
    plain.EVERYTHING,
    plain.DEDICATED_TO_X,
    {"key": "dedicated", "operator": "Exists"},
    {"key": "crowded", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"operator": "Exists", "effect": "NoSchedule"},
)


def workload(dice: random.Random, number: int, storage: Storage) -> list[Manifest]:
    """Return the pods of one application; what their volumes need is made in `storage`."""
    labels = {"app": f"app-{number}", "tier": dice.choice("pq")}
    if dice.random() < 0.4:
        labels["version"] = dice.choice(("1", "2"))
    namespace = dice.choice(("default", "default", "blue", "green"))
    spec = _spec(dice, labels)
    volumes = storage.kind() if dice.random() < 0.25 else ""
    form = dice.choice(("own", "own", "shared", "ephemeral"))
    if volumes and form == "shared":
        storage.claim(f"app-{number}", namespace, volumes)
    items = []
    for n in range(dice.choice((1, 2, 3, 5, 8))):
        one, name = dict(spec), f"app-{number}-{n}"
        if volumes:
            one["volumes"] = [_volume(form, name, f"app-{number}")]
            if form != "shared":
                claim = name if form == "own" else f"{name}-data"
                storage.claim(claim, namespace, volumes)
        items.append(pod(name, labels, one, namespace=namespace))
    return items


def _volume(form: str, name: str, app: str) -> Manifest:
    if form == "ephemeral":
        asked = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "waiting",
        }
        return {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": asked}}}
    claim = app if form == "shared" else name
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


def _spec(dice: random.Random, labels: dict[str, str]) -> Manifest:
    spec: Manifest = {"containers": [container(_requests(dice))]}
    _more_containers(dice, spec)
    _select_nodes(dice, spec)
    affinity = {**_node_affinity(dice), **pod_affinity(dice, labels)}
    if affinity:
        spec["affinity"] = affinity
    constraints = spread(dice, labels)
    if constraints:
        spec["topologySpreadConstraints"] = constraints
    if dice.random() < 0.4:
        spec["tolerations"] = [dice.choice(_TOLERATIONS)]
    if dice.random() < 0.12:
        spec["containers"][0]["ports"] = [_port(dice)]
    if dice.random() < 0.2:
        spec["priority"] = dice.choice((-10, 1000))
    return spec


def _requests(dice: random.Random) -> dict[str, str]:
    requests = {"cpu": f"{dice.choice(plain.CPUS)}m", "memory": f"{dice.choice(plain.MEMORY)}Mi"}
    if dice.random() < 0.05:
        requests["example.com/widget"] = "1"
    if dice.random() < 0.1:
        requests["ephemeral-storage"] = f"{dice.choice((1, 6))}Gi"
    return requests


def _more_containers(dice: random.Random, spec: Manifest) -> None:
    if dice.random() < 0.15:
        spec["initContainers"] = [container({"cpu": "2", "memory": "256Mi"}, name="init")]
    if dice.random() < 0.1:
        sidecar = container({"cpu": "150m", "memory": "64Mi"}, name="sidecar", restartPolicy="Always")
        spec.setdefault("initContainers", []).insert(dice.randint(0, 1), sidecar)
    if dice.random() < 0.1:
        spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}


def _select_nodes(dice: random.Random, spec: Manifest) -> None:
    selector: dict[str, str] = {}
    if dice.random() < 0.15:
        selector[ARCH] = dice.choice(plain.ARCHITECTURES)
    if dice.random() < 0.1:
        selector[TEAM] = dice.choice("abc")
    if dice.random() < 0.1:
        selector[CAPACITY_TYPE] = dice.choice(("spot", "on-demand"))
    if dice.random() < 0.08:
        selector[RACK] = dice.choice(RACKS)
    if selector:
        spec["nodeSelector"] = selector


def _node_affinity(dice: random.Random) -> Manifest:
    affinity: Manifest = {}
    if dice.random() < 0.3:
        terms = [
            {"matchExpressions": [_demand(dice) for _ in range(dice.choice((1, 1, 2)))]}
            for _ in range(dice.choice((1, 1, 1, 2, 3)))
        ]
        affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    if dice.random() < 0.25:
        affinity[PREFERRED] = [
            {"weight": dice.randint(1, 100), "preference": {"matchExpressions": [_demand(dice)]}}
            for _ in range(dice.randint(1, 2))
        ]
    return {"nodeAffinity": affinity} if affinity else {}


def _demand(dice: random.Random) -> Manifest:
    return dice.choice(
        (
            need(ZONE, "In", *dice.sample(plain.ZONES, 2)),
            need(ZONE, "NotIn", dice.choice(plain.ZONES)),
            need(CPU, "Gt", dice.choice((3, 7))),
            need(FAMILY, "NotIn", "c"),
            need(ARCH, "NotIn", "arm64"),
            need("example.com/gpu", "DoesNotExist"),
            need(GENERATION, "Gt", dice.randint(1, 3)),
            need(GENERATION, "Exists"),
            need(RACK, "In", *dice.sample(RACKS, 2)),
            need(TEAM, "NotIn", dice.choice("ab")),
            need(SHARD, "Exists"),
        )
    )


def _port(dice: random.Random) -> Manifest:
    port: Manifest = {"containerPort": 80, "hostPort": dice.choice((8080, 9100))}
    if dice.random() < 0.3:
        port["protocol"] = "UDP"
    if dice.random() < 0.3:
        port["hostIP"] = dice.choice(("10.0.0.1", "10.0.0.2"))
    return port
