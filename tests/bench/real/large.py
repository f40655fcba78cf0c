"""A large cluster on a real API server: how soon the controller knows it, its memory, and what it hears.

    python -m tests.bench.real.large [--pods 50000] [--nodes 2000] [--seconds 120]

One node and its pods are made by Kubernetes, KWOK and the controller; then they are written into etcd as
often as is asked for, each under names of its own. Prints the figures as one line of JSON: seconds to ready,
and CPU seconds of that; resident MiB then and after lists were read anew; and how late changes of pods were
heard of meanwhile.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.bench.real.contest import DEPLOYMENTS, MIB, NODES, deployment, install, until
from tests.bench.real.contestants import Contestant, common_env, treenail
from tests.bench.real.etcd_writes import write
from tests.bench.real.hearing import STAMP
from tests.bench.real.usage import usage
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.objects import MERGE, says
from tests.real.parts.processes import Processes, Program

PODS: Final = "/api/v1/namespaces/default/pods"
CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
# How many pods are of one Deployment.
REPLICAS: Final = 100
# Between two changes of pods, in seconds.
EVERY: Final = 0.1
NAME: Final = "treenail"


@dataclass(frozen=True, slots=True)
class Seed:
    """A node with its claim, and pods, as the API server has them."""

    node: dict[str, Any]
    claim: dict[str, Any]
    pods: list[dict[str, Any]]


def seed(parts: ControlPlane, pods: int, by: Contestant) -> Seed:
    """Have a controller buy nodes for so many pods."""
    with running(by, parts, {}):
        until(lambda: by.settled(parts), "the pool is not taken in")
        made = deployment(pods)
        container = made["spec"]["template"]["spec"]["containers"][0]
        container["resources"] = {"requests": {"cpu": "100m", "memory": "128Mi"}}
        container["env"] = [{"name": f"SETTING_{n}", "value": "v" * 20} for n in range(10)]
        assert parts.request("POST", DEPLOYMENTS, made)[0] == 201

        def ready() -> list[dict[str, Any]]:
            return [p for p in parts.request("GET", PODS)[1]["items"] if says(p, "Ready")]

        until(lambda: len(ready()) == pods, "the first pods do not run", patience=120.0)
        until(
            lambda: all(says(c, "Initialized") for c in parts.request("GET", CLAIMS)[1]["items"]),
            "the first node is not initialized",
        )
        node = parts.request("GET", NODES)[1]["items"][0]
        claims = parts.request("GET", CLAIMS)[1]["items"]
        [claim] = [c for c in claims if c["status"]["nodeName"] == node["metadata"]["name"]]
        return Seed(node, claim, ready())


def copies(of: Seed, nodes: int, pods: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield keys of etcd and objects: the node, its claim and its pods, under other names."""
    share = -(-pods // nodes)
    for n in range(nodes):
        node_name, node_uid = f"copy-{n}", f"00000000-0000-4000-8000-{n:012d}"
        claim_name, claim_uid = f"default-copy-{n}", f"00000000-0000-4000-8001-{n:012d}"
        text = msgspec.json.encode({"node": of.node, "claim": of.claim}).decode()
        for old, new in (
            (of.node["metadata"]["name"], node_name),
            (of.claim["metadata"]["name"], claim_name),
            (of.node["metadata"]["uid"], node_uid),
            (of.claim["metadata"]["uid"], claim_uid),
        ):
            text = text.replace(old, new)
        both = msgspec.json.decode(text)
        yield f"/registry/minions/{node_name}", {"apiVersion": "v1", "kind": "Node", **_fresh(both["node"])}
        yield f"/registry/karpenter.sh/nodeclaims/{claim_name}", _fresh(both["claim"])
        for p in range(min(share, pods - n * share)):
            number = n * share + p
            yield (
                f"/registry/pods/default/{pod_name(number)}",
                _pod(of.pods[p % len(of.pods)], number, node_name),
            )


def pod_name(number: int) -> str:
    return f"web-{number // REPLICAS}-7c9d8b6f5-{number:05d}"


def _pod(of: dict[str, Any], number: int, node: str) -> dict[str, Any]:
    pod = _fresh(copy.deepcopy(of))
    meta, app = pod["metadata"], f"web-{number // REPLICAS}"
    meta.update(name=pod_name(number), uid=f"00000000-0000-4000-8002-{number:012d}")
    meta["labels"] = {"app": app, "team": f"team-{number // REPLICAS % 50}", "pod-template-hash": "7c9d8b6f5"}
    meta["annotations"] = {"prometheus.io/scrape": "true", "checksum/config": f"{number // REPLICAS:064d}"}
    meta["ownerReferences"][0].update(
        name=f"{app}-7c9d8b6f5", uid=f"00000000-0000-4000-8003-{number // REPLICAS:012d}"
    )
    pod["spec"]["nodeName"] = node
    # Each Deployment asks for something of its own.
    pod["spec"]["containers"][0]["env"][0]["value"] = app
    pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = f"{64 + number // REPLICAS % 64}Mi"
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _fresh(thing: dict[str, Any]) -> dict[str, Any]:
    thing["metadata"].pop("resourceVersion", None)
    return thing


@contextmanager
def running(
    contestant: Contestant, parts: ControlPlane, env: dict[str, str]
) -> Iterator[tuple[Processes, int, float]]:
    """Run a controller: its process, and how many seconds it took to be ready."""
    metrics_port, health_port = free_ports(2)
    said = common_env(parts.kubeconfig, metrics_port=metrics_port, health_port=health_port)
    processes = Processes()
    try:
        begun = time.monotonic()
        processes.start(
            Program(
                name=NAME,
                command=contestant.command,
                ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
                env={**said, **contestant.env, "STATE_DIRECTORY": str(processes.folder / "state"), **env},
            )
        )
        processes.wait(NAME, patience=300.0)
        yield processes, processes.pid(NAME), time.monotonic() - begun
    finally:
        processes.close()


def stamp(parts: ControlPlane, pods: int, seconds: float) -> int:
    """Change one pod after the other for so many seconds; return how many."""
    dice, until_then, count = random.Random(1), time.monotonic() + seconds, 0
    while time.monotonic() < until_then:
        change = {"metadata": {"labels": {STAMP: f"{time.time():.3f}"}}}
        name = pod_name(dice.randrange(pods))
        status, answer = parts.request("PATCH", f"{PODS}/{name}", change, MERGE)
        assert status == 200, answer
        count += 1
        time.sleep(EVERY)
    return count


def measure(nodes: int, pods: int, seconds: float) -> dict[str, object]:
    """Return the figures."""
    with ControlPlane() as parts:
        install(parts, treenail())
        first = seed(parts, -(-pods // nodes), treenail())
        for part in ("kwok", "kube-controller-manager", "kube-scheduler"):
            parts.stop_part(part)
        begun = time.monotonic()
        written = write(parts.etcd, copies(first, nodes, pods))
        until(lambda: there(parts) > pods, "the API server does not see them", patience=120.0)
        figures: dict[str, object] = {
            "objects": written,
            "writing_seconds": round(time.monotonic() - begun, 1),
        }
        with running(treenail(), parts, {}) as (_, pid, ready):
            figures |= {
                "start_seconds": round(ready, 1),
                "start_cpu_seconds": round(usage(pid).cpu_seconds, 1),
            }
            figures["resident_mib"] = _resident(pid)
            time.sleep(20)
            figures["resident_mib_later"] = _resident(pid)
        heard = parts.folder / "heard.txt"
        contestant = treenail()
        command = [sys.executable, "-m", "tests.bench.real.hearing", "controller"]
        loud = Contestant(
            name=contestant.name,
            command=command,
            crds=contestant.crds,
            settled=contestant.settled,
            env=contestant.env,
        )
        root = str(Path(__file__).parents[3])
        where = {"HEARD": str(heard), "PYTHONPATH": f"{root}:{root}/.dev"}
        with running(loud, parts, where) as (_, pid, ready):
            figures["start_seconds_again"] = round(ready, 1)
            figures["changes"] = stamp(parts, pods, seconds)
            time.sleep(5)
            figures["resident_mib_relisted"] = _resident(pid)
        figures |= told(heard.read_text())
    return figures


def told(heard: str) -> dict[str, object]:
    """Return what the notes of a controller say."""
    lines = [line.split() for line in heard.splitlines()]
    late = sorted(float(line[2]) for line in lines if line[0] == "heard")
    lists = [float(line[2]) for line in lines if line[0] == "list" and line[3] == "pods"]
    resyncs = [float(line[2]) for line in lines if line[0] == "resync"]
    return {
        "heard": len(late),
        "heard_median_seconds": late[len(late) // 2] if late else None,
        "heard_latest_seconds": late[-1] if late else None,
        "lists_of_pods": len(lists),
        "list_of_pods_seconds": max(lists, default=None),
        "resyncs": len(resyncs),
        "resync_seconds": max(resyncs, default=None),
    }


def _resident(pid: int) -> float:
    return round(usage(pid).resident_bytes / MIB, 1)


def there(parts: ControlPlane) -> int:
    """Return how many pods there are."""
    listed = parts.request("GET", f"{PODS}?limit=1")[1]
    return 1 + int(listed["metadata"].get("remainingItemCount", 0))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long pods are changed")
    asked = parser.parse_args()
    print(msgspec.json.encode(measure(asked.nodes, asked.pods, asked.seconds)).decode())  # noqa: T201


if __name__ == "__main__":
    main()
