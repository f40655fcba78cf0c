from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest

from tests.real.conftest import need
from tests.real.kubernetes.definitions import ok
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.system.admitted import NAME, REPLICAS, Shape, Tree, shapes
from tests.real.system.cluster import PATHS
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines
from treenail.domain.model.claims import DECISION, EXPECTED

# Tried in every run: one is changed by a policy, one by a LimitRange, one by its RuntimeClass.
ALWAYS: Final = ("a sidecar", "memory by a LimitRange", "overhead of a RuntimeClass")
# So slow that most pods are still to come when nodes for all are asked for.
PODS_A_SECOND: Final = 3
POOL: Final = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  requirements:
    - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
    - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
    - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
  taints: %(taints)s
  provider:
    instanceProfile: %(profile)s
    subnetSelector: {kubernetes.io/cluster/%(cluster)s: "*"}
    securityGroupSelector: {kubernetes.io/cluster/%(cluster)s: "*"}
"""
ARGS: Final = {
    "kube-apiserver": (
        "--feature-gates=MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    ),
    "kube-controller-manager": (f"--kube-api-qps={PODS_A_SECOND}", f"--kube-api-burst={PODS_A_SECOND}"),
}


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane whose policies may change pods, and that makes pods slowly."""
    need(*PARTS)
    with ControlPlane(args=ARGS) as started:
        yield started


@contextmanager
def admitting(plane: ControlPlane, shape: Shape) -> Iterator[None]:
    """Have pods come out of admission in that shape meanwhile."""
    made = [f"{path}/{NAME}" for path in shape.to_admit()]
    try:
        for path, thing in shape.to_admit().items():
            ok(plane.request("POST", path, thing))
        eventually(lambda: admitted(plane, shape), "pods are not changed")
        yield
    finally:
        for path in made:
            plane.request("DELETE", path)


def admitted(plane: ControlPlane, shape: Shape) -> bool:
    """Return whether a pod would come out of admission in that shape now."""
    template = shape.deployment()["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"}, "spec": template["spec"]}
    status, answer = plane.request("POST", f"{PATHS['v1', 'Pod']}?dryRun=All", pod)
    with suppress(KeyError):
        return status == 201 and bool(shape.admitted(answer))
    return False


def in_time(scene: Scene) -> list[Tree]:
    """Wait until all pods have nodes; return the claims."""
    eventually(lambda: scene.cluster.bound() == REPLICAS, scene.summary, within=120)
    return scene.cluster.claims()


@pytest.mark.seeds(quick=3, soak=21)
def test_nodes_for_pods_to_come_fit_them_as_admission_leaves_them(
    control_plane: ControlPlane, lab: Lab, seed: int
) -> None:
    zones = sorted(lab.estate["subnets"])
    shape = sorted(shapes(zones[-1]), key=lambda one: one.name not in ALWAYS)[seed - 1]
    scene = Scene(control_plane, lab, None)
    scene.cluster.install()
    profile, cluster = str(lab.estate["instance_profile"]), lab.cluster
    pool = POOL % {"profile": profile, "cluster": cluster, "taints": json.dumps(shape.taints)}
    with admitting(control_plane, shape), scene.controller, machines(scene):
        scene.cluster.apply(pool, shape.deployment())
        claims = in_time(scene)

        assert all(shape.admitted(pod) for pod in scene.cluster.pods())
        annotations = [claim["metadata"]["annotations"] for claim in claims]
        [decision] = {one[DECISION] for one in annotations}
        assert any(EXPECTED in one for one in annotations), annotations
        assert len(scene.bought()) == len(claims), f"bought twice for {decision}: {scene.summary()}"
        scene.cluster.clear()
