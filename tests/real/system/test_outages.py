"""One controller lives through one outage after the other while a Deployment is scaled up and down.

Every pod gets a node of its own, so that what is needed and what is bought can be counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest

from tests.real.kubernetes.proxy import Proxy
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system import outages
from tests.real.system.controller import eventually
from tests.real.system.outages import Outage, Surroundings
from tests.real.system.scene import Scene, machines
from tests.real.system.swings import Swings
from treenail.adapters.kubernetes.resources import WATCHED

SIZES: Final = (5, 1, 4, 2)
AT_REST: Final = SIZES[-1]
MANIFESTS: Final = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  amiSelectorTerms: [{{alias: al2023@latest}}]
  role: {role}
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 1s}}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: loners}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: loners}}}}
  template:
    metadata: {{labels: {{app: loners}}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - {{name: pause, image: pause, resources: {{requests: {{cpu: "1"}}}}}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    scene: Scene
    around: Surroundings

    def settled(self, pods: int) -> bool:
        """Tell whether so many pods run, each on a node of its own, and nothing else is there."""
        cluster, scene = self.scene.cluster, self.scene
        return (
            cluster.running() == len(cluster.pods()) == pods
            and len(cluster.nodes()) == len(cluster.claims()) == len(scene.instances()) == pods
        )


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    lab_process: Lab,
    jaeger: Jaeger,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    lab_process.reset()
    with ExitStack() as opened:
        proxy = opened.enter_context(Proxy(control_plane, tmp_path_factory.mktemp("outages")))
        scene = Scene(control_plane, lab_process, jaeger, KUBECONFIG=str(proxy.kubeconfig))
        scene.cluster.install()
        opened.callback(scene.cluster.clear)
        opened.enter_context(machines(scene, boot_seconds=0.2))
        opened.enter_context(scene.controller)
        role, cluster = scene.lab.estate["role"], scene.lab.cluster
        scene.cluster.apply(MANIFESTS.format(role=role, cluster=cluster, replicas=AT_REST))
        yield World(
            scene=scene,
            around=Surroundings(plane=control_plane, proxy=proxy, lab=lab_process, jaeger=jaeger),
        )
    lab_process.check()


TABLE = {
    "API server restarted": (outages.api_server_restarted, 1, 60),
    "API server killed": (outages.api_server_killed, 0, 60),
    "API server silent": (outages.api_server_silent, 4, 60),
    "etcd restarted": (outages.etcd_restarted, 1, 60),
    "watches cut": (outages.watches_cut, 4, 60),
    "410, history forgotten": (outages.history_forgotten, 2, 60),
    "410, watches gone": (outages.watches_gone, 4, 60),
    "429": (outages.too_many_requests, 4, 60),
    "5xx": (outages.server_errors, 4, 60),
    "aws away": (outages.aws_away, 10, 60),
    "aws answers lost": (outages.aws_answers_lost, 5, 60),
    "collector away": (outages.collector_away, 4, 60),
    "collector silent": (outages.collector_silent, 4, 60),
}


@pytest.mark.parametrize("name", TABLE)
def test_outage(world: World, name: str, pytestconfig: pytest.Config) -> None:
    outage, quick, soak = TABLE[name]
    seconds = soak if pytestconfig.getoption("--soak") else quick
    scene = world.scene
    eventually(lambda: world.settled(AT_REST), scene.summary, within=90)
    bought = len(scene.bought())
    lines = sum(1 for _ in scene.controller.lines())
    swings = Swings(scene.cluster, "loners", SIZES, every=max(1.0, seconds / 8))
    since = time.monotonic()
    with swings.going():
        time.sleep(0.5)
        outage(world.around, seconds)
    over = time.monotonic()
    eventually(lambda: scene.cluster.running() == AT_REST, scene.summary, within=120)
    running = time.monotonic() - over
    eventually(lambda: world.settled(AT_REST), scene.summary, within=120)
    settled = time.monotonic() - over
    eventually(lambda: world.around.proxy.watches == len(WATCHED), "watches", within=60)
    watching = time.monotonic() - over
    said = [l for i, l in enumerate(scene.controller.lines()) if i >= lines]
    events = {}
    for l in said:
        events[l.get("event", "")] = events.get(l.get("event", ""), 0) + 1
    print(
        f"ROW {name} outage {over - since:.1f} running {running:.1f} settled {settled:.1f} watching {watching:.1f} "
        f"lists {sum(world.around.proxy.lists(since=since).values())} {dict(world.around.proxy.lists(since=since))} "
        f"reqs {len(world.around.proxy.asked(since=since))} "
        f"bought {len(scene.bought()) - bought} up {swings.upwards} {swings.taken} {events}"
    )
    assert scene.controller.running
    ids = [l["provider_id"].rpartition("/")[2] for l in scene.controller.said("launched nodeclaim")]
    assert sorted(ids) == scene.bought()
