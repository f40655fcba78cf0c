"""Twenty minutes of everything at once: churn, conflicts, lost answers, crashes, capacity that runs out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from tests.simulation.invariants import Invariants
from tests.simulation.workloads import PLAIN, draw_names, kind_of, workloads
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.telemetry import metrics

MINUTES = 20
CALM_MINUTES = 25
# The end of the calm, in which no plan may do anything: machines that never join are given up before.
QUIET_MINUTES = 8

POOLS = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: spot}
spec:
  weight: 10
  limits: {cpu: "%(limit)d"}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: %(ttl)ds, budgets: [{nodes: "50%%"}]}
  template:
    spec:
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: karpenter.k8s.aws/instance-generation, operator: In, values: ["5", "6"]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: steady}
spec:
  providerRef: {name: old}
  ttlSecondsAfterEmpty: %(ttl)d
  limits: {resources: {cpu: "%(limit)d"}}
  requirements:
    - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {discovery: demo}}]
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: old}
spec:
  instanceProfile: node
  subnetSelector: {discovery: demo}
  securityGroupSelector: {discovery: demo}
"""


@dataclass(slots=True)
class Storm:
    """One seeded storm. `run` raises AssertionError at the first thing that must not be."""

    limits: ClassVar[tuple[int, ...]] = (8, 32, 1000)
    seed: int
    early_binding: bool | None = None
    dice: random.Random = field(init=False)
    names: tuple[str, ...] = field(init=False)
    rehearsal: Rehearsal = field(init=False)
    invariants: Invariants = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.names = draw_names(self.dice)
        # A third of all storms bind pods before the machines join.
        early = self.seed % 3 == 0 if self.early_binding is None else self.early_binding
        conditions = Conditions(
            # The controller gathers facts on pods, rehearsals do not.
            system=SystemSettings(
                cluster_name="demo", early_binding=early, gather_seconds=0.05 if self.seed % 2 else 0.0
            ),
            cluster=self._cluster_settings(),
            cluster_faults=self._cluster_faults(),
            ec2_faults=self._ec2_faults(),
        )
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)
        self.invariants = Invariants(self.rehearsal)

    def _often(self, most: float) -> float:
        """Draw how often a fault happens: often enough, or never in this storm."""
        return self.dice.uniform(0, most) if self.dice.random() < 0.7 else 0.0

    def _cluster_settings(self) -> ClusterSettings:
        return ClusterSettings(system_daemons=EKS_DAEMONS, resync=300.0)

    def _cluster_faults(self) -> ClusterFaults:
        return ClusterFaults(
            conflict=self._often(0.1),
            answer_lost=self._often(0.1),
            unavailable=self._often(0.1),
            watch_duplicate=self._often(0.1),
            watch_drop=self._often(0.01),
            watch_delay_seconds=self._often(3.0),
        )

    def _ec2_faults(self) -> EC2Faults:
        return EC2Faults(
            answer_lost=self._often(0.3),
            terminate_lost=self._often(0.2),
            unavailable=self._often(0.15),
            throttled=self._often(0.1),
            slow=self._often(0.1),
            invisible=self._often(0.3),
            never_joins=self._often(0.1),
            shortage=self._often(0.2),
            spot_interruption=self._often(3.0),
        )

    def run(self) -> None:
        """Blow for twenty minutes, calm down, check that all is well, then clear everything away."""
        self._set_up()
        self._blow()
        self._calm()
        self.invariants.check_settled()
        self._clear()
        self.rehearsal.run(60 * CALM_MINUTES)
        self.invariants.check_empty()
        alarms = self.rehearsal.telemetry.counted(metrics.OTHER_CONTROLLERS.name)
        assert not alarms, "a controller before was taken for another one"

    def _pools(self) -> str:
        return POOLS

    def _set_up(self) -> None:
        limit = self.dice.choice(self.limits)
        self.rehearsal.apply(self._pools() % {"limit": limit, "ttl": self.dice.choice((0, 30, 120))})
        self.rehearsal.apply(workloads(self.names, self.dice))

    def _clear(self) -> None:
        """Want no pods any more."""
        for name in self.names:
            self.rehearsal.scale(name, 0, kind=kind_of(name))

    def _blow(self) -> None:
        end = 60.0 * MINUTES
        while self.rehearsal.seconds < end:
            pause = self.dice.uniform(2, 60)
            if self.dice.random() < 0.25:
                self._crash_at_some_message(pause)
            else:
                self.rehearsal.run(min(pause, max(end - self.rehearsal.seconds, 0.1)))
            self._something_happens()

    def _crash_at_some_message(self, within: float) -> None:
        """Kill the controller after a drawn number of messages, and start it again a while later."""
        at = self.rehearsal.world.steps + self.dice.randint(1, 400)
        world = self.rehearsal.world
        world.run_until(lambda: world.steps >= at, at_most=world.monotonic() + within)
        self.rehearsal.crash()
        self.rehearsal.run(self.dice.uniform(0, 20))
        self.rehearsal.restart()
        self.rehearsal.run(0)

    def _something_happens(self) -> None:
        rehearsal, dice = self.rehearsal, self.dice
        name = dice.choice(self.names)
        replicas = dice.randint(0, 12 if name in PLAIN else 6)
        events: list[Callable[[], object]] = [
            partial(rehearsal.scale, name, replicas, kind=kind_of(name)),
            self._lose_capacity,
            self._somebody_deletes_something,
            partial(rehearsal.api_server_away, dice.uniform(1, 30)),
        ]
        dice.choices(events, weights=[10, 2, 2, 1])[0]()

    def _lose_capacity(self) -> None:
        zone = self.dice.choice(("us-east-1a", "us-east-1b", "us-east-1c", "*"))
        until = self.rehearsal.seconds + self.dice.uniform(30, 300)
        self.rehearsal.ec2.outside.run_out(self.dice.choice(("c5.large", "m5.large", "*")), zone, until=until)

    def _somebody_deletes_something(self) -> None:
        things = [("NodeClaim", c.name) for c in self.rehearsal.claims() if not c.leaving]
        things += [("Node", n.name) for n in self.rehearsal.nodes() if n.deleting_since is None]
        if things:
            kind, name = self.dice.choice(sorted(things))
            self.rehearsal.delete(kind, name)

    def _calm(self) -> None:
        rehearsal = self.rehearsal
        rehearsal.cluster.faults = ClusterFaults()
        rehearsal.ec2.faults = EC2Faults()
        rehearsal.ec2.outside.restock()
        if not rehearsal.process.alive:
            rehearsal.restart()
        rehearsal.run(60 * (CALM_MINUTES - QUIET_MINUTES))
        with self.invariants.nothing_is_planned():
            rehearsal.run(60 * QUIET_MINUTES)
