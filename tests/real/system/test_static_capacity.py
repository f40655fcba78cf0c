"""A pool with replicas, scaled as by kubectl, and a claim without a pool, on a real API server and moto."""

from __future__ import annotations

from typing import Any

from tests.real.kubernetes.definitions import ok
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.parts.objects import MERGE
from tests.real.system.controller import eventually
from tests.real.system.loners import ground
from tests.real.system.scene import Scene, machines

POOLS = "/apis/karpenter.sh/v1/nodepools"
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: fixed}
spec:
  replicas: 2
  limits: {nodes: 5}
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""
ALONE = """
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: alone}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements:
    - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}
    - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  resources: {requests: {cpu: "1"}}
"""


def ready(scene: Scene, pool: str | None) -> int:
    """Return how many claims of a pool, or of none, are in use and stay."""

    def in_use(claim: dict[str, Any]) -> bool:
        conditions = claim.get("status", {}).get("conditions", ())
        initialized = any((c["type"], c["status"]) == ("Initialized", "True") for c in conditions)
        of_pool = claim["metadata"].get("labels", {}).get("karpenter.sh/nodepool") == pool
        return initialized and of_pool and "deletionTimestamp" not in claim["metadata"]

    return sum(map(in_use, scene.cluster.claims()))


def test_replicas_are_scaled_and_a_claim_of_no_pool_lives_beside_them(
    control_plane: ControlPlane, lab: Lab, jaeger: Jaeger
) -> None:
    scene = Scene(control_plane, lab, jaeger, FEATURE_GATES="StaticCapacity=true")
    scene.cluster.install()
    profile = str(lab.estate["instance_profile"])
    with scene.controller, machines(scene):
        scene.cluster.apply(
            ground(lab.cluster, cpus=2, capacity_type="on-demand", instanceProfile=profile), POOL, ALONE
        )
        eventually(lambda: ready(scene, "fixed") == 2, scene.summary, within=120)
        eventually(lambda: ready(scene, None) == 1, scene.summary, within=60)
        [alone] = [c for c in scene.cluster.claims() if c["metadata"]["name"] == "alone"]
        assert alone["metadata"]["finalizers"] == ["karpenter.sh/termination"]
        assert alone["spec"]["expireAfter"] == "720h"

        path = f"{POOLS}/fixed"
        ok(control_plane.request("PATCH", f"{path}/scale", {"spec": {"replicas": 3}}, MERGE))
        eventually(lambda: ready(scene, "fixed") == 3, scene.summary, within=120)

        def shown() -> int:
            scale = ok(control_plane.request("GET", f"{path}/scale"))
            return int(scale["status"]["replicas"])

        eventually(lambda: shown() == 3, scene.summary, within=60)
        ok(control_plane.request("PATCH", f"{path}/scale", {"spec": {"replicas": 1}}, MERGE))
        eventually(lambda: len(scene.instances()) == 2, scene.summary, within=120)
        assert (ready(scene, "fixed"), ready(scene, None)) == (1, 1)

        scene.cluster.delete("karpenter.sh/v1", "NodeClaim", "alone")
        eventually(lambda: len(scene.instances()) == 1, scene.summary, within=120)
    scene.cluster.clear()
    assert len(scene.bought()) == 4
