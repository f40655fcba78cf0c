"""Plain scenarios: pools, daemons, nodes and Deployments' pods, with the constraints that most people use."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.manifests import (
    ARCH,
    CAPACITY_TYPE,
    CPU,
    FAMILY,
    HOSTNAME,
    OS,
    PREFERRED,
    REQUIRED,
    TEAM,
    ZONE,
    Manifest,
    bound_pod,
    container,
    daemon_set,
    need,
    node,
    node_pool,
    pod,
)

ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
ARCHITECTURES: Final = ("amd64", "arm64")
CPUS: Final = (50, 100, 250, 500, 900, 1500, 3000, 7000)
MEMORY: Final = (64, 128, 400, 1000, 2500, 6000, 14000)
EVERYTHING: Final = {"operator": "Exists"}
DEDICATED_TO_X: Final = {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"}


def plain(seed: int) -> list[Manifest]:
    """Return the manifests of one scenario; equal seeds give equal ones."""
    dice = random.Random(seed)
    items = [pool(dice, n) for n in range(dice.randint(1, 4))]
    items += [daemons(dice, n) for n in range(dice.choice((0, 0, 1, 2)))]
    for n in range(dice.choice((0, 0, 2, 4))):
        items += node_with_pods(dice, n)
    for n in range(dice.randint(2, 14)):
        items += workload(dice, n)
    return items


def pool(dice: random.Random, number: int) -> Manifest:
    requirements = [need(OS, "In", "linux")]
    if dice.random() < 0.7:
        requirements.append(need(ARCH, "In", dice.choice(ARCHITECTURES)))
    if dice.random() < 0.5:
        ways = dice.choice((["spot"], ["on-demand"], ["spot", "on-demand"]))
        requirements.append(need(CAPACITY_TYPE, "In", *ways))
    if dice.random() < 0.3:
        requirements.append(need(ZONE, dice.choice(("In", "NotIn")), *dice.sample(ZONES, 2)))
    if dice.random() < 0.4:
        requirements.append(need(FAMILY, "In", *dice.sample(("c", "s", "m"), dice.randint(1, 2))))
    if dice.random() < 0.4:
        requirements.append(need(CPU, "Lt", dice.choice((9, 17, 33, 65))))
    if dice.random() < 0.2:
        requirements.append(need(CPU, "Gt", dice.choice((1, 3))))
    written = node_pool(f"pool-{number}", requirements, {TEAM: dice.choice("ab")})
    if dice.random() < 0.5:
        written["spec"]["weight"] = dice.randint(1, 100)
    if dice.random() < 0.3:
        taint = {"key": "dedicated", "value": dice.choice("xy"), "effect": "NoSchedule"}
        written["spec"]["template"]["spec"]["taints"] = [taint]
    if dice.random() < 0.25:
        written["spec"]["limits"] = {"cpu": str(dice.choice((16, 64, 256)))}
    return written


def daemons(dice: random.Random, number: int) -> Manifest:
    spec: Manifest = {}
    if dice.random() < 0.6:
        spec["tolerations"] = [EVERYTHING]
    if dice.random() < 0.3:
        spec["nodeSelector"] = {ARCH: "amd64"}
    spec["containers"] = [container({"cpu": f"{dice.choice((50, 200))}m", "memory": "100Mi"}, name="d")]
    return daemon_set(f"ds-{number}", {"ds": str(number)}, spec)


def node_with_pods(dice: random.Random, number: int) -> list[Manifest]:
    name, cpus = f"node-{number}", dice.choice((4, 8, 16))
    labels = {
        ZONE: dice.choice(ZONES),
        ARCH: dice.choice(ARCHITECTURES),
        OS: "linux",
        HOSTNAME: name,
        TEAM: dice.choice("ab"),
        CAPACITY_TYPE: "on-demand",
    }
    items = [node(name, labels, {"cpu": str(cpus), "memory": f"{cpus * 4}Gi", "pods": "30"})]
    for n in range(dice.randint(0, 3)):
        spec = {"containers": [container({"cpu": "500m", "memory": "1Gi"})]}
        app = {"app": f"app-{dice.randint(0, 5)}"}
        items.append(bound_pod(f"bound-{number}-{n}", app, spec, node=name))
    return items


def workload(dice: random.Random, number: int) -> list[Manifest]:
    """Return the pods of one application: up to twenty that are all alike."""
    labels = {"app": f"app-{number}"}
    requests = {"cpu": f"{dice.choice(CPUS)}m", "memory": f"{dice.choice(MEMORY)}Mi"}
    spec: Manifest = {"containers": [container(requests)]}
    _select_nodes(dice, spec)
    affinity = _node_affinity(dice)
    _spread(dice, spec, labels)
    affinity |= _pod_affinity(dice, labels)
    if affinity:
        spec["affinity"] = affinity
    if dice.random() < 0.35:
        spec["tolerations"] = [dice.choice((EVERYTHING, DEDICATED_TO_X))]
    if dice.random() < 0.05:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    return [pod(f"app-{number}-{n}", labels, spec) for n in range(dice.choice((1, 2, 3, 5, 8, 20)))]


def _select_nodes(dice: random.Random, spec: Manifest) -> None:
    selector: dict[str, str] = {}
    if dice.random() < 0.2:
        selector = {dice.choice((ARCH,)): dice.choice(ARCHITECTURES)}
    if dice.random() < 0.15:
        selector[TEAM] = dice.choice("abc")
    if dice.random() < 0.15:
        selector[CAPACITY_TYPE] = dice.choice(("spot", "on-demand"))
    if selector:
        spec["nodeSelector"] = selector


def _node_affinity(dice: random.Random) -> Manifest:
    affinity: Manifest = {}
    if dice.random() < 0.25:
        terms = [{"matchExpressions": [_demand(dice)]} for _ in range(dice.randint(1, 2))]
        affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    if dice.random() < 0.2:
        weight = dice.randint(1, 100)
        wish = need(ZONE, "In", dice.choice((*ZONES, "nowhere")))
        affinity[PREFERRED] = [{"weight": weight, "preference": {"matchExpressions": [wish]}}]
    return {"nodeAffinity": affinity} if affinity else {}


def _demand(dice: random.Random) -> Manifest:
    return dice.choice(
        (
            need(ZONE, "In", *dice.sample(ZONES, 2)),
            need(CPU, "Gt", dice.choice((3, 7))),
            need(FAMILY, "NotIn", "c"),
            need(ARCH, "NotIn", "arm64"),
            need("example.com/gpu", "DoesNotExist"),
        )
    )


def _spread(dice: random.Random, spec: Manifest, labels: dict[str, str]) -> None:
    if dice.random() < 0.3:
        constraint = {
            "maxSkew": dice.randint(1, 2),
            "topologyKey": dice.choice((ZONE, HOSTNAME, CAPACITY_TYPE)),
            "whenUnsatisfiable": dice.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": labels},
        }
        spec["topologySpreadConstraints"] = [constraint]


def _pod_affinity(dice: random.Random, labels: dict[str, str]) -> Manifest:
    """Return terms about the application's own pods: apart by node, together, or apart by zone."""
    drawn = dice.random()
    if drawn < 0.12:
        kind, key = "podAntiAffinity", HOSTNAME
    elif drawn < 0.18:
        kind, key = "podAffinity", dice.choice((ZONE, HOSTNAME))
    elif drawn < 0.22:
        kind, key = "podAntiAffinity", ZONE
    else:
        return {}
    return {kind: {REQUIRED: [{"labelSelector": {"matchLabels": labels}, "topologyKey": key}]}}
