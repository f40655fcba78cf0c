"""What controllers ask of the API server a minute, by verb and kind: at rest, and while nodes drain.

    python -m tests.bench.real.api_load [--nodes 50] [--minutes 2] [--only treenail]

Every node has one pod with a volume. All claims are deleted; of half of the nodes the pods go but the volumes
stay attached, and budgets forbid the other half of the pods to go. From then on nothing more happens but what
controllers ask for. Prints a line of JSON for each, then a table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.bench.real.contest import install, until
from tests.bench.real.contestants import POOL_PATH, Contestant, common_env, karpenter, treenail
from tests.bench.real.held_nodes import HeldNodes
from tests.real.kubernetes.faults import Asked
from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.objects import MERGE
from tests.real.parts.processes import Processes, Program

CONTESTANTS: Final = {"karpenter": karpenter, "treenail": treenail}
# Until what began with the nodes is over.
SETTLE: Final = 30.0


def what(asked: Asked) -> str:
    """Return verb and kind of a request, as RBAC calls them: `list pods`, `create pods/eviction`."""
    at = urlsplit(asked.target)
    parts = at.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    kind = "/".join((parts[0], *parts[2:])) if parts else at.path
    named = len(parts) != 1
    match asked.method:
        case "GET" if "watch" in parse_qs(at.query):
            verb = "watch"
        case "GET":
            verb = "get" if named else "list"
        case "POST":
            verb = "create"
        case "PUT":
            verb = "update"
        case method:
            verb = method.lower()
    return f"{verb} {kind}"


def per_minute(proxy: Proxy, seconds: float) -> dict[str, float]:
    """Return what is asked in the seconds to come, a minute, by verb and kind."""
    since = time.monotonic()
    time.sleep(seconds)
    counts = Counter(what(asked) for asked in proxy.asked(since=since))
    return {name: round(count * 60 / seconds, 1) for name, count in sorted(counts.items())}


def measure(contestant: Contestant, nodes: int, minutes: float) -> dict[str, object]:
    """Return what a controller asks for a minute: at rest with so many nodes, and while they all drain."""
    with ControlPlane() as parts, Proxy(parts, parts.folder) as proxy:
        install(parts, contestant)
        metrics_port, health_port = free_ports(2)
        said = common_env(proxy.kubeconfig, metrics_port=metrics_port, health_port=health_port)
        processes = Processes()
        program = Program(
            name=contestant.name,
            command=contestant.command,
            ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
            env={**said, **contestant.env},
        )
        try:
            processes.start(program)
            processes.wait(contestant.name)
            until(lambda: contestant.settled(parts), "the pool is not taken in")
            held = HeldNodes(parts)
            held.make(nodes)
            time.sleep(SETTLE)
            rest = per_minute(proxy, 60 * minutes)
            # Nothing is bought for pods that are to go.
            parts.request("PATCH", POOL_PATH, {"spec": {"limits": {"cpu": "1"}}}, MERGE)
            held.drain(held.names[::2], attached=True)
            held.drain(held.names[1::2], attached=False)
            time.sleep(SETTLE)
            draining = per_minute(proxy, 60 * minutes)
            left = held.left()
        finally:
            processes.close()
    return {"controller": contestant.name, "nodes": nodes, "left": left, "rest": rest, "draining": draining}


def table(runs: Mapping[str, Mapping[str, object]]) -> str:
    """Return requests a minute by verb and kind, as a table for people."""
    phases = [(name, phase) for name in runs for phase in ("rest", "draining")]
    columns: list[dict[str, float]] = [runs[name][phase] for name, phase in phases]  # type: ignore[misc]
    lines = [["", *(f"{name}, {phase}" for name, phase in phases)], ["---"] * (len(phases) + 1)]
    keys = sorted({key for column in columns for key in column})
    lines += [[key, *(f"{column.get(key, 0):g}" for column in columns)] for key in keys]
    lines.append(["in all", *(f"{sum(column.values()):g}" for column in columns)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=2.0, help="for how long is counted, each time")
    parser.add_argument("--only", choices=sorted(CONTESTANTS), help="run this controller alone")
    asked = parser.parse_args()
    runs: dict[str, dict[str, object]] = {}
    for name in [asked.only] if asked.only else sorted(CONTESTANTS):
        runs[name] = measure(CONTESTANTS[name](), asked.nodes, asked.minutes)
        print(msgspec.json.encode(runs[name]).decode(), flush=True)  # noqa: T201
    sys.stdout.write(table(runs))


if __name__ == "__main__":
    main()
