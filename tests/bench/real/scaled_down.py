"""Consolidation beside Karpenter's: a Deployment is scaled to a third, and nodes go until nothing changes.

    python -m tests.bench.real.scaled_down [--nodes 200] [--runs 3] [--only treenail]

Each node has ten pods, and eight CPUs. Which pods go is drawn by lot, the same for all controllers. When the
Deployment is scaled, the pool begins to allow machines of all sizes. It has the usual budget: a tenth of its
nodes. Every run has a control plane of its own, and the controllers take turns. Prints a line of JSON a run,
then a table of medians.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.real.__main__ import CONTESTANTS, USUAL, turns
from tests.bench.real.contest import DEPLOYMENTS, MIB, NODES, POOL, PRICE, deployment, install, until
from tests.bench.real.contestants import POOL_PATH, Contestant
from tests.bench.real.large import CLAIMS, NAME, PODS, running
from tests.bench.real.usage import usage
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE, says
from tests.real.parts.processes import Processes

PODS_A_NODE: Final = 10
# Of a machine with eight CPUs, ten pods of this fit, and no eleventh.
_POD_CPU: Final = "750m"
_CPUS: Final = {"key": "karpenter.kwok.sh/instance-cpu", "operator": "In", "values": ["8"]}
_AFTER: Final = "30s"
# A cluster is at rest when nothing has changed for so long.
REST: Final = 120.0
_PATIENCE: Final = 1800.0
_LOOK_EVERY: Final = 0.5
_FIGURES: Final = (
    "rest_seconds",
    "nodes",
    "dollars_per_hour",
    "evicted",
    "least_ready",
    "cpu_seconds",
    "resident_mib",
    "load",
)


class ScaledDown(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured.

    `rest_seconds` are those from the scaling to the last change of a node or of how many pods are ready;
    `cpu_seconds` those of the controller and its children, until `REST` seconds after that. `nodes` and
    `dollars_per_hour` are those at rest, `least_ready` the fewest pods that were ready after the scaling,
    `resident_mib` the most that was seen, `load` the machine's load average at the end.
    """

    controller: str
    pods: int
    nodes_before: int
    dollars_per_hour_before: float
    rest_seconds: float
    nodes: int
    dollars_per_hour: float
    evicted: int
    started: int
    least_ready: int
    cpu_seconds: float
    resident_mib: float
    load: float


def run(contestant: Contestant, nodes: int) -> ScaledDown:
    """Run one contest.

    Raises:
        PartFailedError: a part or the controller ended, or did not get ready.
        TimeoutError: the pods are not all ready in ten minutes, or it is not at rest in half an hour.
    """
    with ControlPlane() as parts:
        install(parts, contestant)
        _change_pool(parts, [_CPUS], after="Never")
        with running(contestant, parts, {}) as (processes, _, _):
            until(lambda: contestant.settled(parts), "the pool is not taken in")
            _fill(parts, nodes)
            left = nodes * PODS_A_NODE // 3
            _draw(parts, left)
            return _measure(contestant.name, parts, processes, left)


def _change_pool(parts: ControlPlane, more: Sequence[dict[str, Any]], *, after: str) -> None:
    """Let the pool have these requirements more, and consolidate `after` so long."""
    template = POOL["spec"]["template"]["spec"]
    spec = {
        "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": after},
        "template": {"spec": {"requirements": [*template["requirements"], *more]}},
    }
    status, answer = parts.request("PATCH", POOL_PATH, {"spec": spec}, MERGE)
    assert status == 200, answer


def _fill(parts: ControlPlane, nodes: int) -> None:
    """Have so many nodes, all in use, with ten pods each."""
    pods = nodes * PODS_A_NODE
    made = deployment(pods)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": _POD_CPU, "memory": "512Mi"}}
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    status, answer = parts.request("POST", DEPLOYMENTS, made)
    assert status == 201, answer
    until(lambda: ready(parts) == pods, "the pods do not run", patience=600.0)

    def settled() -> bool:
        return all(says(claim, "Initialized") for claim in parts.request("GET", CLAIMS)[1]["items"])

    until(settled, "the nodes are not initialized", patience=120.0)
    assert len(parts.request("GET", NODES)[1]["items"]) == nodes


def _draw(parts: ControlPlane, left: int) -> None:
    """Have all pods but so many be those that go first, as many of each node whoever runs."""
    pods = parts.request("GET", PODS)[1]["items"]
    by_node = sorted((pod["spec"]["nodeName"], pod["metadata"]["name"]) for pod in pods)
    stays = set(random.Random(1).sample(by_node, left))
    goes_first = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
    for node, name in by_node:
        if (node, name) not in stays:
            status, answer = parts.request("PATCH", f"{PODS}/{name}", goes_first, MERGE)
            assert status == 200, answer


def ready(parts: ControlPlane) -> int:
    """Return how many pods are ready."""
    status = parts.request("GET", f"{DEPLOYMENTS}/inflate")[1].get("status", {})
    return int(status.get("readyReplicas", 0))


def _measure(name: str, parts: ControlPlane, processes: Processes, pods: int) -> ScaledDown:
    pid = processes.pid(NAME)
    before, evicted, started = usage(pid), _created(parts, "eviction"), _created(parts, "")
    first = _nodes(parts)
    _change_pool(parts, [], after=_AFTER)
    begun = time.monotonic()
    status, answer = parts.request("PATCH", f"{DEPLOYMENTS}/inflate", {"spec": {"replicas": pods}}, MERGE)
    assert status == 200, answer
    state, changed, least, most = _State(), begun, pods, before.resident_bytes
    while time.monotonic() - changed < REST or state.ready != pods:
        now = _State.of(parts)
        if now != state:
            state, changed = now, time.monotonic()
        least, most = min(least, now.ready), max(most, usage(pid).resident_bytes)
        if not processes.running() or time.monotonic() - begun > _PATIENCE:
            raise TimeoutError(f"{name}: {state}; it said last:\n{processes.last_lines(NAME)}")
        time.sleep(_LOOK_EVERY)
    there = _nodes(parts)
    return ScaledDown(
        controller=name,
        pods=pods,
        nodes_before=len(first),
        dollars_per_hour_before=_dollars(first),
        rest_seconds=round(changed - begun, 1),
        nodes=len(there),
        dollars_per_hour=_dollars(there),
        evicted=_created(parts, "eviction") - evicted,
        started=_created(parts, "") - started,
        least_ready=least,
        cpu_seconds=round(usage(pid).cpu_seconds - before.cpu_seconds, 1),
        resident_mib=round(most / MIB, 1),
        load=round(os.getloadavg()[0], 1),
    )


class _State(msgspec.Struct, frozen=True):
    """What changes until a cluster is at rest: pods that are ready; of each node its name and marks."""

    ready: int = -1
    nodes: tuple[tuple[str, str, bool, bool], ...] = ()

    @classmethod
    def of(cls, parts: ControlPlane) -> _State:
        marks = (
            (
                node["metadata"]["name"],
                ",".join(sorted(taint["key"] for taint in node["spec"].get("taints", ()))),
                bool(node["spec"].get("unschedulable")),
                "deletionTimestamp" in node["metadata"],
            )
            for node in _nodes(parts)
        )
        return cls(ready(parts), tuple(sorted(marks)))


def _nodes(parts: ControlPlane) -> list[dict[str, Any]]:
    return list(parts.request("GET", NODES)[1]["items"])


def _dollars(nodes: Sequence[dict[str, Any]]) -> float:
    return round(sum(float(node["metadata"]["labels"].get(PRICE, 0)) for node in nodes), 4)


def _created(parts: ControlPlane, subresource: str) -> int:
    """Return how many pods the API server has created, or with the subresource "eviction" evicted, by now."""
    status, text = parts.request("GET", "/metrics")
    assert status == 200, text
    wanted = {"verb": "POST", "resource": "pods", "subresource": subresource, "code": "201"}
    return int(
        sum(
            sample.value
            for family in text_string_to_metric_families(_only(text, "apiserver_request_total"))
            for sample in family.samples
            if wanted.items() <= sample.labels.items()
        )
    )


def _only(exposition: str, metric: str) -> str:
    """Return the lines of one metric: reading all of them takes seconds."""
    lines = exposition.splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith((f"# TYPE {metric} ", f"{metric}{{")))


def table(runs: Sequence[ScaledDown]) -> str:
    """Return the medians by controller, as a table for people."""
    lines = [["controller", "pods", "nodes before", "runs", *(name.replace("_", " ") for name in _FIGURES)]]
    lines.append(["---"] * len(lines[0]))
    for controller, pods, nodes in sorted({(r.controller, r.pods, r.nodes_before) for r in runs}):
        own = [r for r in runs if (r.controller, r.pods) == (controller, pods)]
        medians = [statistics.median(getattr(r, name) for r in own) for name in _FIGURES]
        lines.append([controller, str(pods), str(nodes), str(len(own)), *(f"{m:g}" for m in medians)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", default="200", help="sizes of the cluster")
    parser.add_argument("--runs", type=int, default=3, help="runs of each controller")
    parser.add_argument("--only", choices=sorted(CONTESTANTS), help="run this controller alone")
    asked = parser.parse_args()
    names = [asked.only] if asked.only else USUAL
    contestants = [CONTESTANTS[name]() for name in names]
    runs: list[ScaledDown] = []
    for nodes, contestant in turns(contestants, [int(size) for size in asked.nodes.split(",")], asked.runs):
        runs.append(run(contestant, nodes))
        print(msgspec.json.encode(runs[-1]).decode(), flush=True)  # noqa: T201
    sys.stdout.write(table(runs))


if __name__ == "__main__":
    main()
