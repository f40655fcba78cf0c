"""A cluster that never rests: autoscalers that flap, spot prices that move, CronJobs by the minute."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fsum
from typing import Final

from tests.scenarios.manifests import Manifest, deployment, node_class, text
from tests.simulation.consolidation.complaints import ZONES
from tests.simulation.consolidation.oracle import Oracle
from tests.simulation.consolidation.sides import Rehearsed, Side, Terms, pool
from tests.simulation.consolidation.whole_cost import whole_cost

_FAMILIES: Final = ("c5", "m5", "c6i", "m6i")
_APPS: Final = 8
_CPU: Final = ("250m", "500m", "900m", "1500m")
_CRON_JOBS: Final = 3
# A price moves by up to this share of what it is by itself.
_SWING: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrested:
    """What came of it: nodes replaced and given up by node and day, cost by the oracle's, nodes on average.

    `returns` are loops from one type to another and back. Those `bought_back` moves did not plan: a new pod
    took the room that a pod was to have, for which a node was bought then.
    """

    replaced_a_day: float
    given_up_a_day: float
    returns: int
    bought_back: int
    cost_ratio: float
    nodes: float
    evicted: int


@dataclass(slots=True)
class Unrest:
    """A seeded history of Deployments of `replicas` pods.

    The first hour is not counted: all is bought in it.
    """

    seed: int
    hours: int
    replicas: int = 12
    dice: random.Random = field(init=False)
    rehearsed: Rehearsed = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.rehearsed = Rehearsed(Side.OURS, Terms(seed=self.seed, spot_to_spot=True))

    def run(self) -> Unrested:
        """Live through all of it. Raises AssertionError at the first thing that must not be."""
        with self.rehearsed as rehearsed:
            rehearsed.rehearsal.apply(text(node_class(), *self._manifests()))
            for minute in range(60):
                self._minute(minute)
            rehearsed.watch.begin()
            oracle = Oracle(rehearsed.rehearsal)
            costs: list[tuple[float, float]] = []
            nodes = 0
            for minute in range(60 * self.hours):
                self._minute(minute)
                costs.append((whole_cost(rehearsed.rehearsal), oracle.cost()))
                nodes += len(rehearsed.rehearsal.nodes())
            return self._came_to(costs, nodes)

    def _came_to(self, costs: list[tuple[float, float]], nodes: int) -> Unrested:
        """Return the figures: `costs` and the sum of `nodes` are of each minute."""
        watch, days = self.rehearsed.watch, nodes / (24 * 60)
        loops, planned = watch.lineage.returns(), watch.lineage.planned_returns()
        return Unrested(
            replaced_a_day=round(watch.replaced / days, 2),
            given_up_a_day=round(self.rehearsed.moved / days, 2),
            returns=len(planned),
            bought_back=len(loops) - len(planned),
            cost_ratio=round(fsum(ours for ours, _ in costs) / fsum(free for _, free in costs), 4),
            nodes=round(nodes / len(costs), 1),
            evicted=watch.evicted.total(),
        )

    def _manifests(self) -> Iterator[Manifest]:
        """Yield a pool, Deployments with an autoscaler, and others that stand for CronJobs."""
        ways = ("spot", "on-demand")
        yield pool(capacity_types=ways, families=_FAMILIES, after="0s", budgets=[{"nodes": "10%"}])
        for number in range(_APPS):
            cpu = _CPU[number % len(_CPU)]
            yield deployment(f"app-{number}", self.replicas, cpu=cpu, grace_seconds=30)
        for number in range(_CRON_JOBS):
            yield deployment(f"job-{number}", 0, cpu="200m", grace_seconds=5)

    def _minute(self, minute: int) -> None:
        """Let a minute pass; it ends while the jobs of the minute run."""
        rehearsal = self.rehearsed.rehearsal
        if minute % 60 == 0:
            self._move_prices()
        if minute % 5 == 0:
            name = f"app-{self.dice.randrange(_APPS)}"
            rehearsal.scale(name, self.replicas * self.dice.choice((4, 5, 6)) // 4)
        rehearsal.run(20)
        for number in range(_CRON_JOBS):
            rehearsal.scale(f"job-{number}", 1)
        rehearsal.run(40)
        for number in range(_CRON_JOBS):
            rehearsal.scale(f"job-{number}", 0)

    def _move_prices(self) -> None:
        """Move each spot price by chance, about what it is by itself: prices go back where they came from."""
        outside = self.rehearsed.rehearsal.ec2.outside
        for name in self.rehearsed.types(_FAMILIES):
            for zone in ZONES:
                outside.set_spot_price(name, zone, None)
                price = self.rehearsed.rehearsal.ec2.spot_price(name, zone)
                if price is not None:
                    moved = price * (1 + self.dice.uniform(-_SWING, _SWING))
                    outside.set_spot_price(name, zone, round(moved, 6))
