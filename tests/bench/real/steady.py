"""A cluster that changes all the time, and what the controller holds each minute: it must not grow.

    python -m tests.bench.real.steady [--nodes 200] [--minutes 30] [--changes 10]

Ten times a minute something changes: a Deployment is scaled to nothing or back, and as the last change of
each minute a NodeClaim is deleted, so that a node is drained and another bought. Prints a line of JSON each
minute: resident MiB of the controller and of the packer's process, threads, sockets, open files, CPU
seconds. Then a line with what changed between the minutes after the first third and the last third. Fails
where memory is not within 5 %, or more threads, sockets or files are open.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tests.bench.real.contest import DEPLOYMENTS, NODES, POOL, deployment, install, until
from tests.bench.real.contestants import POOL_PATH, treenail
from tests.bench.real.large import CLAIMS, NAME, running
from tests.bench.real.process_state import ProcessState, process_state
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE

# How much of the memory may come or go.
SLACK: Final = 0.05
# What opens and closes by itself: a connection that is idle, the look of a probe.
_SPARE: Final = 6
_PODS_A_NODE: Final = 5
# Of a machine with four CPUs, five pods of this fit, and no sixth.
_POD_CPU: Final = "700m"
_CPUS: Final = {"key": "karpenter.kwok.sh/instance-cpu", "operator": "In", "values": ["4"]}
_PATIENCE: Final = 900.0


class Minute(msgspec.Struct, frozen=True, kw_only=True):
    """What a minute ended with."""

    minute: int
    nodes: int
    pods_ready: int
    state: ProcessState


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """The middle third beside the last: medians of MiB, the most threads, sockets and files that were open.

    `mib_an_hour` is the slope of memory over both thirds, by least squares.
    """

    mib: tuple[float, float]
    mib_an_hour: float
    threads: tuple[int, int]
    sockets: tuple[int, int]
    files: tuple[int, int]

    def grown(self) -> list[str]:
        """Return the names of what has grown."""
        found = ["memory"] if abs(self.mib[1] - self.mib[0]) > SLACK * self.mib[0] else []
        counts = {"threads": self.threads, "sockets": self.sockets, "files": self.files}
        return found + [name for name, (before, then) in counts.items() if then > before + _SPARE]


def growth(minutes: Sequence[Minute]) -> Growth:
    """Compare the last third of at least six minutes with the third before it; the first is left out."""
    third = len(minutes) // 3
    middle, last = minutes[third : 2 * third], minutes[2 * third :]
    memory = [(m.minute / 60, m.state.total_mib) for m in (*middle, *last)]
    slope = statistics.linear_regression(*zip(*memory, strict=True)).slope
    medians = [statistics.median(m.state.total_mib for m in part) for part in (middle, last)]

    def most(name: str) -> tuple[int, int]:
        before, then = (max(getattr(m.state, name) for m in part) for part in (middle, last))
        return before, then

    return Growth(
        mib=(round(medians[0], 1), round(medians[1], 1)),
        mib_an_hour=round(slope, 1),
        threads=most("threads"),
        sockets=most("sockets"),
        files=most("files"),
    )


class Churn:
    """Deployments of which one is scaled to nothing or back at each change; every tenth costs a node."""

    def __init__(self, parts: ControlPlane, nodes: int) -> None:
        self._parts = parts
        self._dice = random.Random(1)
        self._each = _PODS_A_NODE * 4
        self._sizes = dict.fromkeys((f"web-{n}" for n in range(-(-nodes // 4))), self._each)

    def make(self) -> None:
        """Have all Deployments, and wait until all their pods are ready."""
        for name, replicas in self._sizes.items():
            status, answer = self._parts.request("POST", DEPLOYMENTS, _named(name, replicas))
            assert status == 201, answer
        wanted = sum(self._sizes.values())
        until(lambda: self.ready() == wanted, "the first pods do not run", patience=_PATIENCE)

    def ready(self) -> int:
        """Return how many pods are ready."""
        items = self._parts.request("GET", DEPLOYMENTS)[1]["items"]
        return sum(item.get("status", {}).get("readyReplicas", 0) for item in items)

    def change(self) -> None:
        """Scale a Deployment: one in five is at nothing at most, so that the cluster keeps its size."""
        gone = [name for name, size in self._sizes.items() if not size]
        name = self._dice.choice(gone if len(gone) > len(self._sizes) // 5 else list(self._sizes))
        self._sizes[name] = 0 if self._sizes[name] else self._each
        change = {"spec": {"replicas": self._sizes[name]}}
        status, answer = self._parts.request("PATCH", f"{DEPLOYMENTS}/{name}", change, MERGE)
        assert status == 200, answer

    def lose_node(self) -> None:
        """Delete a NodeClaim."""
        there = sorted(c["metadata"]["name"] for c in self._parts.request("GET", CLAIMS)[1]["items"])
        self._parts.request("DELETE", f"{CLAIMS}/{self._dice.choice(there)}")


def _named(name: str, replicas: int) -> dict[str, Any]:
    made = deployment(replicas)
    labels = {"app": name}
    made["metadata"]["name"] = name
    made["spec"]["selector"]["matchLabels"] = labels
    made["spec"]["template"]["metadata"]["labels"] = labels
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": _POD_CPU, "memory": "256Mi"}}
    return made


def soak(nodes: int, minutes: int, changes: int) -> list[Minute]:
    """Run the cluster for so many minutes and return what each ended with."""
    found: list[Minute] = []
    with ControlPlane() as parts:
        install(parts, treenail())
        template = POOL["spec"]["template"]["spec"]
        spec = {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "20s"},
            "template": {"spec": {"requirements": [*template["requirements"], _CPUS]}},
        }
        status, answer = parts.request("PATCH", POOL_PATH, {"spec": spec}, MERGE)
        assert status == 200, answer
        with running(treenail(), parts, {"DISABLE_LEADER_ELECTION": "false"}) as (processes, _, _):
            churn = Churn(parts, nodes)
            churn.make()
            begun = time.monotonic()
            for minute in range(minutes):
                for n in range(changes):
                    at = begun + 60 * (minute + (n + 1) / changes)
                    time.sleep(max(0.0, at - time.monotonic()))
                    churn.lose_node() if n == changes - 1 else churn.change()
                found.append(
                    Minute(
                        minute=minute + 1,
                        nodes=len(parts.request("GET", NODES)[1]["items"]),
                        pods_ready=churn.ready(),
                        state=process_state(processes.pid(NAME)),
                    )
                )
                print(msgspec.json.encode(found[-1]).decode(), flush=True)  # noqa: T201
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--minutes", type=int, default=30, help="six at least")
    parser.add_argument("--changes", type=int, default=10, help="a minute")
    asked = parser.parse_args()
    found = growth(soak(asked.nodes, asked.minutes, asked.changes))
    print(msgspec.json.encode(found).decode())  # noqa: T201
    if found.grown():
        sys.exit(f"grown: {', '.join(found.grown())}")


if __name__ == "__main__":
    main()
