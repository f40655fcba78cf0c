"""Clusters of any kind through twenty minutes of trouble, until nothing of theirs moves any more."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any, Final

from tests.scenarios.manifests import KEPT, Manifest, deployment, node_class, text
from tests.simulation.consolidation.complaints import ZONES, apart, budget, move_prices, with_pod, zonal
from tests.simulation.consolidation.move_watch import SIX_HOURS
from tests.simulation.consolidation.sides import Rehearsed, Side, Terms, pool
from tests.simulation.consolidation.whole_cost import whole_cost
from tests.simulation.invariants import Invariants
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.model import labels
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.taints import DISRUPTED

TROUBLE_MINUTES: Final = 20
_FAMILIES: Final = ("c5", "m5")
_GLANCE: Final = 30.0
# A replacement is kept for six hours: what it holds back may move then, and only after that all is at rest.
_REST_SECONDS: Final = SIX_HOURS + 600
# What a withdrawn move left dearer is given back within this time: the longest `consolidateAfter` of a pool,
# the pause after a withdrawal, and a few passes.
_MENDED_SECONDS: Final = 900.0


@dataclass(slots=True)
class Settling:
    """One seeded cluster. `run` raises AssertionError at the first thing that must not be.

    `hours` is how long nothing may move once all is at rest.
    """

    seed: int
    hours: float = 24.0
    dice: random.Random = field(init=False)
    rehearsed: Rehearsed = field(init=False)
    names: tuple[str, ...] = field(init=False)
    # The second from which on nothing outside changes any more.
    calm_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        terms = Terms(
            seed=self.seed,
            spot_to_spot=self.dice.random() < 0.5,
            cluster_faults=self._cluster_faults(),
            ec2_faults=self._ec2_faults(),
        )
        self.rehearsed = Rehearsed(Side.OURS, terms)
        self.names = tuple(f"app-{n}" for n in range(self.dice.randint(3, 6)))

    def _often(self, most: float) -> float:
        return self.dice.uniform(0, most) if self.dice.random() < 0.5 else 0.0

    def _cluster_faults(self) -> ClusterFaults:
        return ClusterFaults(
            conflict=self._often(0.05),
            answer_lost=self._often(0.05),
            unavailable=self._often(0.05),
            watch_duplicate=self._often(0.1),
            watch_drop=self._often(0.005),
            watch_delay_seconds=self._often(2.0),
        )

    def _ec2_faults(self) -> EC2Faults:
        return EC2Faults(
            answer_lost=self._often(0.1),
            unavailable=self._often(0.1),
            throttled=self._often(0.1),
            invisible=self._often(0.2),
            never_joins=self._often(0.05),
            shortage=self._often(0.2),
            spot_interruption=self._often(1.0),
        )

    def run(self) -> None:
        """Let trouble blow, then calm down, come to rest, and stay there."""
        with self.rehearsed:
            rehearsal = self.rehearsed.rehearsal
            invariants = Invariants(rehearsal)
            rehearsal.apply(text(node_class(), *self._pools(), *self._workloads()))
            self._blow()
            self._calm()
            self._comes_to_rest()
            invariants.check_settled()
            self._stays_at_rest()

    # --- what there is

    def _pools(self) -> list[Manifest]:
        dice = self.dice
        ways: list[tuple[str, ...]] = [("on-demand",), ("spot",), ("spot", "on-demand")]
        return [
            pool(
                f"pool-{number}",
                after=dice.choice(("0s", "30s", "2m")),
                families=_FAMILIES,
                capacity_types=dice.choice(ways),
                weight=dice.choice((None, 10)),
                budgets=dice.choice(([{"nodes": "100%"}], [{"nodes": "50%"}], [{"nodes": "2"}])),
                annotations=dice.choice(({}, {}, {"treenail.sh/payback": "2h"})),
            )
            for number in range(dice.randint(1, 2))
        ]

    def _workloads(self) -> list[Manifest]:
        return [one for name in self.names for one in self._workload(name)]

    def _workload(self, name: str) -> list[Manifest]:
        dice = self.dice
        cpu, memory = dice.choice(("150m", "500m", "1", "1700m")), dice.choice(("256Mi", "1Gi", "4Gi"))
        made = deployment(name, dice.randint(1, 10), cpu=cpu, memory=memory, grace_seconds=5)
        kind = dice.randrange(9)
        more: dict[int, dict[str, Any]] = {
            0: {"topologySpreadConstraints": zonal(name)},
            1: {"topologySpreadConstraints": zonal(name, "DoNotSchedule", labels.HOSTNAME)},
            2: {"affinity": apart(name)},
        }
        if kind == 3:
            made["spec"]["template"]["metadata"]["annotations"] = dict(KEPT)
        allows = dice.choice(({"maxUnavailable": 1}, {"maxUnavailable": "50%"}, {"minAvailable": 1}))
        return [with_pod(made, **more.get(kind, {})), *([budget(name, **allows)] if kind in (4, 5) else [])]

    # --- trouble

    def _blow(self) -> None:
        rehearsal, dice = self.rehearsed.rehearsal, self.dice
        while rehearsal.seconds < 60 * TROUBLE_MINUTES:
            rehearsal.run(dice.uniform(5, 90))
            match dice.randrange(10):
                case 0:
                    rehearsal.crash()
                    rehearsal.run(dice.uniform(0, 20))
                    rehearsal.restart()
                case 1:
                    rehearsal.ec2.outside.run_out(
                        dice.choice(("c5.large", "m5.xlarge", "*")),
                        dice.choice(ZONES),
                        until=rehearsal.seconds + dice.uniform(30, 300),
                    )
                case 2:
                    rehearsal.api_server_away(dice.uniform(1, 20))
                case 3:
                    move_prices(self.rehearsed, dice, _FAMILIES, by=0.2)
                case _:
                    rehearsal.scale(dice.choice(self.names), dice.randint(0, 10))

    def _calm(self) -> None:
        rehearsal = self.rehearsed.rehearsal
        rehearsal.cluster.faults = ClusterFaults()
        rehearsal.ec2.faults = EC2Faults()
        rehearsal.ec2.outside.restock()
        if not rehearsal.process.alive:
            rehearsal.restart()
        self.calm_at = rehearsal.seconds
        # Whoever waits gets a place first, and machines that never join are given up.
        rehearsal.run("20m")

    # --- rest

    def _comes_to_rest(self) -> None:
        """The price falls, and ten rounds of moves are enough.

        Where the scheduler gave a pod's room to another pod of the same pass it rises, until the next moves.
        """
        rehearsal, watch = self.rehearsed.rehearsal, self.rehearsed.watch
        began, bought = rehearsal.seconds, self._bought_for_pods()
        prices: list[float] = []
        least, least_at = float("inf"), began
        while (idle := rehearsal.seconds - max(began, watch.last_move)) < _REST_SECONDS:
            rehearsal.run(_GLANCE if idle < 3600 else 10 * _GLANCE)
            if self._quiet():
                prices.append(whole_cost(rehearsal))
                last, bought = bought, self._bought_for_pods()
                if bought != last or prices[-1] < least + 1e-6:
                    least, least_at = prices[-1], rehearsal.seconds
                dear = rehearsal.seconds - least_at
                assert dear <= _MENDED_SECONDS, self._said(f"it costs {prices[-1] - least} more for {dear} s")
            assert len(rounds(watch.waves(began))) <= 10, self._said("it does not come to rest")
        assert prices[-1] < prices[0] + 1e-6, self._said(f"the price rose from {prices[0]} to {prices[-1]}")

    def _bought_for_pods(self) -> int:
        """Return how many plans bought nodes for pods that wait; those of moves have a number in their id."""
        plans = (e.fields for e in self.rehearsed.rehearsal.timeline.entries if e.event == "PlanCommitted")
        return sum(bool(plan["nodeClaims"]) and "-" not in str(plan["decision"]) for plan in plans)

    def _quiet(self) -> bool:
        """Return whether nothing is under way: what is paid twice for a while counts for nothing.

        A node that a budget holds for good is as it stays: one pod of two was scaled away while it left.
        """
        rehearsal, held = self.rehearsed.rehearsal, self._held_by_budgets()
        used = all(c.initialized and (not c.leaving or c.node_name in held) for c in rehearsal.claims())
        marked = any(DISRUPTED in node.taints and node.name not in held for node in rehearsal.nodes())
        return used and not marked and len(rehearsal.ec2.live()) == len(rehearsal.nodes())

    def _held_by_budgets(self) -> dict[str, None]:
        """Return the nodes with a pod that its budget lets nobody evict, by name."""
        rehearsal = self.rehearsed.rehearsal
        none = [b for b in rehearsal.cluster.objects(PodDisruptionBudget) if b.disruptions_allowed == 0]
        held = (pod.node_name for pod in rehearsal.pods() if any(budget.selects(pod) for budget in none))
        return dict.fromkeys(held)

    def _stays_at_rest(self) -> None:
        rehearsal, watch = self.rehearsed.rehearsal, self.rehearsed.watch
        at, bought = rehearsal.seconds, len(rehearsal.ec2.all_instances())
        rehearsal.run(3600 * self.hours)
        assert watch.waves(at) == [], self._said("nodes moved though nothing changed")
        assert len(rehearsal.ec2.all_instances()) == bought, self._said("nodes were bought")
        # A node bought for pods that wait may be of a kind given up before; no move brings one back.
        assert watch.lineage.planned_returns() == []
        assert watch.homeless == watch.over_budget == []

    def _said(self, what: str) -> str:
        entries = self.rehearsed.rehearsal.timeline.entries[-12:]
        return f"{what}: {self.rehearsed.rehearsal.summary()}: " + "; ".join(
            f"{e.at:.0f} {e.event} {json.dumps(e.fields, default=str)[:160]}" for e in entries
        )


def rounds(waves: list[float], *, apart_seconds: float = 300.0) -> list[float]:
    """Return when each round of moves began: what follows within five minutes is one with it."""
    began: list[float] = []
    last = float("-inf")
    for at in waves:
        if at - last > apart_seconds:
            began.append(at)
        last = at
    return began
