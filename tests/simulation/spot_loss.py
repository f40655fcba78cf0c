"""A third of a cluster's spot nodes are taken back at once, and what that does to what runs there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import EKS_DAEMONS, Change, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings
from treenail.domain.model import labels
from treenail.domain.model.fleets import Instance
from treenail.domain.model.pods import Phase, Pod

NOTICE_SECONDS: Final = 120.0
_GRACE_SECONDS: Final = 30
_REPLICAS: Final = 10
# Two sizes of pods that, as many of one as of the other, fill machines of eight CPUs sixteen or so at a time.
_SIZES: Final = ("380m", "540m")
_FAMILIES: Final = ("c5", "c5a", "c6i", "c6a", "m5", "m5a", "m6i", "m6a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a loss did: how many pods stood on the nodes, and how many of those ran elsewhere in time.

    `alone` are the Deployments of one replica that stood there, `dark` those of them that had no running
    container at some instant. After `seconds` all ran elsewhere.
    """

    displaced: int
    in_time: int
    alone: int
    dark: int
    seconds: float


class Containers:
    """Follows which containers run for each Deployment of one replica; one that stops does until it ends."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.dark: dict[str, float] = {}
        self._rehearsal = rehearsal
        self._running: dict[str, dict[str, str]] = {}
        rehearsal.cluster.on_change(self._note)
        rehearsal.ec2.on_gone(self._machine_gone)

    def _note(self, change: Change) -> None:
        pod = change.after if isinstance(change.after, Pod) else change.before
        if not isinstance(pod, Pod) or not pod.labels.get("app", "").startswith("alone"):
            return
        running = self._running.setdefault(pod.labels["app"], {})
        if change.after is not None and pod.phase is Phase.RUNNING:
            running[pod.uid] = pod.node_name
        elif running.pop(pod.uid, None) is not None:
            self._look(pod.labels["app"])

    def _machine_gone(self, instance: Instance) -> None:
        node = self._rehearsal.ec2.node_name(instance)
        for app, running in self._running.items():
            for uid in [uid for uid, where in running.items() if where == node]:
                del running[uid]
                self._look(app)

    def _look(self, app: str) -> None:
        if not self._running[app]:
            self.dark.setdefault(app, self._rehearsal.seconds)


@dataclass(slots=True)
class SpotLoss:
    """One seeded loss. A quarter of the pods are alone, the others ten of a kind that have a budget."""

    seed: int
    pods: int
    lost: int
    nodes_before: int = 0
    dice: random.Random = field(init=False)
    rehearsal: Rehearsal = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        conditions = Conditions(
            # Containers take their whole grace period to stop, and most of it to start.
            cluster=ClusterSettings(
                system_daemons=EKS_DAEMONS,
                ready=(10.0, 10.0),
                start=(1.0, _GRACE_SECONDS - 5),
                stop=(_GRACE_SECONDS, _GRACE_SECONDS),
            ),
            # With what a node takes to be ready once it is there: sixty seconds.
            ec2=EC2Settings(pending=(10.0, 10.0), boot=(40.0, 40.0)),
        )
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)

    def run(self) -> Loss:
        """Fill the nodes, take some of them, and see what becomes of what ran there."""
        with self.rehearsal as rehearsal:
            containers = Containers(rehearsal)
            rehearsal.apply(text(node_class(), _pool(), *self._workloads()))
            rehearsal.run_until(lambda: rehearsal.running() == self.pods, within="10m")
            rehearsal.run("1m")
            return self._lose(containers)

    def _workloads(self) -> Iterator[Manifest]:
        alone = self.pods // 4
        for number in range(alone):
            yield deployment(
                f"alone-{number}", 1, cpu=_SIZES[number % 2], memory="256Mi", grace_seconds=_GRACE_SECONDS
            )
        for number in range((self.pods - alone) // _REPLICAS):
            name = f"many-{number}"
            cpu = _SIZES[number % 2]
            yield deployment(name, _REPLICAS, cpu=cpu, memory="256Mi", grace_seconds=_GRACE_SECONDS)
            yield _budget(name, self.dice.choice(({"maxUnavailable": "20%"}, {"minAvailable": "90%"})))

    def _lose(self, containers: Containers) -> Loss:
        rehearsal = self.rehearsal
        nodes = [node.name for node in rehearsal.nodes()]
        self.nodes_before = len(nodes)
        lost = self.dice.sample(nodes, self.lost)
        there = [pod for pod in rehearsal.pods() if pod.node_name in lost]
        alone = {pod.labels["app"] for pod in there if pod.labels["app"].startswith("alone")}
        began = rehearsal.seconds
        for name in lost:
            rehearsal.interrupt(name)
        rehearsal.run(NOTICE_SECONDS - 0.001)
        missing = self.pods - self._running_elsewhere(lost)
        rehearsal.run_until(lambda: self._running_elsewhere(lost) == self.pods, within="10m")
        return Loss(
            displaced=len(there),
            in_time=len(there) - missing,
            alone=len(alone),
            dark=len(alone & containers.dark.keys()),
            seconds=rehearsal.seconds - began,
        )

    def _running_elsewhere(self, lost: list[str]) -> int:
        """Return how many pods run on ready nodes that stay."""
        ready = {node.name for node in self.rehearsal.nodes() if node.ready} - set(lost)
        return sum(
            pod.phase is Phase.RUNNING and pod.active and pod.node_name in ready
            for pod in self.rehearsal.pods()
        )


def _pool() -> Manifest:
    pool = node_pool(families=_FAMILIES, capacity_types=(labels.SPOT,))
    sizes = {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["2xlarge"]}
    pool["spec"]["template"]["spec"]["requirements"].append(sizes)
    return pool


def _budget(app: str, allows: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, **allows},
    }
