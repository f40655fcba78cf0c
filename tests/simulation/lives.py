"""Many short lives of nodes, that end in every way there is, while all goes wrong that can."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tests.scenarios.manifests import Manifest, deployment, need, node_class, node_pool, text
from tests.simulation.invariants import Invariants
from tests.simulation.migration import old_node_class, provisioner
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import EKS_DAEMONS, Change, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeClaim

_APPS: Final = ("api", "job", "web")
_MOST_REPLICAS: Final = 12
_LONGEST: Final = 4 * 3600.0
_EMPTYING: Final = "40m"


@dataclass(slots=True)
class Lives:
    """One seeded history of at least `wanted` ended instances.

    `run` raises AssertionError at the first thing that must not be.
    """

    seed: int
    wanted: int
    dice: random.Random = field(init=False)
    rehearsal: Rehearsal = field(init=False)
    generation: int = 0
    # By claim: each cause that it, its event or the timeline named last.
    causes: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        conditions = Conditions(
            cluster=ClusterSettings(system_daemons=EKS_DAEMONS, resync=300.0, slow_stops=0.3),
            cluster_faults=ClusterFaults(
                conflict=0.05,
                answer_lost=0.05,
                unavailable=0.05,
                watch_duplicate=0.05,
                watch_drop=0.003,
                watch_delay_seconds=self.dice.choice((0.0, 2.0)),
            ),
            ec2_faults=EC2Faults(
                answer_lost=0.1,
                terminate_lost=0.1,
                unavailable=0.1,
                throttled=0.05,
                invisible=0.2,
                never_joins=0.05,
                shortage=0.1,
                spot_interruption=3.0,
            ),
        )
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)
        self.rehearsal.cluster.on_change(self._note)

    def run(self) -> int:
        """Let nodes come and go until enough have gone; give the rest back; return how many there were."""
        with self.rehearsal as rehearsal:
            invariants = Invariants(rehearsal)
            apps = [deployment(app, 4, cpu="1500m", grace_seconds=self.dice.choice((0, 20))) for app in _APPS]
            rehearsal.apply(text(node_class(), old_node_class("old"), *self._pools(), *apps))
            while self._ended() < self.wanted:
                assert rehearsal.seconds < _LONGEST, f"{self._ended()} ended: {rehearsal.summary()}"
                rehearsal.run(self.dice.uniform(5, 60))
                self._something_happens()
            self._give_back()
            invariants.check_empty()
            self._check_causes()
        return len(rehearsal.history())

    def _pools(self) -> tuple[Manifest, ...]:
        """Return two pools whose nodes take one pod each, as the present generation labels them."""
        mark = {"generation": str(self.generation)}
        pool = node_pool(labels=mark, capacity_types=("spot", "on-demand"))
        template = pool["spec"]["template"]["spec"]
        template["requirements"].append(need("karpenter.k8s.aws/instance-size", "large"))
        template["expireAfter"] = "20m"
        pool["spec"]["disruption"]["budgets"] = [{"nodes": "50%"}]
        old = provisioner("old", "large", capacity_type="spot", labels=mark, ttlSecondsUntilExpired=1200)
        return pool, old

    def _ended(self) -> int:
        machines = self.rehearsal.ec2
        return len(machines.all_instances()) - len(machines.live())

    def _something_happens(self) -> None:
        rehearsal, dice = self.rehearsal, self.dice
        scale = partial(rehearsal.scale, dice.choice(_APPS), dice.randint(0, _MOST_REPLICAS))
        events: list[Callable[[], object]] = [
            scale,
            self._delete,
            self._end_outside,
            self._crash,
            self._drift,
        ]
        dice.choices(events, weights=[12, 2, 1, 2, 1])[0]()

    def _delete(self) -> None:
        things = [("NodeClaim", c.name) for c in self.rehearsal.claims() if not c.leaving]
        things += [("Node", n.name) for n in self.rehearsal.nodes() if n.deleting_since is None]
        if things:
            self.rehearsal.delete(*self.dice.choice(sorted(things)))

    def _end_outside(self) -> None:
        if live := self.rehearsal.ec2.live():
            self.rehearsal.ec2.outside.terminate(self.dice.choice(live).instance.id)

    def _crash(self) -> None:
        world = self.rehearsal.world
        at = world.steps + self.dice.randint(1, 400)
        world.run_until(lambda: world.steps >= at, at_most=world.monotonic() + 60)
        self.rehearsal.crash()
        self.rehearsal.run(self.dice.uniform(0, 20))
        self.rehearsal.restart()
        self.rehearsal.run(0)

    def _drift(self) -> None:
        self.generation += 1
        self.rehearsal.apply(text(*self._pools()))

    def _give_back(self) -> None:
        self.rehearsal.cluster.faults, self.rehearsal.ec2.faults = ClusterFaults(), EC2Faults()
        self.rehearsal.ec2.outside.restock()
        for app in _APPS:
            self.rehearsal.scale(app, 0)
        self.rehearsal.run(_EMPTYING)

    def _note(self, change: Change) -> None:
        claim = change.after
        if isinstance(claim, NodeClaim) and labels.CAUSE in claim.annotations:
            end = json.loads(claim.annotations.get(labels.END, "{}"))
            named = {"claim": claim.annotations[labels.CAUSE], "record": end.get("cause", "")}
            self.causes.setdefault(claim.name, {}).update({who: said for who, said in named.items() if said})

    def _check_agreement(self) -> None:
        """Check that claim, event and timeline name the same cause of each end."""
        for record in self.rehearsal.cluster.events():
            if record.event.reason == "Ended" and record.event.about.kind != "Node":
                cause = re.split("[ ,]", record.event.message.removeprefix("Ended: "))[0]
                self.causes.setdefault(record.event.about.name, {})["event"] = cause
        for entry in self.rehearsal.timeline.entries:
            if entry.event == "InstanceTerminated":
                name, cause = str(entry.fields["nodeClaim"]), str(entry.fields["cause"])
                self.causes.setdefault(name, {})["timeline"] = cause
        at_odds = {name: said for name, said in self.causes.items() if len(set(said.values())) > 1}
        assert not at_odds, f"told of as ended for different causes: {at_odds}"

    def _check_causes(self) -> None:
        """Check that no instance was said to have ended for two causes, whoever said so, and when."""
        self._check_agreement()
        said: dict[object, dict[object, None]] = {}
        for entry in self.rehearsal.timeline.entries:
            if entry.event == "InstanceTerminated":
                said.setdefault(entry.fields["instance"], {})[entry.fields["cause"]] = None
        double = {instance: list(causes) for instance, causes in said.items() if len(causes) > 1}
        assert not double, f"more than one cause: {double}"
