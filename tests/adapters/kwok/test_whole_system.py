"""The whole controller on nodes that KWOK plays: a cluster in memory, and no AWS anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.scenarios.manifests import Manifest, deployment, need, text
from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.world import Process, SeededDice, World
from treenail.actors.system import System, SystemSettings
from treenail.adapters.api.manifests import decode_all, parse_manifests, read_manifests
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.queue import FakeQueue
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.kwok.cloud import KwokCloud
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.model import labels
from treenail.domain.model.pods import Phase

EXAMPLE = Path(__file__).parents[3] / "examples" / "005-kwok.yaml"
KWOK_CLASS: Manifest = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
}
POOL: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
        "template": {
            "spec": {
                "requirements": [
                    need(labels.ARCH, "amd64"),
                    need(labels.OS, "linux"),
                    need(labels.CAPACITY_TYPE, "on-demand"),
                ],
                "nodeClassRef": {
                    "group": "karpenter.kwok.sh",
                    "kind": "KWOKNodeClass",
                    "name": "default",
                },
                "expireAfter": "Never",
            }
        },
    },
}


def crash(error: BaseException) -> None:
    raise error


class Rig:
    """A cluster, the controller in it, and the time they live in."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.cluster = FakeCluster(agenda=self.world, dice=random.Random(seed))
        self.cloud = KwokCloud(self.cluster, self.cluster)
        self.telemetry = RecordingTelemetry()
        self.start()

    def start(self) -> None:
        self.process = Process(self.world, latency=lambda _: (0.01, 0.01))
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(random.Random(7)),
            telemetry=self.telemetry,
            failed=crash,
        )
        ports = Ports(
            reader=self.cluster,
            writer=self.cluster,
            cloud=self.cloud,
            queue=FakeQueue(agenda=self.world, dice=random.Random(8)),
            solver=InlineSolver(),
        )
        self.system = System(runtime, self.process, ports, SystemSettings(cluster_name="demo"))
        self.system.start()

    def crash(self) -> None:
        self.process.kill()
        self.system.stop()

    def apply(self, *manifests: Manifest) -> None:
        decoded = decode_all(parse_manifests(text(*manifests).encode(), "manifest"), at=self.world.now())
        self.cluster.apply(*decoded.objects())

    def run(self, seconds: float) -> None:
        self.world.run(until=self.world.monotonic() + seconds)

    def running(self) -> int:
        return sum(p.phase is Phase.RUNNING and p.ready for p in self.cluster.pods())


def test_the_example_runs_and_gives_its_node_back() -> None:
    rig = Rig(1)
    rig.cluster.apply(*decode_all(read_manifests([EXAMPLE])).objects())
    rig.run(60)

    assert rig.running() == 5
    (node,) = rig.cluster.nodes()
    assert node.labels[labels.INSTANCE_TYPE] == "c-8x-amd64-linux"

    rig.cluster.scale("inflate", 0)
    rig.run(60)

    assert (rig.cluster.nodes(), rig.cluster.claims()) == ((), ())


@pytest.mark.seeds(quick=5, soak=100)
def test_five_pods_run_on_a_played_node_and_give_it_back(seed: int) -> None:
    rig = Rig(seed)
    rig.apply(KWOK_CLASS, POOL, deployment("inflate", 5))
    rig.run(60)

    assert rig.running() == 5
    (node,) = rig.cluster.nodes()
    (claim,) = rig.cluster.claims()
    assert claim.initialized
    assert claim.provider_id == node.provider_id
    assert [i.node_name for i in rig.cloud.instances()] == [node.name]
    assert rig.telemetry.orphans() == ()

    rig.cluster.scale("inflate", 0)
    rig.run(120)

    assert (rig.cluster.pods(), rig.cluster.nodes(), rig.cluster.claims()) == ((), (), ())
    assert rig.cloud.instances() == ()
    rig.crash()


@pytest.mark.seeds(quick=5, soak=100)
def test_a_controller_that_dies_while_it_launches_leaves_no_machine_too_many(seed: int) -> None:
    rig = Rig(seed)
    rig.apply(KWOK_CLASS, POOL, deployment("inflate", 5))
    while not rig.cluster.nodes():
        rig.run(0.005)
    rig.crash()
    rig.run(1)
    rig.start()
    rig.run(300)

    assert rig.running() == 5
    assert len(rig.cluster.nodes()) == len(rig.cluster.claims()) == len(rig.cloud.instances()) == 1
    rig.crash()


def test_a_machine_that_somebody_deleted_is_replaced() -> None:
    rig = Rig(1)
    rig.apply(KWOK_CLASS, POOL, deployment("inflate", 5))
    rig.run(60)
    (first,) = rig.cluster.nodes()

    rig.cluster.delete("Node", first.name)
    rig.run(240)

    (second,) = rig.cluster.nodes()
    assert second.name != first.name
    assert rig.running() == 5
    assert [i.id for i in rig.cloud.instances()] == [second.name]
    rig.crash()
