"""What runs in a storm: some workloads ask for nothing but room, others go by where pods are."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from treenail.domain.model import labels

Manifest: TypeAlias = dict[str, Any]

PLAIN: Final = ("api", "web", "job")
_CHOOSY: Final = ("apart", "db", "even", "near")
_STORAGE_CLASS: Final[Manifest] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
_CLAIM: Final[Manifest] = {
    "metadata": {"name": "data"},
    "spec": {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


def kind_of(name: str) -> str:
    """Return of which kind a workload is."""
    return "StatefulSet" if name == "db" else "Deployment"


def draw_names(dice: random.Random) -> tuple[str, ...]:
    """Return the names of a storm's workloads."""
    return (*PLAIN, *sorted(dice.sample(_CHOOSY, 2)))


def workloads(names: Iterable[str], dice: random.Random) -> str:
    """Return the manifests of these workloads, as YAML text."""
    made = [_workload(name, dice) for name in names]
    return "\n---\n".join(json.dumps(manifest) for manifest in (_STORAGE_CLASS, *made))


def _workload(name: str, dice: random.Random) -> Manifest:
    requests = {"cpu": dice.choice(("250m", "1", "1500m")), "memory": dice.choice(("256Mi", "2Gi"))}
    container: Manifest = {"name": "c", "image": "pause", "resources": {"requests": requests}}
    pod: Manifest = {"terminationGracePeriodSeconds": 5, "containers": [container]}
    spec: Manifest = {
        "replicas": dice.randint(0, 8 if name in PLAIN else 4),
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }
    match name:
        case "even":
            pod["topologySpreadConstraints"] = _spread(name, dice)
        case "apart" if dice.random() < 0.3:
            container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        case "apart":
            pod["affinity"] = _affinity("podAntiAffinity", dice.choice((name, name, "web")), dice)
        case "near":
            pod["affinity"] = _affinity("podAffinity", dice.choice((name, "api")), dice)
        case "db":
            spec["volumeClaimTemplates"] = [_CLAIM]
            pod["topologySpreadConstraints"] = _spread(name, dice) if dice.random() < 0.5 else []
    return {"apiVersion": "apps/v1", "kind": kind_of(name), "metadata": {"name": name}, "spec": spec}


def _spread(name: str, dice: random.Random) -> list[Manifest]:
    zonal = _constraint(name, labels.ZONE, dice)
    least = dice.choice((None, 2, 3))
    if least is not None:
        zonal["minDomains"] = least
    level = _constraint(name, labels.HOSTNAME, dice)
    return dice.choice(([zonal], [level], [zonal, level]))


def _constraint(name: str, key: str, dice: random.Random) -> Manifest:
    return {
        "maxSkew": dice.choice((1, 1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }


def _affinity(kind: str, app: str, dice: random.Random) -> Manifest:
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": dice.choice((labels.ZONE, labels.HOSTNAME)),
    }
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
