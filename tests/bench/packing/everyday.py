"""Everyday workloads in an open pool with what EC2 sells in us-east-1: which nodes are bought for them.

    python -m tests.bench.packing everyday

Writes the table into docs/packing.md. It is to be looked at by eye: is there anything nobody would run?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.embed.simulation import ShippedCatalogues, Simulation
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Packing, PackingSettings

Manifest: TypeAlias = dict[str, Any]

PAGE: Final = Path(__file__).parents[3] / "docs/packing.md"
_MARKED: Final = re.compile(r"(<!-- everyday -->\n).*?(<!-- /everyday -->)", re.DOTALL)
_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_HEADINGS: Final = (
    "workload",
    "nodes",
    "which",
    "$/h",
    "in all",
    "first-fit's nodes",
    "which",
    "$/h",
    "in all",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What waits, as manifests, and what its pool says beside being open to all that is sold on demand."""

    waiting: tuple[Manifest, ...]
    ways: tuple[str, ...] = ("on-demand",)
    ami: str = "al2023@latest"
    limits: Mapping[str, str] = field(default_factory=dict)


def deployment(name: str, pods: int, cpu: str, memory: str, **spec: Any) -> Manifest:
    """Return a Deployment; requests beside cpu and memory stand in `spec` as "more"."""
    labels = {"app": name}
    requests = {"cpu": cpu, "memory": memory, **spec.pop("more", {})}
    limits = {key: value for key, value in requests.items() if "/" in key}
    container = {"name": "c", "image": "pause", "resources": {"requests": requests, "limits": limits}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": pods, "selector": {"matchLabels": labels}, "template": template},
    }


def daemon(name: str, cpu: str, memory: str) -> Manifest:
    made = deployment(name, 1, cpu, memory)
    del made["spec"]["replicas"]
    return {**made, "kind": "DaemonSet"}


def spread_over_zones(name: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    return {"topologySpreadConstraints": [constraint]}


def each_on_a_node(name: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": _HOST}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def on_arch(arch: str) -> dict[str, Any]:
    return {"nodeSelector": {"kubernetes.io/arch": arch}}


_AGENTS: Final = (
    daemon("aws-node", "50m", "120Mi"),
    daemon("kube-proxy", "100m", "60Mi"),
    daemon("logs", "100m", "200Mi"),
    daemon("metrics", "50m", "100Mi"),
)
_GPU: Final = {"nvidia.com/gpu": "1"}

WORKLOADS: Final[Mapping[str, Workload]] = {
    "1 pod of 250m, 512Mi": Workload(waiting=(deployment("one", 1, "250m", "512Mi"),)),
    "10 pods of 1, 1Gi": Workload(waiting=(deployment("web", 10, "1", "1Gi"),)),
    "100 pods of 100m, 128Mi": Workload(waiting=(deployment("web", 100, "100m", "128Mi"),)),
    "100 pods of 1, 2Gi": Workload(waiting=(deployment("web", 100, "1", "2Gi"),)),
    "200 pods of 1, 1Gi": Workload(waiting=(deployment("web", 200, "1", "1Gi"),)),
    "10 pods of 14, 50Gi": Workload(waiting=(deployment("large", 10, "14", "50Gi"),)),
    "60 of 250m, 512Mi; 20 of 1, 4Gi; 5 of 4, 16Gi": Workload(
        waiting=(
            deployment("small", 60, "250m", "512Mi"),
            deployment("middle", 20, "1", "4Gi"),
            deployment("large", 5, "4", "16Gi"),
        )
    ),
    "1 pod of 90, 300Gi": Workload(waiting=(deployment("huge", 1, "90", "300Gi"),)),
    "60 jobs of 3500m, 6Gi": Workload(waiting=(deployment("jobs", 60, "3500m", "6Gi"),)),
    "20 pods of 1, 30Gi": Workload(waiting=(deployment("cache", 20, "1", "30Gi"),)),
    "30 pods of 500m, 1Gi, spread over zones": Workload(
        waiting=(deployment("web", 30, "500m", "1Gi", **spread_over_zones("web")),)
    ),
    "6 of 2, 8Gi, each on a node of its own; 40 of 500m, 1Gi": Workload(
        waiting=(
            deployment("store", 6, "2", "8Gi", **each_on_a_node("store")),
            deployment("web", 40, "500m", "1Gi"),
        )
    ),
    "50 pods of 500m, 1Gi; 4 daemons of 300m, 480Mi together": Workload(
        waiting=(deployment("web", 50, "500m", "1Gi"), *_AGENTS)
    ),
    "4 pods of 4, 16Gi and a GPU": Workload(waiting=(deployment("model", 4, "4", "16Gi", more=_GPU),)),
    "20 of 1, 2Gi on arm64; 20 of 1, 2Gi on amd64": Workload(
        waiting=(
            deployment("arm", 20, "1", "2Gi", **on_arch("arm64")),
            deployment("amd", 20, "1", "2Gi", **on_arch("amd64")),
        )
    ),
    "50 pods of 1, 4Gi, spot or on demand": Workload(
        waiting=(deployment("web", 50, "1", "4Gi"),), ways=("spot", "on-demand")
    ),
    "1 pod of 10m, 32Mi": Workload(waiting=(deployment("tiny", 1, "10m", "32Mi"),)),
    "1,000 pods of 50m, 64Mi": Workload(waiting=(deployment("tiny", 1000, "50m", "64Mi"),)),
    "300 pods of 2, 4Gi": Workload(waiting=(deployment("web", 300, "2", "4Gi"),)),
    "20 jobs of 8, 2Gi": Workload(waiting=(deployment("jobs", 20, "8", "2Gi"),)),
    "1 pod of 2, 3000Gi": Workload(waiting=(deployment("memory", 1, "2", "3000Gi"),)),
    "100 pods of 100m, 128Mi, each on a node of its own": Workload(
        waiting=(deployment("web", 100, "100m", "128Mi", **each_on_a_node("web")),)
    ),
    "100 pods of 1, 2Gi, spread over zones": Workload(
        waiting=(deployment("web", 100, "1", "2Gi", **spread_over_zones("web")),)
    ),
    "3 of 4, 32Gi, in three zones and on nodes of their own; 30 of 500m, 1Gi": Workload(
        waiting=(
            deployment("kafka", 3, "4", "32Gi", **spread_over_zones("kafka"), **each_on_a_node("kafka")),
            deployment("web", 30, "500m", "1Gi"),
        )
    ),
    "30 pods of 1, 2Gi; 10 daemons of 500m, 1Gi each": Workload(
        waiting=(
            *(daemon(f"agent-{number}", "500m", "1Gi") for number in range(10)),
            deployment("web", 30, "1", "2Gi"),
        )
    ),
    "1 pod of 32, 200Gi and 8 GPUs": Workload(
        waiting=(deployment("model", 1, "32", "200Gi", more={"nvidia.com/gpu": "8"}),)
    ),
    "2 pods of 4, 16Gi and a GPU; 50 of 1, 2Gi": Workload(
        waiting=(deployment("model", 2, "4", "16Gi", more=_GPU), deployment("web", 50, "1", "2Gi"))
    ),
    "20 pods of 500m, 1Gi, on spot": Workload(
        waiting=(deployment("web", 20, "500m", "1Gi"),), ways=("spot",)
    ),
    "200 pods of 1, 4Gi, spot or on demand": Workload(
        waiting=(deployment("web", 200, "1", "4Gi"),), ways=("spot", "on-demand")
    ),
    "10 pods of 1, 2Gi on Windows": Workload(
        waiting=(deployment("web", 10, "1", "2Gi", nodeSelector={"kubernetes.io/os": "windows"}),),
        ami="windows2022@latest",
    ),
    "40 pods of 1, 2Gi, where 48 CPUs are the limit": Workload(
        waiting=(deployment("web", 40, "1", "2Gi"),), limits={"cpu": "48"}
    ),
}


def table() -> str:
    """Return the table in Markdown."""
    lines = [_HEADINGS, ["---"] * len(_HEADINGS)]
    for name in WORKLOADS:
        ours, classic = (decided(name, packing) for packing in Packing)
        lines.append((name, *_figures(ours), *_figures(classic)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@cache
def decided(name: str, packing: Packing) -> PackingPlan:
    """Return the plan for a workload, with the spot prices of seed 0."""
    workload = WORKLOADS[name]
    items = [*_open_pool(workload), *workload.waiting]
    manifests = parse_manifests(yaml.safe_dump_all(items).encode(), "everyday")
    simulation = Simulation(
        # New each time: its EC2 would come to throttle so many questions at one instant.
        decode_all(manifests),
        ShippedCatalogues(seed=0),
        PackingSettings(packing=packing),
        manifests=manifests,
    )
    simulation.decide()
    return simulation.plan


def written_into(page: str) -> str:
    """Return the text of a page with the table as it is now."""
    return _MARKED.sub(lambda found: found[1] + table() + found[2], page)


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(written_into(PAGE.read_text()))


def _figures(plan: PackingPlan) -> tuple[str, str, str, str]:
    types = Counter(claim.instance_types[0] for claim in plan.claims)
    which = ", ".join(f"{count} {name}" for name, count in sorted(types.items()))
    return str(len(plan.claims)), which, f"{plan.cost:.3f}", f"{plan.whole_cost:.3f}"


def _open_pool(workload: Workload) -> tuple[Manifest, Manifest]:
    tags = [{"tags": {"karpenter.sh/discovery": "demo"}}]
    ways = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": list(workload.ways)}
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": node_class, "requirements": [ways]}}
    limits = {"limits": dict(workload.limits)} if workload.limits else {}
    return (
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "default"},
            "spec": {"template": template, **limits},
        },
        {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "default"},
            "spec": {
                "amiSelectorTerms": [{"alias": workload.ami}],
                "role": "node",
                "subnetSelectorTerms": tags,
                "securityGroupSelectorTerms": tags,
            },
        },
    )
