"""How fast a queue full of warnings is worked off, most of them about instances of others."""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.test_latency import NOW, Bench, Outside, machines, warning
from tests.bench.tuned import tuned
from treenail.actors.interruption_listener import InterruptionListener
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.taints import DISRUPTED

MESSAGES, OURS = 15_000, 1_500
# A pump receives no more while so many messages wait.
CONGESTED = 1_000


class Answering(Outside):
    """An API server that does what it is asked for at once, and tells of it; a queue that takes note."""

    def __init__(self) -> None:
        super().__init__()
        there = list(machines())[: 2 * OURS]
        self.claims = {c.name: c for c in there if isinstance(c, NodeClaim)}
        self.nodes = {n.name: n for n in there if isinstance(n, Node)}
        self.deleted: set[str] = set()
        self._revision = 10**6
        self._lock = threading.Lock()

    def patch_node(self, name: str, patch: NodePatch, *, seen: Node | None = None) -> Node:
        del seen
        with self._lock:
            there = self.nodes[name]
            changed = replace(there, taints=(*there.taints, *patch.add_taints))
            self._tell(changed)
            return changed

    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        del version
        with self._lock:
            there = self.claims[name]
            changed = replace(there, annotations={**there.annotations, **patch.annotations})
            self._tell(changed)
            return changed

    def delete_claim(self, name: str, *, uid: str) -> None:
        del uid
        with self._lock:
            self._tell(replace(self.claims[name], deleting_since=NOW))

    def delete_node(self, name: str, *, uid: str) -> None:
        del uid
        with self._lock:
            self._tell(replace(self.nodes[name], deleting_since=NOW))

    def delete(self, receipts: tuple[str, ...]) -> None:
        with self._lock:
            self.deleted.update(receipts)

    def _tell(self, thing: Node | NodeClaim) -> None:
        self._revision += 1
        assert self.cluster is not None
        if isinstance(thing, Node):
            self.nodes[thing.name] = replace(thing, resource_version=self._revision)
            self.cluster.tell(ObjectSeen(object=self.nodes[thing.name]))
        else:
            self.claims[thing.name] = replace(thing, resource_version=self._revision)
            self.cluster.tell(ObjectSeen(object=self.claims[thing.name]))

    def handled(self) -> bool:
        return (
            len(self.deleted) == MESSAGES
            and all(DISRUPTED in node.taints for node in self.nodes.values())
            and all(claim.leaving for claim in self.claims.values())
        )


def bodies() -> list[str]:
    """Return one warning each for so many instances; every tenth is one of ours."""
    apart = MESSAGES // OURS
    ids = [f"i-{n // apart:08x}" if n % apart == 0 else f"i-of-others-{n}" for n in range(MESSAGES)]
    return [warning(i) for i in ids]


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(Answering())
    with tuned():
        yield bench
        bench.close()


def test_a_queue_of_fifteen_thousand_warnings_is_worked_off(
    benchmark: BenchmarkFixture, bench: Bench
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    outside = bench.outside
    assert isinstance(outside, Answering)
    outside.know(*outside.claims.values(), *outside.nodes.values())
    waiting = [
        QueueMessage(id=str(n), receipt=str(n), body=body, sent_at=NOW, queue="q")
        for n, body in enumerate(bodies())
    ]
    bench.settle()

    def work_off() -> None:
        assert outside.listener is not None
        for one in waiting:
            while bench.threads.depth(InterruptionListener, TerminationActor) > CONGESTED:
                time.sleep(0.001)
            outside.listener.tell(one)
        until = time.monotonic() + 120
        while not outside.handled():
            assert time.monotonic() < until, "not all was handled"
            time.sleep(0.01)

    before, began = time.process_time(), time.perf_counter()
    benchmark.pedantic(work_off, rounds=1, iterations=1)  # type: ignore[no-untyped-call]
    seconds, computed = time.perf_counter() - began, time.process_time() - before
    began = time.perf_counter()
    for one in waiting:
        json.loads(one.body)
    parsing = time.perf_counter() - began
    rate = MESSAGES / seconds
    benchmark.extra_info["messages/s"] = round(rate)
    benchmark.extra_info["CPU s"] = round(computed, 1)
    benchmark.extra_info["times as long as parsing alone"] = round(seconds / parsing, 1)
    benchmark.extra_info["spans"] = len(bench.telemetry.spans())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    benchmark.extra_info["memory MB"] = round(most / (1024 if sys.platform == "linux" else 1024**2))
    assert bench.failures == []
    assert rate >= 1_000
