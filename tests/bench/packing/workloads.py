"""What is packed: pods, and where they may go, as manifests that both sides read.

Equal seeds give equal ones. The first four draw pods as Karpenter's own benchmark does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Manifest: TypeAlias = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
CPUS: Final = (100, 250, 500, 1000, 1500)
MEMORY: Final = (100, 256, 512, 1024, 2048, 4096)
LABELS: Final = "abcdefg"
NGINX: Final = {"app": "nginx"}
_TEMPLATES: Final = 20


def manifests(name: str, pods: int, seed: int) -> Manifest:
    """Return a List with one NodePool and so many pods of a workload.

    Raises:
        KeyError: there is no such workload.
    """
    return {"apiVersion": "v1", "kind": "List", "items": [node_pool(), *WORKLOADS[name](pods, Draw(seed))]}


class Draw:
    """Draws what differs between pods."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self._number = 0

    def label(self) -> str:
        return self.dice.choice(LABELS)

    def requests(self) -> dict[str, str]:
        return {"cpu": f"{self.dice.choice(CPUS)}m", "memory": f"{self.dice.choice(MEMORY)}Mi"}

    def pod(self, labels: Mapping[str, str], spec: Mapping[str, object] | None = None) -> Manifest:
        """Return the next pod, of any size."""
        self._number += 1
        return pod(f"p{self._number:06d}", labels, self.requests(), spec or {})


# --- workloads


def generic(pods: int, draw: Draw) -> list[Manifest]:
    """Pods that go anywhere."""
    return [_generic(draw) for _ in range(pods)]


def diverse(pods: int, draw: Draw) -> list[Manifest]:
    """A fifth each: anywhere, spread over zones, over hosts, near their likes, away from their likes."""
    fifth = pods // 5
    made = [_generic(draw) for _ in range(fifth)]
    made += [_spread(draw, ZONE) for _ in range(fifth)]
    made += [_spread(draw, HOSTNAME) for _ in range(fifth)]
    made += [_near(draw, ZONE) for _ in range(fifth)]
    made += [_apart(draw, HOSTNAME) for _ in range(fifth)]
    return made + [_generic(draw) for _ in range(pods - len(made))]


def replicas(pods: int, draw: Draw) -> list[Manifest]:
    """Replicas of twenty templates, without any wish."""
    sizes = [draw.requests() for _ in range(_TEMPLATES)]
    made = []
    for number in range(pods):
        copy, template = divmod(number, _TEMPLATES)
        name = f"d{template:02d}-{copy:05d}"
        made.append(pod(name, {"app": f"d{template}"}, sizes[template], {}))
    return made


def preference(pods: int, draw: Draw) -> list[Manifest]:
    """Pods that would rather be in one zone, and rather away from each other."""
    affinity = {
        "nodeAffinity": {
            PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [_in(ZONE, "test-zone-1")]}}]
        },
        "podAntiAffinity": {
            PREFERRED: [
                {"weight": 10, "podAffinityTerm": _term(NGINX, ZONE)},
                {"weight": 1, "podAffinityTerm": _term(NGINX, HOSTNAME)},
            ]
        },
    }
    return [draw.pod(NGINX, {"affinity": affinity}) for _ in range(pods)]


def deployments(pods: int, draw: Draw) -> list[Manifest]:
    """Two hundred Deployments, some spread over zones, and a tenth as many nodes that are there already.

    On every node one pod runs that takes between a fifth and four fifths of it. There is room for all.
    """
    count, nodes = min(200, pods), pods // 10
    made: list[Manifest] = []
    for number in range(nodes):
        made += _node_in_use(f"node-{number:05d}", draw)
    for number in range(count):
        replicas = pods // count + (number < pods % count)
        made.append(_deployment(f"d{number:03d}", replicas, draw))
    return made


WORKLOADS: Final[Mapping[str, Callable[[int, Draw], list[Manifest]]]] = {
    "generic": generic,
    "replicas": replicas,
    "diverse": diverse,
    "preference": preference,
    "deployments": deployments,
}


# --- kinds of pods

# Karpenter's benchmark draws a pod's label first, then what it asks for of others, then its size.


def _generic(draw: Draw) -> Manifest:
    return draw.pod({"my-label": draw.label()})


def _spread(draw: Draw, over: str) -> Manifest:
    own = {"my-label": draw.label()}
    return draw.pod(own, {"topologySpreadConstraints": [spread({"my-label": draw.label()}, over)]})


def _near(draw: Draw, domain: str) -> Manifest:
    labels = {"my-affinity": draw.label()}
    return draw.pod(labels, {"affinity": {"podAffinity": {REQUIRED: [_term(labels, domain)]}}})


def _apart(draw: Draw, domain: str) -> Manifest:
    return draw.pod(NGINX, {"affinity": {"podAntiAffinity": {REQUIRED: [_term(NGINX, domain)]}}})


# --- manifests


def node_pool() -> Manifest:
    """Return a pool that takes every type, with limits that nothing comes near to."""
    node_class = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    template = {"spec": {"requirements": [], "nodeClassRef": node_class}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": template, "limits": {"cpu": "10000000", "memory": "10000000Gi"}},
    }


def pod(
    name: str, labels: Mapping[str, str], requests: Mapping[str, str], spec: Mapping[str, object]
) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels)},
        "spec": {"containers": [_container(requests)], **spec},
    }


def spread(of: Mapping[str, str], over: str) -> Manifest:
    return {
        "maxSkew": 1,
        "topologyKey": over,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": dict(of)},
    }


def _container(requests: Mapping[str, str]) -> Manifest:
    return {"name": "c", "image": "pause", "resources": {"requests": dict(requests)}}


def _in(key: str, value: str) -> Manifest:
    return {"key": key, "operator": "In", "values": [value]}


def _term(of: Mapping[str, str], domain: str) -> Manifest:
    return {"labelSelector": {"matchLabels": dict(of)}, "topologyKey": domain}


def _deployment(name: str, replicas: int, draw: Draw) -> Manifest:
    labels = {"app": name}
    spec: Manifest = {"containers": [_container(draw.requests())]}
    if draw.dice.random() < 0.3:
        spec["topologySpreadConstraints"] = [spread(labels, ZONE)]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _node_in_use(name: str, draw: Draw) -> list[Manifest]:
    cpus = draw.dice.choice((16, 32, 64))
    used = round(cpus * 1000 * draw.dice.uniform(0.2, 0.8))
    size = {"cpu": str(cpus), "memory": f"{cpus * 4}Gi", "pods": "110"}
    labels = {
        ZONE: draw.dice.choice(("test-zone-1", "test-zone-2", "test-zone-3")),
        HOSTNAME: name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "karpenter.sh/capacity-type": "on-demand",
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"bench:///{name}"},
        "status": {"allocatable": size, "capacity": size},
    }
    requests = {"cpu": f"{used}m", "memory": f"{used * 4}Mi"}
    bound = pod(f"in-{name}", {"app": "tenant"}, requests, {"nodeName": name})
    return [node, {**bound, "status": {"phase": "Running"}}]
