"""A storm in which two controllers run at once, neither of which knows of the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.simulation.rival import Rival
from tests.simulation.storm import CALM_MINUTES, MINUTES, POOLS, Storm
from tests.simulation.workloads import kind_of, workloads
from treenail.domain.cluster.duplicate_nodes import is_duplicate

_LIMIT = 10_000
_GIVEN_BACK_WITHIN = 600.0
_LOOK_SECONDS = 20.0


@dataclass(slots=True)
class RivalStorm(Storm):
    """One seeded storm with a second controller, which comes at some time, and in half of them goes again.

    In every other one the pools keep empty nodes for ever.
    """

    rivals: list[Rival] = field(default_factory=list)
    doubled: dict[str, float] = field(default_factory=dict)
    given_back: int = 0

    def run(self) -> None:
        """Blow and calm down with both, check that all is well and nothing doubled, then clear away."""
        self._look()
        self._set_up()
        world = self.rehearsal.world
        comes = self.dice.uniform(0, 300)
        world.call_at(comes, lambda: self.rivals.append(Rival(self.rehearsal, seed=self.seed)))
        if self.seed % 4 < 2:
            goes = comes + self.dice.uniform(120, 60.0 * MINUTES)
            world.call_at(goes, self._rival_leaves)
        self._blow()
        self._calm()
        self.invariants.check_settled()
        assert not self.doubled, f"still doubled: {sorted(self.doubled)}"
        self._apply_pools(keep=False)
        for name in self.names:
            self.rehearsal.scale(name, 0, kind=kind_of(name))
        self.rehearsal.run(60 * CALM_MINUTES)
        self.invariants.check_empty()

    def _rival_leaves(self) -> None:
        self.rivals[0].leave()

    def _set_up(self) -> None:
        self._apply_pools(keep=bool(self.seed % 2))
        self.rehearsal.apply(workloads(self.names, self.dice))

    def _apply_pools(self, *, keep: bool) -> None:
        pools = POOLS % {"limit": _LIMIT, "ttl": 30}
        if keep:
            pools = pools.replace("consolidateAfter: 30s", "consolidateAfter: Never")
            pools = re.sub(r"\n  ttlSecondsAfterEmpty: \d+", "", pools)
        self.rehearsal.apply(pools)

    def _look(self) -> None:
        """See now and then which claims are doubled, and for how long they have been."""
        cluster, now = self.rehearsal.cluster, self.rehearsal.seconds
        pods = {pod.uid: pod for pod in cluster.pods()}
        nodes = {node.name: node for node in cluster.nodes()}
        hosts = {pod.node_name for pod in cluster.pods() if not pod.daemon and pod.node_name}
        claims = cluster.claims()
        there = {
            claim.name
            for claim in claims
            if claim.initialized and claim.node_name not in hosts and is_duplicate(claim, pods, nodes, claims)
        }
        gone = self.doubled.keys() - there
        self.given_back += len(gone - {claim.name for claim in claims if not claim.leaving})
        self.doubled = {name: self.doubled.get(name, now) for name in sorted(there)}
        for name, since in self.doubled.items():
            assert now - since <= _GIVEN_BACK_WITHIN, f"{name} has been doubled for {now - since:.0f} s"
        self.rehearsal.world.call_at(now + _LOOK_SECONDS, self._look)
