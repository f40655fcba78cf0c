"""A cluster as Karpenter 0.37 leaves it: pools and claims in v1beta1."""

from __future__ import annotations

from typing import Any, Final

from tests.real.kubernetes.webhooks import stored
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from tests.real.system.taking_over import CLAIMS, NODES, POOLS, VERSION, made, pool
from treenail.adapters.kubernetes.resources import NODE_CLAIM, NODE_POOL
from treenail.domain.model.template_hash import NODEPOOL_HASH

OLD_CLAIMS: Final = CLAIMS.replace("/v1/", "/v1beta1/")
OLD_POOLS: Final = POOLS.replace("/v1/", "/v1beta1/")
SIXTEEN: Final = {"cpu": "16", "memory": "32Gi", "pods": "110", "ephemeral-storage": "20Gi"}


def beta_pool(name: str) -> dict[str, Any]:
    """A pool of v1beta1, as Karpenter 0.37 has it."""
    tree = pool()
    spec = tree["spec"]["template"]["spec"]
    del spec["terminationGracePeriod"]
    spec["nodeClassRef"] = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "name": "default",
    }
    disruption = {**tree["spec"]["disruption"], "expireAfter": spec.pop("expireAfter")}
    return {
        **tree,
        "apiVersion": "karpenter.sh/v1beta1",
        "metadata": {"name": name, "annotations": {NODEPOOL_HASH: "17", VERSION: "v2"}},
        "spec": {**tree["spec"], "disruption": disruption},
    }


def beta_node(plane: ControlPlane, name: str) -> None:
    """Make a claim of v1beta1 and its node, as Karpenter 0.37 leaves them once the node is in use."""
    labels = {
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/capacity-type": "spot",
        "node.kubernetes.io/instance-type": "c-16x-amd64-linux",
        "topology.kubernetes.io/zone": "test-zone-a",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "example.com/team": "blue",
        "example.com/tier": "web",
    }
    finalizers = ["karpenter.sh/termination"]
    taints = [{"key": "example.com/starting", "effect": "NoSchedule"}]
    spec = beta_pool("default")["spec"]["template"]["spec"]
    claim = {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {NODEPOOL_HASH: "17", VERSION: "v2"},
            "finalizers": finalizers,
        },
        "spec": {
            "requirements": spec["requirements"],
            "nodeClassRef": spec["nodeClassRef"],
            "taints": taints,
            "resources": {"requests": {"cpu": "15"}},
        },
    }
    made(plane, OLD_CLAIMS, claim)
    provider_id = f"kwok://{name}"
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "",
            "lastTransitionTime": "2026-11-20T07:00:00Z",
        }
        for kind in ("Launched", "Registered", "Initialized", "Ready")
    ]
    status = {
        "providerID": provider_id,
        "nodeName": name,
        "capacity": SIXTEEN,
        "allocatable": SIXTEEN,
        "conditions": conditions,
    }
    answer = plane.request("PATCH", f"{OLD_CLAIMS}/{name}/status", {"status": status}, MERGE)
    assert answer[0] == 200, answer
    played = {"kwok.x-k8s.io/node": "fake"}
    in_use = {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**labels, **in_use, "kubernetes.io/hostname": name},
            "annotations": played,
            "finalizers": finalizers,
        },
        "spec": {"providerID": provider_id, "taints": taints},
        "status": {"capacity": SIXTEEN, "allocatable": SIXTEEN},
    }
    made(plane, NODES, node)


def stored_in(plane: ControlPlane) -> set[str]:
    """Return the versions in which NodePools and NodeClaims stand in etcd."""
    return {o["apiVersion"] for kind in (NODE_POOL, NODE_CLAIM) for o in stored(plane, kind).values()}
