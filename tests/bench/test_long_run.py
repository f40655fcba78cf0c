from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.bench.large_cluster import DEPLOYMENT, LargeCluster
from tests.bench.state_census import entries

# What waits at any time is a little more or less.
SLACK = 1.05
# An attribute with fewer new entries than this in all has not grown.
FEW = 20
# Those that may grow, up to a number of entries: it is in their code. A spec among residents, and a pod that
# moved, is five of them.
BOUNDED = {
    "Inventory._ended": 256,
    "OtherControllers._own": 10_000,
    "RecentChanges._pods": 100_000,
    "Residents._known": 10_000,
    "Residents._of_spec": 50_000,
}
# Those with as many entries a claim at most: at first all claims are of few decisions, later each of its own.
OF_A_CLAIM = {"ClaimPrices._by_decision": 2, "MarkedClaims._by_token": 2}


class Days:
    """Days of a cluster whose workloads change, and are as large at the end of each hour as before."""

    def __init__(self, pods: int) -> None:
        self.cluster = LargeCluster(pods)
        self._dice = random.Random(2)
        self._each = pods // 30
        self._names = [f"d{number}" for number in range(30)]
        self._made = 0
        self.cluster.settle()

    def hour(self) -> None:
        """Scale a Deployment to nothing and back each minute; replace one, and lose a machine, every ten."""
        rehearsal = self.cluster.rehearsal
        for minute in range(50):
            name = self._dice.choice(self._names)
            rehearsal.scale(name, 0)
            rehearsal.run(30)
            rehearsal.scale(name, self._each)
            rehearsal.run(30)
            if minute % 10 == 9:
                self._replace()
                lost = self._dice.choice(sorted(one.instance.id for one in rehearsal.ec2.live()))
                rehearsal.ec2.outside.terminate(lost)
        rehearsal.run("10m")

    def _replace(self) -> None:
        rehearsal, at = self.cluster.rehearsal, self._dice.randrange(len(self._names))
        rehearsal.delete("Deployment", self._names[at])
        self._made += 1
        self._names[at] = f"new{self._made}"
        rehearsal.apply(DEPLOYMENT % {"name": self._names[at], "replicas": self._each, "cpu": "700m"})

    def kept(self) -> tuple[Counter[str], int]:
        """Return the entries that are kept now, and how many nodes there are to keep them for."""
        return entries(self.cluster.rehearsal), len(self.cluster.rehearsal.nodes())


def test_what_the_controller_keeps_does_not_grow_with_time(request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    days, hours = Days(30_000 if soak else 120), 24 if soak else 3
    days.hour()
    first, nodes = days.kept()
    for _ in range(hours - 1):
        days.hour()
    last, nodes_then = days.kept()

    growth = max(1, nodes_then / nodes) * SLACK
    most = {
        name: max(BOUNDED.get(name, 0), OF_A_CLAIM.get(name, 0) * nodes_then, first[name] * growth) + FEW
        for name in last
    }
    assert {name: (first[name], many) for name, many in last.items() if many > most[name]} == {}
    kept = [sum(many for name, many in of.items() if name not in BOUNDED) for of in (first, last)]
    assert kept[1] <= kept[0] * growth
