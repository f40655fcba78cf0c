"""A cluster that Karpenter and Treenail run in turns: its objects, who runs, and what must stay as it is."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tests.bench.real.contest import CRDS, deployment
from tests.bench.real.contestants import common_env, karpenter
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.objects import MERGE, says
from tests.real.parts.processes import Processes, Program
from tests.real.system.controller import TREENAIL, Controller, eventually
from treenail.domain.model.template_hash import NODEPOOL_HASH, version_of

CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
POOLS: Final = "/apis/karpenter.sh/v1/nodepools"
CLASSES: Final = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
VERSION: Final = version_of(NODEPOOL_HASH)
# Ten pods of one and a half cores fill a node of sixteen, so that churn needs nodes of its own.
PODS_A_NODE: Final = 10
PATIENCE: Final = 240.0
KWOK_CLASS: Final = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
}

# Both elect their leader by one Lease.
ELECTED: Final = {"DISABLE_LEADER_ELECTION": "false", "LEADER_ELECTION_NAMESPACE": "kube-system"}
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election"


def await_served(plane: ControlPlane, *paths: str) -> None:
    eventually(
        lambda: all(plane.request("GET", path)[0] == 200 for path in paths), "the definitions are not served"
    )


def install(plane: ControlPlane, folder: Path, *, only: str = "", over: bool = False) -> None:
    """Apply the definitions of a folder, in place of those there where they go `over` them."""
    for file in sorted(folder.glob(f"{only}*.yaml")):
        for definition in yaml.safe_load_all(file.read_text()):
            path = f"{CRDS}/{definition['metadata']['name']}"
            status, there = plane.request("GET", path)
            if over and status == 200:
                definition["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
                status, answer = plane.request("PUT", path, definition)
                assert status == 200, answer
            else:
                made(plane, CRDS, definition)


def made(plane: ControlPlane, path: str, thing: object) -> None:
    status, answer = plane.request("POST", path, thing)
    assert status == 201, answer


def items(plane: ControlPlane, path: str) -> list[dict[str, Any]]:
    status, answer = plane.request("GET", path)
    assert status == 200, answer
    found: list[dict[str, Any]] = answer["items"]
    return found


@contextmanager
def karpenter_runs(plane: ControlPlane) -> Iterator[Processes]:
    metrics_port, health_port = free_ports(2)
    peer = karpenter()
    told = common_env(plane.kubeconfig, metrics_port=metrics_port, health_port=health_port)
    program = Program(
        name=peer.name,
        command=peer.command,
        ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
        env={**told, **peer.env, **ELECTED},
    )
    processes = Processes()
    try:
        processes.start(program)
        processes.wait(peer.name)
        yield processes
    finally:
        processes.close()


@contextmanager
def treenail_runs(plane: ControlPlane, **settings: str) -> Iterator[Controller]:
    env = {"KUBECONFIG": str(plane.kubeconfig), "CLUSTER_NAME": "bench", "CLOUD": "kwok"}
    with Controller({**env, **ELECTED, **settings}) as controller:
        yield controller


def holder(plane: ControlPlane) -> str:
    status, lease = plane.request("GET", LEASE)
    return str(lease["spec"].get("holderIdentity", "")) if status == 200 else ""


def takeover(plane: ControlPlane, command: str) -> list[dict[str, str]]:
    """Run `treenail takeover COMMAND`, which finds nothing in the way, and return its findings."""
    ran = subprocess.run(  # noqa: S603
        [TREENAIL, "takeover", command, "--kubeconfig", plane.kubeconfig, "-o", "json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran
    (told,) = ran.stderr.splitlines()
    assert re.fullmatch(r"treenail: context .*, https://\S+", told), told
    findings: list[dict[str, str]] = json.loads(ran.stdout)["findings"]
    return findings


def adopted(findings: list[dict[str, str]], kind: str) -> set[str]:
    """Return the names of those objects of a kind that are taken as they are; all must be."""
    found = [one for one in findings if one["about"].startswith(f"{kind} ")]
    assert {one["verdict"] for one in found} <= {"adopted"}, found
    return {one["about"].partition(" ")[2] for one in found}


def pool() -> dict[str, Any]:
    requirements = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c-16x-amd64-linux"]},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand", "spot"]},
        # On a label of one's own, of which each node gets one value.
        {"key": "example.com/team", "operator": "In", "values": ["blue", "green"]},
    ]
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    taint = {"key": "example.com/starting", "effect": "NoSchedule"}
    template = {
        "metadata": {"labels": {"example.com/tier": "web"}, "annotations": {"example.com/note": "kept"}},
        "spec": {
            "requirements": requirements,
            "nodeClassRef": reference,
            "expireAfter": "720h",
            "terminationGracePeriod": "10m",
            "taints": [taint],
        },
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5s"},
            "template": template,
        },
    }


def workload(name: str, replicas: int) -> dict[str, Any]:
    tree = deployment(replicas)
    tree["metadata"]["name"] = name
    tree["spec"]["selector"]["matchLabels"] = tree["spec"]["template"]["metadata"]["labels"] = {"app": name}
    spec = tree["spec"]["template"]["spec"]
    spec["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
    spec["tolerations"] = [{"key": "example.com/starting", "operator": "Exists"}]
    return tree


class Standing:
    """What was there and shall stay: nodes and claims by uid, pods by uid and node."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.nodes = {one["metadata"]["uid"] for one in items(plane, NODES)}
        self.claims = {one["metadata"]["uid"] for one in items(plane, CLAIMS)}
        self.pods = pods_placed(plane)

    def holds(self) -> None:
        """Fail where a node was replaced or is about to be, or a pod has moved."""
        nodes, claims = items(self._plane, NODES), items(self._plane, CLAIMS)
        there = {one["metadata"]["uid"] for one in nodes if "deletionTimestamp" not in one["metadata"]}
        assert self.nodes <= there
        assert self.claims <= {
            o["metadata"]["uid"] for o in claims if "deletionTimestamp" not in o["metadata"]
        }
        assert [one["metadata"]["name"] for one in claims if says(one, "Drifted")] == []
        kept = [one for one in nodes if one["metadata"]["uid"] in self.nodes]
        taints = {taint["key"] for one in kept for taint in one["spec"].get("taints", ())}
        assert taints == {"example.com/starting"}
        assert pods_placed(self._plane) == self.pods


def pods_placed(plane: ControlPlane) -> dict[str, str]:
    """Return the nodes of the pods of `inflate`, by uid."""
    return {
        one["metadata"]["uid"]: one["spec"]["nodeName"]
        for one in items(plane, PODS)
        if one["metadata"]["labels"]["app"] == "inflate" and "nodeName" in one["spec"]
    }


def scale(plane: ControlPlane, replicas: int) -> None:
    """Scale the Deployment `churn`, and wait until it is so."""
    path = f"{DEPLOYMENTS}/churn"
    assert plane.request("PATCH", path, {"spec": {"replicas": replicas}}, MERGE)[0] == 200
    eventually(
        lambda: plane.request("GET", path)[1]["status"].get("readyReplicas", 0) == replicas,
        lambda: f"churn is {plane.request('GET', path)[1]['status']}",
        within=PATIENCE,
    )


def churn(plane: ControlPlane, standing: Standing, seconds: float) -> None:
    """Have nodes bought and given back beside those that stand, for so many seconds at least."""
    until = time.monotonic() + seconds
    begun = True
    while begun or time.monotonic() < until:
        begun = False
        for replicas, more in ((2 * PODS_A_NODE, 2), (0, 0)):
            scale(plane, replicas)
            nodes = len(standing.nodes) + more
            eventually(
                lambda nodes=nodes: len(items(plane, NODES)) == nodes,  # type: ignore[misc]
                f"there are not {nodes} nodes",
                within=PATIENCE,
            )
            standing.holds()


def stamped(plane: ControlPlane, version: str) -> bool:
    """Return whether the pools and all claims bear hashes of a version."""
    things = [*items(plane, CLAIMS), *items(plane, POOLS)]
    return {one["metadata"].get("annotations", {}).get(VERSION) for one in things} == {version}
