"""One run: a fresh control plane, one controller, workloads made at once, until all their pods are ready."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import yaml

from tests.bench.real.contestants import POOL_PATH, Contestant, common_env
from tests.bench.real.host_speed import probe_ms
from tests.bench.real.usage import usage
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import Processes, Program

NODES: Final = "/api/v1/nodes"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
PODS: Final = "/api/v1/namespaces/default/pods"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLASSES: Final = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
PRICE: Final = "eks-node-viewer/instance-price"
# No node is looked for, nor bought, for pods with it.
GATE: Final = {"name": "bench.treenail.sh/warms-up"}
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
POOL: Final[dict[str, Any]] = {
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
    """What was measured. Seconds count from the first POST: to the last new node, to all pods ready.

    CPU seconds are those of the controller and its children in that time, `parts_cpu_seconds` those of the
    control plane and KWOK, which serve its calls too. On a virtual machine that shares its cores both may
    differ by half between runs of the same controller, and the seconds with them: medians need more runs.
    `probe_ms` tells such runs: it is the mean CPU time of the same piece of work, done again and again.
    `resident_mib` is the most that was seen, `dollars_per_hour` what all nodes cost.
    """

    controller: str
    pods: int
    shape: str = ""
    seconds: float
    last_node_seconds: float
    cpu_seconds: float
    parts_cpu_seconds: float
    probe_ms: float
    resident_mib: float
    nodes: int
    dollars_per_hour: float
    start_seconds: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What is asked for: so many pods in so many Deployments, `pause` seconds apart, or in one Job."""

    pods: int
    workloads: int = 1
    job: bool = False
    pause: float = 0.0

    @classmethod
    def read(cls, text: str) -> Shape:
        """Read "500", "2000x20" (in 20 Deployments), "60x6@0.5" (every 0.5 s) or "job1000"; or ValueError."""
        number, _, pause = text.removeprefix("job").partition("@")
        pods, _, workloads = number.partition("x")
        return cls(int(pods), int(workloads or 1), text.startswith("job"), float(pause or 0))

    def __str__(self) -> str:
        """Return it as it is read."""
        pause = f"@{self.pause:g}" if self.pause else ""
        return (f"job{self.pods}" if self.job else f"{self.pods}x{self.workloads}".removesuffix("x1")) + pause

    @property
    def path(self) -> str:
        return JOBS if self.job else DEPLOYMENTS

    def objects(self) -> list[dict[str, Any]]:
        """Return the workloads."""
        if self.job:
            return [job(self.pods)]
        each = self.pods // self.workloads
        names = ["inflate", *(f"inflate-{n}" for n in range(1, self.workloads))]
        return [deployment(each, name) for name in names]

    def ready(self, parts: ControlPlane) -> int:
        """Return how many of the pods are ready."""
        return self._told(parts, "ready" if self.job else "readyReplicas")

    def made(self, parts: ControlPlane) -> int:
        """Return how many pods there are."""
        return self._told(parts, "active" if self.job else "replicas")

    def _told(self, parts: ControlPlane, field: str) -> int:
        listed = parts.request("GET", self.path)[1]["items"]
        return sum(one.get("status", {}).get(field) or 0 for one in listed)


def run(contestant: Contestant, shape: Shape, writes: int | None = None) -> Run:
    """Run one contest. `writes` is how many calls a second the controller manager makes, by default many.

    Raises:
        PartFailedError: a part or the controller ended, or did not get ready.
        TimeoutError: the pods are not all ready in ten minutes.
    """
    paced = (f"--kube-api-qps={writes}", f"--kube-api-burst={writes * 3 // 2}") if writes else ()
    with ControlPlane(args={"kube-controller-manager": paced}) as parts:
        if not writes:  # pods that come one by one fit into any buffer
            _warm_up(parts, shape)
        install(parts, contestant)
        with _running(contestant, parts) as (processes, start_seconds):
            if contestant.nodes_first:
                _make_nodes(parts, shape)
            return _measure(contestant.name, parts, processes, shape, start_seconds)


def _make_nodes(parts: ControlPlane, shape: Shape) -> None:
    """Have all nodes that the workloads need, with no pods on them."""
    for what in shape.objects():
        made(parts, shape.path, what)
    until(lambda: shape.ready(parts) == shape.pods, "the nodes do not come", patience=PATIENCE)
    _remove(parts, shape)
    time.sleep(QUIET)


def _warm_up(parts: ControlPlane, shape: Shape) -> None:
    """Make the same pods once, for no node, and remove them.

    The API server gives a watch the longer a buffer, the more objects of its kind changed in the last 75 s.
    In one that has just started, each watch of pods has room for ten changes. Of 2,000 pods that are made at
    once there are more: it ends all these watches several times, and the scheduler hears of nothing for a
    second. Where nodes are made beforehand, that would be over when the clock starts.
    """
    for what in shape.objects():
        what["spec"]["template"]["spec"]["schedulingGates"] = [GATE]
        made(parts, shape.path, what)
    until(lambda: shape.made(parts) == shape.pods, "the pods do not come", patience=PATIENCE)
    _remove(parts, shape)


def _remove(parts: ControlPlane, shape: Shape) -> None:
    for what in shape.objects():
        parts.request("DELETE", f"{shape.path}/{what['metadata']['name']}?propagationPolicy=Background")
    until(
        lambda: not parts.request("GET", f"{PODS}?limit=1")[1]["items"],
        "the pods do not go",
        patience=PATIENCE,
    )
    until(
        lambda: not parts.request("GET", shape.path)[1]["items"], "the workloads do not go", patience=PATIENCE
    )


def install(parts: ControlPlane, contestant: Contestant) -> None:
    """Apply a controller's CRDs, a node class and a pool."""
    for file in sorted(contestant.crds.glob("*.yaml")):
        for crd in yaml.safe_load_all(file.read_text()):
            made(parts, CRDS, crd)
    for path, what in ((CLASSES, CLASS), (POOL_PATH.rpartition("/")[0], POOL)):
        until(lambda path=path: parts.request("GET", path)[0] == 200, "the CRDs are not served")  # type: ignore[misc]
        made(parts, path, what)


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


def _measure(name: str, parts: ControlPlane, processes: Processes, shape: Shape, start_seconds: float) -> Run:
    pid = processes.pid(name)
    before, parts_before = usage(pid), _cpu_seconds(parts)
    most, nodes, last_node = before.resident_bytes, len(parts.request("GET", NODES)[1]["items"]), 0.0
    probes: list[float] = []
    begun = time.monotonic()
    for number, what in enumerate(shape.objects()):
        time.sleep(shape.pause if number else 0.0)
        made(parts, shape.path, what)
    while True:
        most = max(most, usage(pid).resident_bytes)
        probes.append(probe_ms())
        there = len(parts.request("GET", NODES)[1]["items"])
        if there > nodes:
            nodes, last_node = there, time.monotonic() - begun
        ready = shape.ready(parts)
        if ready == shape.pods:
            break
        if name not in processes.running() or time.monotonic() - begun > PATIENCE:
            raise TimeoutError(f"{name}: {ready} are ready; it said last:\n{processes.last_lines(name)}")
        time.sleep(LOOK_EVERY)
    seconds = time.monotonic() - begun
    after, parts_after = usage(pid), _cpu_seconds(parts)
    bought = parts.request("GET", NODES)[1]["items"]
    return Run(
        controller=name,
        pods=shape.pods,
        shape=str(shape),
        seconds=round(seconds, 2),
        last_node_seconds=round(last_node, 2),
        cpu_seconds=round(after.cpu_seconds - before.cpu_seconds, 2),
        parts_cpu_seconds=round(parts_after - parts_before, 2),
        probe_ms=round(statistics.mean(probes), 2),
        resident_mib=round(max(most, after.resident_bytes) / MIB, 1),
        nodes=len(bought),
        dollars_per_hour=round(sum(float(n["metadata"]["labels"].get(PRICE, 0)) for n in bought), 4),
        start_seconds=round(start_seconds, 2),
    )


def _cpu_seconds(parts: ControlPlane) -> float:
    return sum(usage(parts.pid(part)).cpu_seconds for part in parts.parts)


def deployment(replicas: int, name: str = "inflate") -> dict[str, Any]:
    """Return a Deployment of so many pods of one CPU and 1 GiB each."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [_container()]}},
        },
    }


def job(pods: int) -> dict[str, Any]:
    """Return a Job `inflate` of so many such pods at once."""
    spec = {"containers": [_container()], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "inflate"},
        "spec": {"parallelism": pods, "completions": pods, "template": {"spec": spec}},
    }


def _container() -> dict[str, Any]:
    return {"name": "app", "image": "pause", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}


def made(parts: ControlPlane, path: str, what: object) -> None:
    """Make an object; ValueError where the API server refuses it."""
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
