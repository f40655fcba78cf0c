from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.builders import claim, instance_type, node_class, node_pool, pending_pod, planned_claim
from tests.probes import PlainDice, Probe
from treenail.actors.disruptor import Disruptor
from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.system import System, SystemSettings
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.lifecycle.lifecycle import NodeInitialized, NodeRegistered
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import UNREGISTERED
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem


class OneNode:
    """A solver that puts all pods on one new node."""

    def solve(self, problem: Problem) -> PackingPlan:
        uids = tuple(p.uid for p in problem.pods)
        claim = replace(planned_claim(*uids), instance_types=("m5.large",))
        return PackingPlan(claims=(claim,))

    def consolidate(self, problem: ConsolidationProblem) -> ConsolidationPlan:
        """Nothing is consolidated."""
        return ConsolidationPlan(cost=float(len(problem.candidates)))

    def cancel(self, problem: Problem | ConsolidationProblem) -> None:
        """Nothing takes any time here."""


class Whole(Stage):
    """All actors, wired, with an API server and a cloud."""

    def __init__(
        self,
        observer: Probe | None = None,
        *,
        provisioning: bool = True,
        resumes_after: float | None = None,
    ) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world, instance_type("m5.large", 2, price=0.1))
        self.queue = FakeQueue(self.world, random.Random(0))
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=PlainDice(),
            telemetry=self.telemetry,
            failed=print,
        )
        ports = Ports(reader=self.api, writer=self.api, cloud=self.cloud, queue=self.queue, solver=OneNode())
        settings = SystemSettings(cluster_name="demo", provisioning=provisioning, resumes_after=resumes_after)
        self.system = System(runtime, self.process, ports, settings, observer=observer)
        self.api.apply(node_pool(), node_class())

    def pod_waits(self) -> None:
        bare: Any = pending_pod("p1", owner="")
        self.api.apply(replace(bare, uid="", spec=replace(bare.spec, scheduler_name="nobody")))


def test_a_pending_pod_becomes_a_node_in_use() -> None:
    observer = Probe()
    stage = Whole(observer)
    stage.system.start()
    stage.run(1)

    stage.pod_waits()
    stage.run(10)
    (claim,) = stage.api.claims()
    assert claim.launched
    room = Resources.parse({"cpu": 2, "pods": 29})
    stage.api.join(
        node_name="n1",
        provider_id=claim.provider_id,
        labels={},
        taints=(UNREGISTERED,),
        capacity=room,
        allocatable=room,
        ready_after=5,
    )
    stage.run(30)

    assert [type(m) for m in observer.received] == [NodeRegistered, NodeInitialized]
    assert stage.api.claims()[0].initialized


def test_without_an_observer_nobody_misses_one() -> None:
    stage = Whole()
    stage.system.start()
    stage.pod_waits()
    stage.run(10)
    (claim,) = stage.api.claims()

    stage.api.delete("NodeClaim", claim.name)
    stage.run(300)

    assert claim.name not in [c.name for c in stage.api.claims()]


def test_nothing_happens_before_the_start_and_after_the_stop() -> None:
    stage = Whole()
    stage.pod_waits()
    stage.run(10)
    assert stage.api.claims() == ()

    stage.system.start()
    stage.system.stop()
    stage.run(10)

    assert stage.api.claims() == ()
    stage.queue.put("nonsense")
    stage.run(10)
    assert len(stage.queue.backlog()) == 1


def test_each_pool_has_one_disruptor() -> None:
    stage = Whole()
    before = len(stage.process.actors)

    stage.system.start()
    stage.run(5)
    stage.api.apply(node_pool("other"), replace(node_pool("other"), weight=3))
    stage.run(5)

    made = [type(actor).__name__ for actor in stage.process.actors[before:]]
    assert made == ["Disruptor", "Disruptor"]


def test_a_promise_lasts_two_batches_and_ten_seconds_at_least() -> None:
    def lasts(batch: float) -> float:
        settings = SystemSettings(cluster_name="demo", batch_max_seconds=batch)
        return settings.promise_lasts.total_seconds()

    assert [lasts(1), lasts(10), lasts(30)] == [10, 20, 60]


WARNING = """{
  "version": "0", "source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning",
  "time": "2026-01-01T00:00:00Z", "detail": {"instance-id": "i-0", "instance-action": "terminate"}
}"""


def test_without_provisioning_nothing_is_bought_or_given_up_but_what_must_go_is_seen_out() -> None:
    stage = Whole(provisioning=False)
    stage.system.start()
    room = Resources.parse({"cpu": 2, "pods": 29})
    stage.api.apply(
        claim("idle", provider_id="aws:///zone-a/i-0", initialized=True, room=room),
        claim("unsold"),
    )
    stage.pod_waits()
    stage.run(600)
    assert [c.name for c in stage.api.claims() if c.leaving] == []
    assert "launch" not in [call.split()[0] for call in stage.cloud.troubles.calls]
    assert {type(actor).__name__ for actor in stage.process.actors}.isdisjoint(
        {"Batcher", "FleetLauncher", "Disruptor"}
    )

    stage.queue.put(WARNING)
    stage.run(30)

    assert "idle" not in [c.name for c in stage.api.claims()]


# --- disruptors: one for each pool that there is


def disruptors(stage: Whole) -> int:
    return sum(1 for actor in stage.process.actors if isinstance(actor, Disruptor))


def test_a_pool_that_is_gone_has_no_disruptor_any_more() -> None:
    stage = Whole()
    stage.system.start()
    stage.run(1)
    base = len(stage.process.actors)
    names = [f"pool-{number}" for number in range(100)]

    for _ in range(2):
        stage.api.apply(*(node_pool(name) for name in names))
        stage.run(1)
        assert len(stage.process.actors) == base + 100

        for name in names:
            stage.api.delete("NodePool", name)
        stage.run(1)
        assert len(stage.process.actors) == base


@pytest.mark.parametrize("provisioning", [True, False])
def test_a_pool_that_comes_back_by_the_same_name_has_one_disruptor(provisioning: bool) -> None:  # noqa: FBT001
    stage = Whole(provisioning=provisioning, resumes_after=60.0)
    stage.system.start()
    stage.run(1)
    for _ in range(3):
        stage.api.delete("NodePool", "default")
        stage.run(1)
        stage.api.apply(node_pool())
        stage.run(1)

    stage.system.provision()
    stage.run(1)

    assert disruptors(stage) == 1
