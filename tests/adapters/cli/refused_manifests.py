"""What pods that go nowhere, and the clusters in which they do not, are written with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from tests.scenarios.manifests import Manifest, need
from treenail.domain.packing.refusal_reasons import Reason

ZONE: Final = "topology.kubernetes.io/zone"
WAY: Final = "karpenter.sh/capacity-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
BUILD: Final = "node.kubernetes.io/windows-build"
TYPE: Final = "node.kubernetes.io/instance-type"
HOST: Final = "kubernetes.io/hostname"
CPU: Final = "karpenter.kwok.sh/instance-cpu"
FAMILY: Final = "karpenter.kwok.sh/instance-family"
GPU: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Case:
    """Manifests of which some pods go nowhere.

    `reason` is the nearest one, `about` what it is about where that is looked at. `curable` says that a
    change of a pod or a pool would help; none does where what is missing is not in their manifests.
    """

    name: str
    reason: Reason
    manifests: tuple[Manifest, ...]
    about: str = ""
    curable: bool = True


# --- a small catalogue

_EVERYWHERE: Final = tuple(product(("a", "b", "c"), ("spot", "on-demand")))


def _type(
    name: str,
    cpu: int,
    memory: int,
    *,
    arch: str = "amd64",
    system: str = "linux",
    sold: Sequence[tuple[str, str]] = _EVERYWHERE,
    available: bool = True,
    more: Mapping[str, str] | None = None,
) -> dict[str, object]:
    return {
        "name": name,
        "architecture": arch,
        "operatingSystems": [system],
        "resources": {
            "cpu": str(cpu),
            "memory": f"{memory}Gi",
            "ephemeral-storage": "20Gi",
            "pods": "32",
            **(more or {}),
        },
        "offerings": [
            {
                "Price": cpu * (0.01 if way == "spot" else 0.04),
                "Available": available,
                "Requirements": [need(ZONE, f"zone-{zone}"), need(WAY, way)],
            }
            for zone, way in sold
        ],
    }


CATALOGUE: Final = (
    _type("c-2x", 2, 4),
    _type("c-4x", 4, 8),
    _type("c-16x", 16, 32),
    _type("m-8x", 8, 64),
    _type("a-4x", 4, 8, arch="arm64"),
    _type("w-4x", 4, 16, system="windows"),
    _type("g-4x", 4, 16, sold=(("b", "on-demand"),), more={GPU: "1"}),
    _type("r-8x", 8, 128, available=False),
    _type("s-4x", 4, 2, sold=(("a", "spot"), ("b", "on-demand")), available=False),
    _type("t-4x", 4, 2, sold=(("a", "spot"), ("b", "on-demand"))),
)


# --- manifests in a few words


def pool(
    name: str = "default",
    *requirements: dict[str, object],
    taints: Sequence[Mapping[str, str]] = (),
    limits: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """A pool of amd64 and linux in zones a and b, as far as `requirements` say nothing else of these."""
    usual = (need(ARCH, "amd64"), need(OS, "linux"), need(ZONE, "zone-a", "zone-b"))
    said = {requirement["key"] for requirement in requirements}
    spec: Manifest = {
        "template": {
            "metadata": {"labels": dict(labels or {})},
            "spec": {
                "requirements": [*requirements, *(u for u in usual if u["key"] not in said)],
                "taints": [dict(taint) for taint in taints],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            },
        },
        **({"limits": dict(limits)} if limits is not None else {}),
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def pod(
    requests: Mapping[str, str] | None = None,
    *,
    name: str = "refused",
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    container = {"name": "app", "resources": {"requests": dict(requests or {"cpu": "1"})}}
    meta = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], **spec},
    }


def selecting(**selector: str) -> Manifest:
    """A pod with a node selector; underscores stand for the names above."""
    return pod(nodeSelector={globals().get(key, key): value for key, value in selector.items()})


def requiring(*terms: Sequence[dict[str, object]], selector: Mapping[str, str] | None = None) -> Manifest:
    alternatives = [{"matchExpressions": list(term)} for term in terms]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": alternatives}}
    return pod(affinity={"nodeAffinity": required}, nodeSelector=dict(selector or {}))


def on_node(name: str) -> Manifest:
    fields = [{"matchFields": [need("metadata.name", name)]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}
    return pod(affinity={"nodeAffinity": required})


def node(
    name: str = "worn",
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> Manifest:
    has = {"cpu": cpu, "memory": memory, "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def daemon_set(requests: Mapping[str, str], **spec: Any) -> Manifest:
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": pod(requests, **spec)["spec"],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
