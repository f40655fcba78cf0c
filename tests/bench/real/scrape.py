"""How large a scrape of /metrics is, of each controller, in a cluster that it bought itself.

    python -m tests.bench.real.scrape [--nodes 500] [--pools 20] [--only treenail]

Each pool has a Deployment of its own, three of whose pods fill a node. Once all pods are ready and nine of
ten claims initialized, /metrics is asked for five times. Prints a line of JSON for each controller, with its
series, bytes, milliseconds (the median, and by scrape) and its ten largest families.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from copy import deepcopy
from typing import Any, Final

import msgspec
import urllib3

from tests.bench.real.contest import DEPLOYMENTS, POOL, deployment, install, made, until
from tests.bench.real.contestants import POOL_PATH, Contestant, common_env, karpenter, treenail
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.objects import says
from tests.real.parts.processes import Processes, Program

CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
PODS_A_NODE: Final = 3
SCRAPES: Final = 5
_ENOUGH: Final = 0.9
_CORES: Final = "karpenter.kwok.sh/instance-cpu"


class Scrape(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one controller. `load` is the machine's load average at the scrapes."""

    controller: str
    nodes: int
    series: int
    bytes: int
    milliseconds: float
    each: list[float]
    largest: dict[str, int]
    load: float


def measure(contestant: Contestant, nodes: int, pools: int) -> Scrape:
    """Have a controller buy the nodes, and scrape it.

    Raises:
        TimeoutError: the pods are not all ready, or too few claims initialized, in time.
    """
    with ControlPlane() as parts:
        install(parts, contestant)
        for name in _names(pools):
            made(parts, POOL_PATH.rpartition("/")[0], _pool(name))
        metrics_port, health_port = free_ports(2)
        env = common_env(parts.kubeconfig, metrics_port=metrics_port, health_port=health_port)
        processes = Processes()
        try:
            processes.start(
                Program(
                    name=contestant.name,
                    command=contestant.command,
                    ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
                    env={**env, **contestant.env},
                )
            )
            processes.wait(contestant.name)
            until(lambda: contestant.settled(parts), "the pools are not taken in")
            _buy(parts, nodes, pools)
            bought = len(parts.request("GET", CLAIMS)[1]["items"])
            return _scrape(contestant.name, bought, f"http://127.0.0.1:{metrics_port}/metrics")
        finally:
            processes.close()


def _names(pools: int) -> list[str]:
    return [f"pool-{n:02}" for n in range(pools)]


def _pool(name: str) -> dict[str, Any]:
    """Return a pool of nodes with four cores, which only pods that name it may use."""
    pool = deepcopy(POOL)
    pool["metadata"]["name"] = name
    template = pool["spec"]["template"]
    template["metadata"] = {"labels": {"bench.test/pool": name}}
    template["spec"]["requirements"].append({"key": _CORES, "operator": "In", "values": ["4"]})
    return pool


def _buy(parts: ControlPlane, nodes: int, pools: int) -> None:
    pods = nodes * PODS_A_NODE // pools
    for name in _names(pools):
        workload = deployment(pods, name)
        spec = workload["spec"]["template"]["spec"]
        spec["nodeSelector"] = {"bench.test/pool": name}
        spec["containers"][0]["resources"] = {"requests": {"cpu": "1200m", "memory": "256Mi"}}
        made(parts, DEPLOYMENTS, workload)

    def ready() -> int:
        listed = parts.request("GET", DEPLOYMENTS)[1]["items"]
        return sum(one.get("status", {}).get("readyReplicas") or 0 for one in listed)

    until(lambda: ready() == pods * pools, "the pods do not run", patience=300.0)
    # On a busy machine KWOK is late with the heartbeats of some, which are then no longer ready.
    until(lambda: _initialized(parts) >= _ENOUGH, "the nodes are not initialized", patience=180.0)
    time.sleep(15)


def _initialized(parts: ControlPlane) -> float:
    """Return the share of claims that are initialized."""
    claims = parts.request("GET", CLAIMS)[1]["items"]
    return sum(says(claim, "Initialized") for claim in claims) / max(len(claims), 1)


def _scrape(name: str, nodes: int, url: str) -> Scrape:
    http, took, body = urllib3.PoolManager(), [], b""
    for _ in range(SCRAPES):
        begun = time.monotonic()
        body = http.request("GET", url, timeout=60).data
        took.append(round((time.monotonic() - begun) * 1000, 1))
        time.sleep(2)
    lines = [line for line in body.decode().splitlines() if line and not line.startswith("#")]
    families = Counter(line.partition("{")[0].partition(" ")[0] for line in lines)
    return Scrape(
        controller=name,
        nodes=nodes,
        series=len(lines),
        bytes=len(body),
        milliseconds=statistics.median(took),
        each=took,
        largest=dict(families.most_common(10)),
        load=round(os.getloadavg()[0], 1),
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pools", type=int, default=20)
    parser.add_argument("--only")
    asked = parser.parse_args()
    for one in (karpenter(), treenail()):
        if asked.only in (None, one.name):
            found = msgspec.json.encode(measure(one, asked.nodes, asked.pools)).decode()
            sys.stdout.write(f"{found}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
