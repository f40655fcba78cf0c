"""A cluster that moves from a Provisioner to a NodePool, in one of the ways that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tests.real.system import drain_manifests
from tests.real.system.controller import eventually
from tests.real.system.pod_witness import Life, PodWitness
from tests.real.system.scene import Scene
from tests.real.system.wholeness import is_whole
from tests.scenarios.manifests import Manifest, changed, deployment, node_pool
from tests.simulation.migration import old_node_class, provisioner

REPLICAS: Final = 10
_OLD: Final = "old"
_NEW: Final = "new"
_SIZE: Final = "2xlarge"
_LEGACY: Final = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
_BY_PROVISIONER: Final = "karpenter.sh/provisioner-name"
_BY_POOL: Final = "karpenter.sh/nodepool"
_PROVISIONER: Final = ("karpenter.sh/v1alpha5", "Provisioner")
_MACHINE: Final = ("karpenter.sh/v1alpha5", "Machine")
_TEMPLATE: Final = ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate")
_CPUS: Final = ("500m", "900m")
_AWAY: Final = (4, 2, 1)
# A pod takes its time to start and to end, so that budgets have something to hold.
_PACE: Final = {"test.treenail.sh/start-after": "1s", "test.treenail.sh/stop-after": "1s"}
_GRACE_SECONDS: Final = 5
_STARTED_WITHIN: Final = 180.0
_NODE_WITHIN: Final = 180.0
_MOVED_WITHIN: Final = 1800.0
_CLEARED_WITHIN: Final = 120.0
_ENDED_AT: Final = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


@dataclass(slots=True)
class Migration:
    """Ten pods of each app on nodes of the Provisioner, each app with a budget of its own.

    `old_nodes` are names by uid: the address of a machine that ended, and so the name, may be another's.
    """

    scene: Scene
    apps: int
    old_nodes: dict[str, str] = field(default_factory=dict)

    @property
    def pods(self) -> int:
        return self.apps * REPLICAS

    def least(self) -> dict[str, int]:
        """Return how many pods of each app its budget wants there to be."""
        return {f"app-{n}": REPLICAS - _AWAY[n % len(_AWAY)] for n in range(self.apps)}

    def begin(self) -> None:
        """Have all pods run on old nodes, and the new pool beside the old one."""
        scene, cluster = self.scene, self.scene.cluster
        # Its garbage collector hears of new kinds every half minute, and owners do not wait for those before.
        cluster.plane.restart("kube-controller-manager")
        cluster.apply(_template(scene), provisioner(_OLD, _SIZE), *self._workloads())
        eventually(self._all_run, scene.summary, within=_STARTED_WITHIN)
        eventually(lambda: is_whole(scene, len(cluster.nodes())), scene.summary)
        self.old_nodes = {node["metadata"]["uid"]: node["metadata"]["name"] for node in cluster.nodes()}
        assert all(_BY_PROVISIONER in node["metadata"]["labels"] for node in cluster.nodes())
        cluster.apply(
            drain_manifests.node_class(scene.lab),
            node_pool(_NEW, capacity_types=("on-demand",), weight=10),
        )

    def _workloads(self) -> Iterator[Manifest]:
        for n, (app, least) in enumerate(self.least().items()):
            made = deployment(app, REPLICAS, cpu=_CPUS[n % 2], memory="512Mi", grace_seconds=_GRACE_SECONDS)
            yield changed(made, "spec.template.metadata.annotations", _PACE)
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": app},
                "spec": {"maxUnavailable": REPLICAS - least, "selector": {"matchLabels": {"app": app}}},
            }

    def move(self, way: str) -> float:
        """Move in this way, and wait until no old machine is there and all is well; return after how long.

        In seconds.
        """
        begun = datetime.now(UTC)
        WAYS[way](self)
        eventually(self._moved, self.scene.summary, within=_MOVED_WITHIN)
        return (datetime.now(UTC) - begun).total_seconds()

    def clear_away(self) -> None:
        """Delete what is left of the old objects, as its users do at last, and wait until it is gone."""
        cluster = self.scene.cluster
        cluster.delete(*_PROVISIONER, _OLD)
        cluster.delete(*_TEMPLATE, _OLD)
        eventually(
            lambda: not (cluster.all(*_PROVISIONER) or cluster.all(*_TEMPLATE)),
            self.scene.summary,
            within=_CLEARED_WITHIN,
        )

    # --- ways

    def drift(self) -> None:
        """Taint the old pool, so that its nodes drift and nothing comes to new ones of it."""
        self.scene.cluster.apply(provisioner(_OLD, _SIZE, taints=[_LEGACY]))

    def foreground(self) -> None:
        """Delete the old pool, which waits for its machines."""
        self.scene.cluster.delete(*_PROVISIONER, _OLD, cascade="foreground")
        eventually(self._pool_gone, self.scene.summary, within=_MOVED_WITHIN)

    def _pool_gone(self) -> bool:
        gone = not self.scene.cluster.all(*_PROVISIONER)
        assert not gone or not self.scene.cluster.all(*_MACHINE), "the pool went before its machines"
        return gone

    def one_by_one(self) -> None:
        """Delete an old node when all pods run that the last one had, until there is none."""
        for uid, name in self.old_nodes.items():
            self.scene.cluster.delete("v1", "Node", name)
            eventually(lambda gone=uid: self._moved_from(gone), self.scene.summary, within=_NODE_WITHIN)  # type: ignore[misc]

    def _moved_from(self, uid: str) -> bool:
        return all(n["metadata"]["uid"] != uid for n in self.scene.cluster.nodes()) and self._all_run()

    # --- what must hold

    def _all_run(self) -> bool:
        return self.scene.cluster.running() == len(self.scene.cluster.pods()) == self.pods

    def _moved(self) -> bool:
        """Return whether all pods run, on new machines alone, each of them in use."""
        cluster = self.scene.cluster
        return (
            not cluster.all(*_MACHINE)
            and self._all_run()
            and is_whole(self.scene, len(cluster.all("karpenter.sh/v1", "NodeClaim")))
        )

    def expect_moved(self) -> None:
        """All pods are on nodes of the new pool, and no old node is there."""
        nodes = {node["metadata"]["name"]: node["metadata"] for node in self.scene.cluster.nodes()}
        assert not {node["uid"] for node in nodes.values()} & self.old_nodes.keys()
        assert {node["labels"].get(_BY_POOL) for node in nodes.values()} == {_NEW}
        assert {pod["spec"]["nodeName"] for pod in self.scene.cluster.pods()} <= nodes.keys()
        assert self._moved(), self.scene.summary()

    def expect_no_pod_wronged(self, witness: PodWitness) -> None:
        """Every pod moved by an eviction that its budget allowed, before its machine ended."""
        eventually(lambda: witness.available() == self.pods, lambda: f"heard of {witness.available()}")
        witness.check()
        assert witness.lowest.keys() == self.least().keys()
        assert len(witness.ended) >= self.pods
        lives = self._lives()
        assert sum(life.ended is not None for life in lives) >= len(self.old_nodes)
        late = [pod for pod in witness.ended if pod.outlived(lives)]
        assert not late, f"their machines ended under them: {late}"

    def _lives(self) -> list[Life]:
        """Return when each machine was launched and asked to end, oldest first."""
        pages = self.scene.lab.client("ec2").get_paginator("describe_instances").paginate()
        all_of_them = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
        lives = [
            Life(node=i["PrivateDnsName"], since=i["LaunchTime"], ended=_ended_at(i)) for i in all_of_them
        ]
        return sorted(lives, key=lambda life: life.since)


# The one in which Kubernetes' own garbage collector has a part comes first, for a run of one.
WAYS: Final[Mapping[str, Callable[[Migration], None]]] = {
    "deletion in the foreground": Migration.foreground,
    "drift": Migration.drift,
    "node by node": Migration.one_by_one,
}


def _ended_at(instance: Mapping[str, Any]) -> datetime | None:
    """Return when an instance was asked to end, in the whole seconds that EC2 tells; None where it runs."""
    if instance["State"]["Name"] in ("pending", "running"):
        return None
    said = _ENDED_AT.search(instance["StateTransitionReason"])
    assert said is not None, instance["StateTransitionReason"]
    return datetime.fromisoformat(said[1]).replace(tzinfo=UTC)


def _template(scene: Scene) -> Manifest:
    """Return the old node class, for the laboratory's cluster."""
    tags = {"karpenter.sh/discovery": scene.lab.cluster}
    template = changed(old_node_class(_OLD), "spec.subnetSelector", tags)
    template = changed(template, "spec.securityGroupSelector", tags)
    return changed(template, "spec.instanceProfile", scene.lab.estate["instance_profile"])
