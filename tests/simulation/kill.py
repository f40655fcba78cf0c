"""The controller dies while a node leaves, or is replaced, and another goes on with what is to be seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.simulation.bad_days import any_conditions
from tests.simulation.judge import Judge
from tests.simulation.migration import old_node_class, provisioner
from tests.simulation.witness import Witness
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.model import labels
from treenail.domain.model.taints import DISRUPTED

# What leads to the end of a node says on average so many messages, or takes so long.
_MESSAGES: Final = 700
_SECONDS: Final = 150.0
_DOWN_SECONDS: Final = 20.0
_APPS: Final = ("api", "web")
_REPLICAS: Final = 4


@dataclass(slots=True)
class Kill:
    """One seeded death. `run` raises AssertionError at the first thing that must not be."""

    seed: int
    dice: random.Random = field(init=False)
    end: str = field(init=False)
    old: bool = field(init=False)
    rehearsal: Rehearsal = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.end = sorted(ENDS)[self.seed % len(ENDS)]
        self.old = self.dice.random() < 0.3
        conditions = any_conditions(self.dice, lost=0.05)
        if self.end == "consolidation":
            self.old = False
            system = replace(conditions.system, consolidation=ConsolidationRules())
            conditions = replace(conditions, system=system)
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)

    def run(self) -> None:
        """Let pods run, begin an end, die at some point of it, and see how it ends after all."""
        with self.rehearsal as rehearsal:
            judge = Judge(rehearsal)
            witness = Witness(rehearsal, {app: _REPLICAS - 1 for app in _APPS if self._protected(app)})
            rehearsal.apply(text(*self._nodes(), *(m for app in _APPS for m in self._workload(app))))
            rehearsal.run_until(self._all_run, within="10m")
            rehearsal.run(10)
            old = {node.name for node in rehearsal.nodes()}
            going = ENDS[self.end](self, self.dice.choice(sorted(old)))
            for _ in range(self.dice.choice((1, 1, 1, 2))):
                self._die()
            rehearsal.run("10m")
            rehearsal.cluster.faults, rehearsal.ec2.faults = ClusterFaults(), EC2Faults()
            rehearsal.run("20m")
            witness.check()
            self._check_healed(going)
            judge.settled()
            self._check_causes()

    def _protected(self, app: str) -> bool:
        """Return whether nobody may take an app more pods than its budget: EC2 does, and we do on purpose."""
        return self.end != "interruption" and app not in SCALED.get(self.end, ())

    def _nodes(self) -> tuple[Manifest, ...]:
        sizes = {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["xlarge"]}
        if self.old:
            return old_node_class("default"), provisioner("default", "xlarge", capacity_type="spot")
        pool = node_pool(consolidate_after="30s")
        pool["spec"]["template"]["spec"]["requirements"].append(sizes)
        pool["spec"]["disruption"]["budgets"] = [{"nodes": self.dice.choice(("1", "100%"))}]
        if self.end == "consolidation":
            pool["spec"]["disruption"]["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
        return node_class(), pool

    def _workload(self, app: str) -> tuple[Manifest, Manifest]:
        grace = self.dice.choice((2, 20))
        made = deployment(app, _REPLICAS, cpu=self.dice.choice(("900m", "1500m")), grace_seconds=grace)
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": app}}},
        }
        return made, budget

    def _die(self) -> None:
        """Let some messages be heard, or some time pass, and kill who heard them; start another soon."""
        world = self.rehearsal.world
        if self.dice.random() < 0.5:
            at = world.steps + self.dice.randint(1, _MESSAGES)
            world.run_until(lambda: world.steps >= at, at_most=world.monotonic() + _SECONDS)
        else:
            self.rehearsal.run(self.dice.uniform(0, _SECONDS))
        self.rehearsal.crash()
        self.rehearsal.run(self.dice.uniform(0, _DOWN_SECONDS))
        self.rehearsal.restart()
        self.rehearsal.run(0)

    # --- what ends a node: each returns the nodes that must be gone in the end

    def interrupt(self, node: str) -> set[str]:
        return {self.rehearsal.interrupt(node)}

    def delete_node(self, node: str) -> set[str]:
        self.rehearsal.delete("Node", node)
        return {node}

    def delete_claim(self, node: str) -> set[str]:
        claim = next(claim for claim in self.rehearsal.claims() if claim.node_name == node)
        self.rehearsal.delete("NodeClaim", claim.name)
        return {node}

    def drift(self, node: str) -> set[str]:
        """Let all nodes drift, this one too."""
        name, marked = "default", {"generation": "two"}
        if self.old:
            self.rehearsal.apply(text(provisioner(name, "xlarge", capacity_type="spot", labels=marked)))
        else:
            _, pool = self._nodes()
            pool["spec"]["template"]["metadata"]["labels"] = marked
            self.rehearsal.apply(text(pool))
        return {there.name for there in self.rehearsal.nodes()} | {node}

    def empty(self, _: str) -> set[str]:
        """Let one app have no pods for a while, so that nodes may stand empty, and then have them again."""
        self.rehearsal.scale(_APPS[0], 0)
        self.rehearsal.run(self.dice.uniform(20, 60))
        world, back = self.rehearsal.world, self.dice.uniform(0, 200)
        world.call_at(world.monotonic() + back, lambda: self.rehearsal.scale(_APPS[0], _REPLICAS))
        return set()

    def consolidate(self, _: str) -> set[str]:
        """Let half of the pods end for a while, so that others may move together, and then be there again."""
        for app in _APPS:
            self.rehearsal.scale(app, _REPLICAS // 2)
        self.rehearsal.run(self.dice.uniform(20, 60))
        world, back = self.rehearsal.world, self.dice.uniform(200, 500)
        for app in _APPS:
            world.call_at(world.monotonic() + back, partial(self.rehearsal.scale, app, _REPLICAS))
        return set()

    # --- what is to be

    def _all_run(self) -> bool:
        return self.rehearsal.running() == _REPLICAS * len(_APPS)

    def _check_healed(self, going: set[str]) -> None:
        nodes = self.rehearsal.nodes()
        assert self._all_run(), self.rehearsal.summary()
        stayed = going & {node.name for node in nodes}
        assert not stayed, f"{self.end}: {sorted(stayed)} are forgotten"
        for node in nodes:
            assert node.deleting_since is None, f"{node.name} is still on its way out"
            assert DISRUPTED not in node.taints, f"{node.name} still bears the mark of going"
            assert not node.unschedulable, f"{node.name} is still cordoned"
            assert labels.EXCLUDE_FROM_LOAD_BALANCERS not in node.labels, f"{node.name} gets no traffic"

    def _check_causes(self) -> None:
        nameless = [r.name for r in self.rehearsal.history() if r.terminated_at is not None and not r.cause]
        assert not nameless, f"nobody knows why {nameless} ended"


ENDS: Final[Mapping[str, Callable[[Kill, str], set[str]]]] = {
    "interruption": Kill.interrupt,
    "deletion of the node": Kill.delete_node,
    "deletion of the claim": Kill.delete_claim,
    "drift": Kill.drift,
    "emptiness": Kill.empty,
    "consolidation": Kill.consolidate,
}
# The apps of which somebody takes pods away for it.
SCALED: Final[Mapping[str, tuple[str, ...]]] = {"emptiness": _APPS[:1], "consolidation": _APPS}
