"""A cluster moves from Provisioners to NodePools, in one of the ways that there are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tests.scenarios.manifests import Manifest, deployment, need, node_class, node_pool, text
from tests.simulation.bad_days import any_conditions
from tests.simulation.witness import Witness
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import NodeClaim

APPS: Final = 20
_REPLICAS: Final = 10
_LONGEST: Final = "4h"
_SIZE: Final = "2xlarge"
_LEGACY: Final = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}


@dataclass(slots=True)
class Migration:
    """One seeded migration. `run` raises AssertionError at the first thing that must not be."""

    way: str
    seed: int
    apps: int = APPS
    dice: random.Random = field(init=False)
    rehearsal: Rehearsal = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.way}/{self.seed}")
        conditions = any_conditions(self.dice, lost=0.03)
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)

    def run(self) -> None:
        """Work on old nodes, put the new objects there, move, delete the old ones."""
        allowed = {f"app-{n}": self.dice.choice((1, 2, 4)) for n in range(self.apps)}
        with self.rehearsal as rehearsal:
            witness = Witness(rehearsal, {app: _REPLICAS - less for app, less in allowed.items()})
            rehearsal.apply(text(old_node_class("old"), provisioner("old", _SIZE), *self._workloads(allowed)))
            rehearsal.run_until(self._all_run, within="15m")
            rehearsal.run(self.dice.uniform(0, 120))
            assert self._old_claims()
            rehearsal.apply(text(node_class("new"), self._new_pool()))
            if self.dice.random() < 0.3:
                self._crash_some_time()
            WAYS[self.way](self)
            rehearsal.run_until(lambda: not self._old_claims() and self._all_run(), within=_LONGEST)
            self._clear_away()
            witness.check()
            self._check_moved()

    def _workloads(self, allowed: Mapping[str, int]) -> Iterator[Manifest]:
        for app, less in allowed.items():
            grace = self.dice.choice((5, 30, 60))
            yield deployment(
                app, _REPLICAS, cpu=self.dice.choice(("500m", "900m")), memory="512Mi", grace_seconds=grace
            )
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": app},
                "spec": {"maxUnavailable": less, "selector": {"matchLabels": {"app": app}}},
            }

    def _new_pool(self) -> Manifest:
        """A pool of either of the newer generations, from which new pods are rather launched."""
        pool = node_pool("new", capacity_types=("on-demand",), weight=10)
        reference = pool["spec"]["template"]["spec"]["nodeClassRef"]
        reference["name"] = "new"
        if self.dice.random() < 0.5:
            pool["apiVersion"] = "karpenter.sh/v1beta1"
            reference["apiVersion"] = f"{reference.pop('group')}/v1beta1"
        return pool

    def _crash_some_time(self) -> None:
        world = self.rehearsal.world

        def crash() -> None:
            if not self.rehearsal.process.alive:
                return
            self.rehearsal.crash()
            self.rehearsal.restart(after=self.dice.uniform(0, 40))

        world.call_at(world.monotonic() + self.dice.uniform(0, 600), crash)

    # --- ways

    def drift(self) -> None:
        """Taint the old pool, so that its nodes drift and nothing comes to new ones of it."""
        self.rehearsal.apply(text(provisioner("old", _SIZE, taints=[_LEGACY])))

    def foreground(self) -> None:
        """Delete the old pool, which waits for its nodes."""
        self.rehearsal.delete("Provisioner", "old", cascade="foreground")

    def one_by_one(self) -> None:
        """Delete a node of old when all pods run that the last one had, until there is none."""
        while nodes := [node.name for node in self.rehearsal.nodes() if labels.PROVISIONER in node.labels]:
            self.rehearsal.delete("Node", nodes[0])
            self.rehearsal.run_until(partial(self._moved_from, nodes[0]), within="1h")

    def _moved_from(self, name: str) -> bool:
        return self._all_run() and all(node.name != name for node in self.rehearsal.nodes())

    # --- what is to be

    def _all_run(self) -> bool:
        return self.rehearsal.running() == self.apps * _REPLICAS

    def _old_claims(self) -> list[NodeClaim]:
        return [c for c in self.rehearsal.claims() if c.generation is Generation.V1ALPHA5]

    def _clear_away(self) -> None:
        rehearsal = self.rehearsal
        if any(pool.name == "old" for pool in rehearsal.cluster.objects(NodePool)):
            rehearsal.delete("Provisioner", "old")
        rehearsal.delete("AWSNodeTemplate", "old")
        rehearsal.run("10m")

    def _check_moved(self) -> None:
        rehearsal = self.rehearsal
        assert self._all_run(), rehearsal.summary()
        assert [pool.name for pool in rehearsal.cluster.objects(NodePool)] == ["new"]
        assert [made.ref.name for made in rehearsal.cluster.objects(NodeClass)] == ["new"]
        assert not self._old_claims()
        new = {node.name for node in rehearsal.nodes()}
        assert all(node.labels.get(labels.NODEPOOL) == "new" for node in rehearsal.nodes())
        assert all(pod.node_name in new for pod in rehearsal.pods())
        live = {record.instance.provider_id for record in rehearsal.ec2.live()}
        assert live == {claim.provider_id for claim in rehearsal.claims()}


WAYS: Final[Mapping[str, Callable[[Migration], None]]] = {
    "drift": Migration.drift,
    "deletion in the foreground": Migration.foreground,
    "node by node": Migration.one_by_one,
}


def old_node_class(name: str) -> Manifest:
    """Return a node class of the oldest API."""
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": name},
        "spec": {
            "instanceProfile": "node",
            "subnetSelector": {"karpenter.sh/discovery": "demo"},
            "securityGroupSelector": {"karpenter.sh/discovery": "demo"},
        },
    }


def provisioner(name: str, size: str, *, capacity_type: str = "on-demand", **more: Any) -> Manifest:
    """Return a pool of the oldest API, with machines of one size."""
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        "spec": {
            "providerRef": {"name": name},
            "ttlSecondsAfterEmpty": 30,
            "requirements": [
                need("karpenter.sh/capacity-type", capacity_type),
                need("karpenter.k8s.aws/instance-family", "c5", "m5"),
                need("karpenter.k8s.aws/instance-size", size),
            ],
            **more,
        },
    }
