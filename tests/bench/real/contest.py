"""One run: a fresh control plane, one controller, one Deployment, until all its pods are ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import yaml

from tests.bench.real.contestants import POOL_PATH, Contestant, common_env
from tests.bench.real.usage import usage
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import Processes, Program

NODES: Final = "/api/v1/nodes"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLASSES: Final = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
PRICE: Final = "eks-node-viewer/instance-price"
LOOK_EVERY: Final = 0.05
# So that what a controller does at its start is over.
QUIET: Final = 3.0
PATIENCE: Final = 600.0
MIB: Final = 2**20

CLASS: Final = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
}
POOL: Final = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
        "template": {
            "spec": {
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                ],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "expireAfter": "Never",
            }
        },
    },
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured. Seconds count from the Deployment's POST: to the last new node, to all pods ready.

    CPU seconds are those of the controller and its children in that time, `resident_mib` the most that was
    seen, `dollars_per_hour` what all nodes cost.
    """

    controller: str
    pods: int
    seconds: float
    last_node_seconds: float
    cpu_seconds: float
    resident_mib: float
    nodes: int
    dollars_per_hour: float
    start_seconds: float


def run(contestant: Contestant, pods: int) -> Run:
    """Run one contest.

    Raises:
        PartFailedError: a part or the controller ended, or did not get ready.
        TimeoutError: the pods are not all ready in ten minutes.
    """
    with ControlPlane() as parts:
        install(parts, contestant)
        with _running(contestant, parts) as (processes, start_seconds):
            return _measure(contestant.name, parts, processes, pods, start_seconds)


def install(parts: ControlPlane, contestant: Contestant) -> None:
    """Apply a controller's CRDs, a node class and a pool."""
    for file in sorted(contestant.crds.glob("*.yaml")):
        for crd in yaml.safe_load_all(file.read_text()):
            _made(parts, CRDS, crd)
    for path, what in ((CLASSES, CLASS), (POOL_PATH.rpartition("/")[0], POOL)):
        until(lambda path=path: parts.request("GET", path)[0] == 200, "the CRDs are not served")  # type: ignore[misc]
        _made(parts, path, what)


@contextmanager
def _running(contestant: Contestant, parts: ControlPlane) -> Iterator[tuple[Processes, float]]:
    metrics_port, health_port = free_ports(2)
    env = common_env(parts.kubeconfig, metrics_port=metrics_port, health_port=health_port)
    program = Program(
        name=contestant.name,
        command=contestant.command,
        ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
        env={**env, **contestant.env},
    )
    processes = Processes()
    begun = time.monotonic()
    try:
        processes.start(program)
        processes.wait(contestant.name)
        until(lambda: contestant.settled(parts), "the pool is not taken in")
        seconds = time.monotonic() - begun
        time.sleep(QUIET)
        yield processes, seconds
    finally:
        processes.close()


def _measure(name: str, parts: ControlPlane, processes: Processes, pods: int, start_seconds: float) -> Run:
    pid = processes.pid(name)
    before = usage(pid)
    most, nodes, last_node = before.resident_bytes, 0, 0.0
    begun = time.monotonic()
    _made(parts, DEPLOYMENTS, deployment(pods))
    while True:
        most = max(most, usage(pid).resident_bytes)
        there = len(parts.request("GET", NODES)[1]["items"])
        if there > nodes:
            nodes, last_node = there, time.monotonic() - begun
        status = parts.request("GET", f"{DEPLOYMENTS}/inflate")[1].get("status", {})
        if status.get("readyReplicas") == pods:
            break
        if name not in processes.running() or time.monotonic() - begun > PATIENCE:
            raise TimeoutError(f"{name}: {status}; it said last:\n{processes.last_lines(name)}")
        time.sleep(LOOK_EVERY)
    seconds = time.monotonic() - begun
    after = usage(pid)
    bought = parts.request("GET", NODES)[1]["items"]
    return Run(
        controller=name,
        pods=pods,
        seconds=round(seconds, 2),
        last_node_seconds=round(last_node, 2),
        cpu_seconds=round(after.cpu_seconds - before.cpu_seconds, 2),
        resident_mib=round(max(most, after.resident_bytes) / MIB, 1),
        nodes=len(bought),
        dollars_per_hour=round(sum(float(n["metadata"]["labels"].get(PRICE, 0)) for n in bought), 4),
        start_seconds=round(start_seconds, 2),
    )


def deployment(replicas: int) -> dict[str, Any]:
    """Return a Deployment `inflate` of so many pods of one CPU and 1 GiB each."""
    container = {"name": "app", "image": "pause", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "inflate"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "inflate"}},
            "template": {"metadata": {"labels": {"app": "inflate"}}, "spec": {"containers": [container]}},
        },
    }


def _made(parts: ControlPlane, path: str, what: object) -> None:
    status, answer = parts.request("POST", path, what)
    if status != 201:
        raise ValueError(f"POST {path} was answered {status}: {answer}")


def until(true: Callable[[], bool], problem: str, *, patience: float = 60.0) -> None:
    """Wait until something is true; TimeoutError where it is not in so many seconds."""
    deadline = time.monotonic() + patience
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(problem)
        time.sleep(LOOK_EVERY)
