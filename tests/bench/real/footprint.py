"""Memory and CPU of a leader, of a follower, and of Karpenter, in clusters of several sizes.

    python -m tests.bench.real.footprint [--nodes 5,500,2000] [--pods 15] [--only treenail]

One node with its claim and pods is made by Kubernetes, KWOK and the controller, and written into etcd as
often as is asked for. Then the controllers run in this cluster: two replicas of Treenail, of which one leads,
or one of Karpenter. From when they are ready they have a while to themselves; then for a minute as many
nodes and pods change as do in clusters of this size. Prints a line of JSON for each process, then a table,
and fails where a ratio is not as it should be: what is measured are CPU seconds and resident memory, which
other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

from tests.bench.real.contest import NODES, install, until
from tests.bench.real.contestants import Contestant, karpenter, treenail
from tests.bench.real.etcd_writes import write
from tests.bench.real.hearing import STAMP
from tests.bench.real.large import NAME, PODS, copies, pod_name, running, seed, there
from tests.bench.real.process_state import process_state
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from tests.real.parts.processes import PartFailedError, Processes

# So long each has to itself once it is ready, and then until it needs less than this of a core over so many
# seconds.
SETTLE: Final = 60.0
_AT_REST: Final = 0.1
_REST_SECONDS: Final = 15.0
_SETTLE_AT_MOST: Final = 300.0
# So long things change then, and how often. A kubelet says every five minutes that its node is well; of a
# hundred pods one changes a minute.
CHANGING: Final = 60.0
_NODE_EVERY: Final = 300.0
_PODS_A_MINUTE: Final = 0.01
# From so many nodes on a leader uses no more than the peer, and a follower no more than these shares of its
# leader. Memory is mostly of the code and of the objects read, which both have: the leader's own are its
# model, which refers to the same objects, and the process of the packer.
COMPARED_FROM: Final = 500
FOLLOWER_SHARES: Final = {"cpu_seconds_a_minute": 0.6, "start_cpu_seconds": 0.8, "resident_mib": 0.65}
PEER_SHARES: Final = dict.fromkeys(FOLLOWER_SHARES, 1.0)
CONTESTANTS: Final = {"karpenter": karpenter, "treenail": treenail}
# What was left running for nothing.
_IDLE_PARTS: Final = ("kwok", "kube-controller-manager", "kube-scheduler")
_LEADS: Final = {"DISABLE_LEADER_ELECTION": "false"}


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """What one process used, children included.

    `start_cpu_seconds` are those until it was at rest after its start, `cpu_seconds_a_minute` those of
    the minute of changes. `resident_mib` is what it holds after that, `most_mib` the most that was seen.
    `load` is the machine's load average then: runs with much of it took longer.
    """

    role: str
    nodes: int
    pods: int
    start_cpu_seconds: float
    cpu_seconds_a_minute: float
    resident_mib: float
    most_mib: float
    by_process: list[float]
    load: float


def measure(contestant: Contestant, nodes: int, pods: int) -> list[Footprint]:
    """Return the footprints of a controller's replicas, in a cluster of so many nodes and pods in all."""
    with ControlPlane() as parts:
        install(parts, contestant)
        first = seed(parts, -(-pods // nodes), contestant)
        for part in _IDLE_PARTS:
            parts.stop_part(part)
        write(parts.etcd, copies(first, nodes, pods))
        until(lambda: there(parts) > pods, "the API server does not see them", patience=120.0)
        with ExitStack() as opened:
            roles = opened.enter_context(_replicas(contestant, parts))
            watched = [_Watched(role, pid) for role, pid in roles]
            settle(watched)
            change(parts, nodes, pods, watched)
            return [one.footprint(nodes, pods) for one in watched]


@contextmanager
def _replicas(contestant: Contestant, parts: ControlPlane) -> Iterator[list[tuple[str, int]]]:
    """Run what there is of a controller: its roles and process ids."""
    if contestant.name != NAME:
        with running(contestant, parts, {}) as (processes, pid, _):
            yield [(contestant.name, pid)]
            _expect_alive(processes)
        return
    # Whoever comes first leads: the other one finds the lease held.
    with running(contestant, parts, _LEADS) as (leading, leader, _):
        until(lambda: _leads(leading), "the first replica does not lead", patience=60.0)
        with running(contestant, parts, _LEADS) as (following, follower, _):
            yield [("leader", leader), ("follower", follower)]
            _expect_alive(leading)
            _expect_alive(following)
            assert not _leads(following)


def _leads(processes: Processes) -> bool:
    return "this replica leads" in processes.log_of(NAME).read_text()


def _expect_alive(processes: Processes) -> None:
    if not processes.running():
        raise PartFailedError(f"it ended meanwhile; it said last:\n{processes.last_lines(NAME)}")


class _Watched:
    """A process whose memory is looked at again and again."""

    def __init__(self, role: str, pid: int) -> None:
        self._role, self._pid = role, pid
        self._most = 0.0
        self._settled_cpu = 0.0

    def look(self) -> None:
        self._most = max(self._most, process_state(self._pid).total_mib)

    def settled(self) -> float:
        """Note what it has used up to now; return how many CPU seconds it used since the last time."""
        before, self._settled_cpu = self._settled_cpu, process_state(self._pid).cpu_seconds
        return self._settled_cpu - before

    def footprint(self, nodes: int, pods: int) -> Footprint:
        state = process_state(self._pid)
        return Footprint(
            role=self._role,
            nodes=nodes,
            pods=pods,
            start_cpu_seconds=round(self._settled_cpu, 1),
            cpu_seconds_a_minute=round((state.cpu_seconds - self._settled_cpu) * 60 / CHANGING, 1),
            resident_mib=round(state.total_mib, 1),
            most_mib=round(max(self._most, state.total_mib), 1),
            by_process=state.resident_mib,
            load=round(os.getloadavg()[0], 1),
        )


def settle(watched: Sequence[_Watched]) -> None:
    """Wait until what the start of each brought with it is over."""
    begun = time.monotonic()
    _look(watched, SETTLE - _REST_SECONDS)
    used = [one.settled() for one in watched]
    while max(used) > _AT_REST * _REST_SECONDS and time.monotonic() - begun < _SETTLE_AT_MOST:
        _look(watched, _REST_SECONDS)
        used = [one.settled() for one in watched]


def _look(watched: Sequence[_Watched], seconds: float) -> None:
    until_then = time.monotonic() + seconds
    while time.monotonic() < until_then:
        for one in watched:
            one.look()
        time.sleep(0.5)


def change(parts: ControlPlane, nodes: int, pods: int, watched: Sequence[_Watched]) -> None:
    """Change nodes and pods for `CHANGING` seconds, as often as a cluster of this size does."""
    dice, begun = random.Random(1), time.monotonic()
    paths = [f"{NODES}/copy-{dice.randrange(nodes)}" for _ in range(round(nodes * CHANGING / _NODE_EVERY))]
    changed = round(pods * _PODS_A_MINUTE * CHANGING / 60)
    paths += [f"{PODS}/{pod_name(dice.randrange(pods))}" for _ in range(changed)]
    dice.shuffle(paths)
    for number, path in enumerate(paths):
        _look(watched, begun + CHANGING * (number + 1) / len(paths) - time.monotonic())
        body = {"metadata": {"labels": {STAMP: f"{time.time():.3f}"}}}
        status, answer = parts.request("PATCH", path, body, MERGE)
        assert status == 200, answer
    _look(watched, begun + CHANGING - time.monotonic())


def misses(found: Sequence[Footprint]) -> list[str]:
    """Return which ratios are not as they should be; those of a role that was not measured are not asked."""
    by = {(one.role, one.nodes): one for one in found}
    problems = []
    for nodes in sorted({one.nodes for one in found if one.nodes >= COMPARED_FROM}):
        leader, peer, follower = (by.get((role, nodes)) for role in ("leader", "karpenter", "follower"))
        for less, more, shares in ((leader, peer, PEER_SHARES), (follower, leader, FOLLOWER_SHARES)):
            if less is None or more is None:
                continue
            for figure, share in shares.items():
                if (is_now := getattr(less, figure)) > share * getattr(more, figure):
                    limit = f"{share:.0%} of the {more.role}'s {getattr(more, figure)}"
                    problems.append(f"{nodes} nodes: {figure} of the {less.role} is {is_now}, over {limit}")
    return problems


def table(found: Sequence[Footprint]) -> str:
    """Return the figures as a table for people."""
    figures = ("start_cpu_seconds", "cpu_seconds_a_minute", "resident_mib", "most_mib", "load")
    lines = [["nodes", "pods", "role", *(figure.replace("_", " ") for figure in figures)]]
    lines.append(["---"] * len(lines[0]))
    for one in sorted(found, key=lambda f: (f.nodes, f.role)):
        numbers = [f"{getattr(one, figure):g}" for figure in figures]
        lines.append([str(one.nodes), str(one.pods), one.role, *numbers])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", default="5,500,2000", help="sizes of the cluster")
    parser.add_argument("--pods", type=int, default=15, help="of each node")
    parser.add_argument("--only", choices=sorted(CONTESTANTS), help="run this controller alone")
    asked = parser.parse_args()
    names = [asked.only] if asked.only else sorted(CONTESTANTS)
    found: list[Footprint] = []
    for nodes in (int(size) for size in asked.nodes.split(",")):
        for name in names:
            some = measure(CONTESTANTS[name](), nodes, nodes * asked.pods)
            for one in some:
                print(msgspec.json.encode(one).decode(), flush=True)  # noqa: T201
            found += some
    sys.stdout.write(table(found))
    if problems := misses(found):
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
