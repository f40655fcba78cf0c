"""`treenail snapshot` of a real control plane, and what becomes of it in a rehearsal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import TREENAIL, eventually
from tests.real.system.loners import ground
from tests.real.system.scene import Scene, machines
from treenail.adapters.api.manifests import read_manifests
from treenail.adapters.api.workloads import ApiObject, CronJob, Deployment, ReplicaSet, StatefulSet
from treenail.adapters.cli.rehearsal_run import RehearsalRun, check, rehearsed
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod

FEW_NODES: Final = 6
MANY_NODES: Final = 200
HOUR: Final = 3600.0
PLANTED: Final = "hunter2-do-not-tell"
# One of these pods fits on a machine with two processors, and some of the small ones beside it.
WORKLOADS: Final = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: large}}
spec:
  maxUnavailable: 1
  selector: {{matchLabels: {{app: large}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: large
  annotations: {{kubectl.kubernetes.io/last-applied-configuration: "{planted}"}}
spec:
  replicas: {count}
  selector: {{matchLabels: {{app: large}}}}
  template:
    metadata:
      labels: {{app: large}}
      annotations: {{example.com/token: "{planted}"}}
    spec:
      containers:
        - name: pause
          image: pause
          command: [run, "--password={planted}"]
          args: ["{planted}"]
          env: [{{name: PASSWORD, value: "{planted}"}}]
          resources: {{requests: {{cpu: "1100m"}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: small}}
spec:
  replicas: {count}
  selector: {{matchLabels: {{app: small}}}}
  template:
    metadata: {{labels: {{app: small}}}}
    spec:
      containers:
        - {{name: pause, image: pause, resources: {{requests: {{cpu: 100m}}}}}}
"""
SECRETS: Final[dict[str, dict[str, Any]]] = {
    "/api/v1/namespaces/default/secrets": {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "planted"},
        "stringData": {"password": PLANTED},
    },
    "/api/v1/namespaces/default/configmaps": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "planted"},
        "data": {"password": PLANTED},
    },
}
PATHS: Final = {
    Pod: "/api/v1/pods",
    Node: "/api/v1/nodes",
    NodeClaim: "/apis/karpenter.sh/v1/nodeclaims",
    NodePool: "/apis/karpenter.sh/v1/nodepools",
    NodeClass: "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    Deployment: "/apis/apps/v1/deployments",
    ReplicaSet: "/apis/apps/v1/replicasets",
    StatefulSet: "/apis/apps/v1/statefulsets",
    DaemonSet: "/apis/apps/v1/daemonsets",
    CronJob: "/apis/batch/v1/cronjobs",
    PodDisruptionBudget: "/apis/policy/v1/poddisruptionbudgets",
}


@pytest.fixture
def nodes(pytestconfig: pytest.Config) -> int:
    return MANY_NODES if pytestconfig.getoption("--soak") else FEW_NODES


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    there = Scene(control_plane, lab, None, BATCH_IDLE_DURATION="2s")
    there.cluster.install()
    for path, thing in SECRETS.items():
        control_plane.request("POST", path, thing)
    with there.controller, machines(there, boot_seconds=0.1):
        yield there
    for path, thing in SECRETS.items():
        control_plane.request("DELETE", f"{path}/{thing['metadata']['name']}")
    there.cluster.clear()


def fill(scene: Scene, nodes: int) -> None:
    """Have so many nodes, each with a large pod and room for small ones, and as many small pods."""
    lab, cluster = scene.lab, scene.cluster
    text = ground(
        lab.cluster, cpus=2, capacity_type="on-demand", instanceProfile=lab.estate["instance_profile"]
    )
    node_class, pool = yaml.safe_load_all(text)
    node_class["spec"]["userData"] = f"#!/bin/sh\necho {PLANTED}\n"
    pool["spec"]["template"]["spec"]["expireAfter"] = "Never"
    cluster.apply(node_class, pool, WORKLOADS.format(count=nodes, planted=PLANTED))
    eventually(
        lambda: cluster.running() == 2 * nodes and len(cluster.nodes()) >= nodes,
        scene.summary,
        within=400,
    )


def treenail(scene: Scene, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **scene.lab.environment, "KUBECONFIG": str(scene.cluster.plane.kubeconfig)}
    return subprocess.run(  # noqa: S603
        [TREENAIL, *arguments], env=env, check=False, capture_output=True, text=True, timeout=120
    )


def there_are(scene: Scene, path: str) -> set[str]:
    status, answer = scene.cluster.plane.request("GET", path)
    assert status == 200, answer
    return {named(item["metadata"]) for item in answer["items"]}


def named(metadata: dict[str, Any]) -> str:
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))


def called(thing: ApiObject) -> str:
    name = thing.ref.name if isinstance(thing, NodeClass) else thing.name
    namespace = "" if isinstance(thing, NodeClass) else getattr(thing, "namespace", "")
    return "/".join(filter(None, (namespace, name)))


def test_a_cluster_goes_on_for_an_hour_with_nothing_missing_and_no_secret_told(
    scene: Scene, nodes: int, tmp_path: Path
) -> None:
    fill(scene, nodes)
    file = tmp_path / "cluster.yaml"

    ran = treenail(scene, "snapshot", "-o", file)

    assert ran.returncode == 0, ran.stderr
    assert "not read" not in ran.stderr
    assert PLANTED not in file.read_text()
    before = {kind: there_are(scene, path) for kind, path in PATHS.items()}
    assert len(before[Node]) >= nodes
    run = RehearsalRun(manifests=read_manifests([file]), seconds=HOUR)
    check(run)
    with rehearsed(run) as rehearsal:
        missing = {
            kind.__name__: names - set(map(called, rehearsal.cluster.objects(kind)))
            for kind, names in before.items()
        }
        launched = [one for one in rehearsal.history() if one.launched_at > 0]
        ended = [one for one in rehearsal.history() if one.terminated_at is not None]
        running = rehearsal.running()
    assert {kind: names for kind, names in missing.items() if names} == {}
    assert (launched, ended) == ([], [])
    assert running == 2 * nodes
