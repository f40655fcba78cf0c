"""What keeps nodes from being consolidated, read from manifests by Karpenter's rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from tests.fuzz.check.catalogue import POOL
from tests.fuzz.check.taints import tolerates
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.machines import INITIALIZED, KEEP
from tests.fuzz.consolidation.steps import moves, nodes_of, pod_key
from tests.fuzz.manifests import Manifest

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_DISRUPTED: Final = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


class Blockers:
    """Tells why a node may not go, and whether it is empty."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = nodes_of(cluster)
        self._pods: defaultdict[str, list[Manifest]] = defaultdict(list)
        for one in cluster.items:
            if one["kind"] == "Pod" and one["spec"].get("nodeName"):
                self._pods[one["spec"]["nodeName"]].append(one)
        self._claims = _of_kind(cluster, "NodeClaim")
        self._pools = _of_kind(cluster, "NodePool")
        self._budgets = [one for one in cluster.items if one["kind"] == "PodDisruptionBudget"]

    def of(self, name: str) -> str:
        """Return why a node may not go, "" where it may."""
        node = self._nodes[name]
        if name not in self._claims or POOL not in node["metadata"]["labels"]:
            return "nobody manages it"
        if INITIALIZED not in node["metadata"]["labels"]:
            return "it is not initialized"
        if node["metadata"].get("annotations", {}).get(KEEP) == "true":
            return "its annotation keeps it"
        conditions = {one["type"] for one in self._claims[name]["status"]["conditions"]}
        if "Consolidatable" not in conditions:
            return "it is not Consolidatable"
        return self._of_pool(name) or self._of_pods(name)

    def receives(self, name: str) -> bool:
        """Return whether running pods may be moved to a node, as `consolidateAfter` is over."""
        if name not in self._claims:
            return True
        pool = self._pools[self._nodes[name]["metadata"]["labels"][POOL]]
        conditions = {one["type"] for one in self._claims[name]["status"]["conditions"]}
        return "Consolidatable" in conditions or pool["spec"]["disruption"]["consolidateAfter"] == "Never"

    def _of_pool(self, name: str) -> str:
        disruption = self._pools[self._nodes[name]["metadata"]["labels"][POOL]]["spec"]["disruption"]
        if disruption["consolidateAfter"] == "Never":
            return "its pool is never consolidated"
        if disruption["consolidationPolicy"] == "WhenEmpty" and not self.is_empty(name):
            return "it is not empty, and its pool is consolidated when empty"
        return ""

    def _of_pods(self, name: str) -> str:
        for one in self._pods[name]:
            if one["metadata"].get("annotations", {}).get(KEEP) == "true":
                return f"{pod_key(one)} has an annotation that keeps it"
            about = [budget for budget in self._budgets if _selects(budget, one)]
            if not about or tolerates(one["spec"].get("tolerations", ()), _DISRUPTED):
                continue
            if len(about) > 1:
                return f"{pod_key(one)} has {len(about)} budgets"
            if not about[0]["status"]["disruptionsAllowed"]:
                return f"a budget keeps {pod_key(one)}"
        return ""

    def is_empty(self, name: str) -> bool:
        """Return whether evicting all of a node's pods costs nothing."""
        return self.disruption(name) <= 1.0

    def all_empty(self, names: Sequence[str]) -> bool:
        return all(self.is_empty(name) for name in names)

    def disruption(self, name: str) -> float:
        """Return what it costs to take a node away: 1, and what each of its pods costs to evict."""
        return 1.0 + sum(max(0.0, eviction_cost(one)) for one in self._pods[name] if moves(one))


def eviction_cost(pod: Manifest) -> float:
    deletion = float(pod["metadata"].get("annotations", {}).get(DELETION_COST, 0))
    cost = 1.0 + deletion / 2**27 + float(pod["spec"].get("priority", 0)) / 2**25
    return max(-10.0, min(10.0, cost))


def _selects(budget: Manifest, pod: Manifest) -> bool:
    if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    wanted: Mapping[str, str] = budget["spec"]["selector"]["matchLabels"]
    labels = pod["metadata"].get("labels", {})
    return all(labels.get(key) == value for key, value in wanted.items())


def _of_kind(cluster: Cluster, kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in cluster.items if one["kind"] == kind}
