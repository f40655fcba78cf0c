"""How soon the machines are asked for that replace those EC2 takes back, whatever else is being planned."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.test_interruptions import Answering
from tests.bench.test_latency import NOW, Bench, pods, processor_noted
from tests.bench.tuned import tuned
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model.claims import PROMISED
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance, InstanceState
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.pods import HostPort, Owner, Phase, Pod, PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.telemetry import metrics

NOTICES, SECONDS, PODS_OF_NODE = 50, 5.0, 4
REQUESTS = Resources.parse({"cpu": "500m", "memory": "1Gi", "pods": 1})
# Of each node one pod has a port of its own, so a machine is bought for it; others may go beside it.
WITH_PORT = PodSpec(requests=REQUESTS, host_ports=(HostPort(4000),))
WITHOUT = PodSpec(requests=REQUESTS)


class Selling(Answering):
    """An EC2 that sells at once and notes when it was asked, and an API server that takes claims."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, float] = {}
        self._numbers = count(10**6)
        self._by_name = {one.name: one for one in self._types}

    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        with self._lock:
            made = replace(claim, uid=claim.name, created_at=datetime.now(UTC))
            self._tell(made)
            return self.claims[claim.name]

    def get_claim(self, name: str) -> NodeClaim:
        with self._lock:
            return self.claims[name]

    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        if patch.provider_id is None:
            return super().patch_claim(name, patch, version=version)
        with self._lock:
            there = self.claims[name]
            changed = replace(
                there,
                provider_id=patch.provider_id,
                labels={**there.labels, **patch.labels},
                # Without them nothing that was promised would fit, and all would be bought once more.
                capacity=patch.capacity or there.capacity,
                allocatable=patch.allocatable or there.allocatable,
            )
            self._tell(changed)
            return changed

    def launch(self, request: FleetRequest) -> FleetAnswer:
        self.asked.setdefault(request.token, time.monotonic())
        return FleetAnswer(instances=tuple(self._instance(request) for _ in range(request.count)))

    def _instance(self, request: FleetRequest) -> Instance:
        chosen = request.overrides[0]
        bought = self._by_name[chosen.instance_type]
        return Instance(
            id=f"i-{next(self._numbers):08x}",
            instance_type=chosen.instance_type,
            zone=chosen.zone,
            capacity_type=request.capacity_type,
            state=InstanceState.RUNNING,
            launched_at=datetime.now(UTC),
            image_id="ami-1",
            price=chosen.price,
            tags=dict(request.tags),
            capacity=bought.capacity,
            allocatable=bought.allocatable,
            labels={},
        )

    def bought_for(self) -> dict[str, float]:
        """Return by uid when the machine of a pod was first asked for."""
        with self._lock:
            claims = tuple(self.claims.values())
        found: dict[str, float] = {}
        for claim in claims:
            mark = LaunchMark.of(claim)
            if mark is None or mark.token not in self.asked:
                continue
            for uid in claim.annotations.get(PROMISED, "").split(","):
                found[uid] = min(self.asked[mark.token], found.get(uid, float("inf")))
        return found


def bound() -> Iterator[Pod]:
    """The pods of the nodes that EC2 takes back."""
    for number in range(NOTICES * PODS_OF_NODE):
        node = number % NOTICES
        yield Pod(
            uid=f"bound-{number}",
            name=f"bound-{number}",
            resource_version=10**5 + number,
            owners=(Owner(kind="ReplicaSet", name=f"b{node}", uid=f"b{node}"),),
            spec=WITH_PORT if number < NOTICES else WITHOUT,
            phase=Phase.RUNNING,
            node_name=f"node-{node}",
            created_at=NOW,
        )


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(Selling())
    with tuned():
        yield bench
        bench.close()


@pytest.mark.parametrize("waiting", [0, 20_000])
def test_fifty_machines_taken_back_within_five_seconds_are_asked_for_anew_within_two(
    benchmark: BenchmarkFixture, bench: Bench, waiting: int
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    outside = bench.outside
    assert isinstance(outside, Selling)
    others = tuple(pods())[:waiting]
    outside.know(*outside.claims.values(), *outside.nodes.values(), *bound(), *others)
    # What is being handled waits in no inbox any more: the first list must be known, not only taken up.
    while len(bench.system.model.objects.pods) < NOTICES * PODS_OF_NODE + waiting:
        time.sleep(0.01)
    bench.settle()
    sent: dict[int, float] = {}

    def take_back() -> None:
        """Announce the end of one after the other, and wait until all were asked for anew."""
        assert not waiting or bench.solver.began.wait(60)
        for number in range(NOTICES):
            sent[number] = time.monotonic()
            bench.interrupt(number)
            time.sleep(SECONDS / NOTICES)
        until = time.monotonic() + 120
        while len(_delays(outside, sent)) < NOTICES:
            assert time.monotonic() < until, "not all were asked for"
            time.sleep(0.05)

    with processor_noted(benchmark):
        benchmark.pedantic(take_back, rounds=1, iterations=1)  # type: ignore[no-untyped-call]
    for phase in ("batch", "select", "pack"):
        seen = bench.telemetry.observed(metrics.DECISION_PHASE_DURATION.name, phase=phase)
        benchmark.extra_info[f"longest {phase} ms"] = round(seen.largest * 1000)
    took = _delays(outside, sent)
    p99 = took[int(len(took) * 0.99)]
    benchmark.extra_info["median ms"] = round(took[len(took) // 2] * 1000)
    benchmark.extra_info["p99 ms"] = round(p99 * 1000)
    benchmark.extra_info["longest ms"] = round(took[-1] * 1000)
    if waiting:
        _wait_for(bench, [pod.uid for pod in others])
    benchmark.extra_info["machines asked for"] = len(outside.asked)
    assert bench.failures == []
    assert p99 < 2.0


def _delays(outside: Selling, sent: dict[int, float]) -> list[float]:
    """Return for each machine that was taken back how long it took to ask for another, in order of length."""
    asked = outside.bought_for()
    return sorted(asked[f"bound-{n}"] - at for n, at in sent.items() if f"bound-{n}" in asked)


def _all_bought(claims: Mapping[str, NodeClaim]) -> bool:
    return all(claim.launched for claim in tuple(claims.values()))


def _wait_for(bench: Bench, uids: list[str]) -> None:
    """Wait until the others have places and machines too: what gave way is made after all."""
    until = time.monotonic() + 240
    model = bench.system.model
    while any(model.promises.of(uid) is None for uid in uids) or not _all_bought(model.objects.claims):
        assert time.monotonic() < until, "those that waited were forgotten"
        time.sleep(0.5)
    bench.settle()
