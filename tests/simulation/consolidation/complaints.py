"""What users of Karpenter complain of in its consolidation, as rehearsals that either side plays."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.scenarios.manifests import Manifest, deployment, node_class, text
from tests.simulation.consolidation.sides import Rehearsed, Side, Terms, pool
from treenail.domain.model import labels

ZONES: Final = ("us-east-1a", "us-east-1b", "us-east-1c")
_TEN_PERCENT: Final = [{"nodes": "10%"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What came of it: $/h at the end, $ in all, nodes given up at will and pods evicted for it.

    `rest` is the second of the last of these, after the change that the complaint is about. `share` is how
    much of something (said in the play) is as it should be.
    """

    price: float
    cost: float
    nodes: int
    moved: int
    evicted: int
    rest: float
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A complaint: `play` rehearses it and returns the share; ours must be better by the figure `better`."""

    play: Callable[[Rehearsed], float | None]
    better: str
    terms: Terms = field(default_factory=Terms)

    def figures(self, side: Side) -> Figures:
        """Play it with one side consolidating."""
        with Rehearsed(side, self.terms) as rehearsed:
            share = self.play(rehearsed)
            watch = rehearsed.watch
            return Figures(
                price=round(rehearsed.price, 4),
                cost=round(rehearsed.rehearsal.cost(), 2),
                nodes=len(rehearsed.rehearsal.nodes()),
                moved=rehearsed.moved,
                evicted=watch.evicted.total(),
                rest=round(max(0.0, watch.last_move - watch.since)),
                share=1.0 if share is None else share,
            )


def _starts(rehearsed: Rehearsed, *manifests: Manifest) -> None:
    """Apply all, and let all pods run for five minutes."""
    rehearsed.rehearsal.apply(text(node_class(), *manifests))
    pods = sum(one["spec"].get("replicas", 0) for one in manifests if one["kind"] == "Deployment")
    rehearsed.run_until_all_run(pods)
    rehearsed.rehearsal.run("5m")
    rehearsed.watch.begin()


def with_pod(made: Manifest, **spec: object) -> Manifest:
    """Return a Deployment with more in the spec of its pods."""
    made["spec"]["template"]["spec"] |= spec
    return made


def zonal(name: str, when: str = "ScheduleAnyway", key: str = labels.ZONE) -> list[dict[str, Any]]:
    """Return a spread of the pods of a Deployment."""
    chosen = {"matchLabels": {"app": name}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": chosen}]


def apart(name: str) -> dict[str, Any]:
    """Return a preference not to share a node with the like."""
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": labels.HOSTNAME}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def budget(app: str, **allows: object) -> Manifest:
    """Return a disruption budget of a Deployment's pods."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"{app}-pdb"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **allows},
    }


# --- the plays


def one_large_node(rehearsed: Rehearsed) -> None:
    """A workload shrinks to a third: one large node is left, where small ones would do for less (k#1442)."""
    apps = [deployment(f"app-{n}", 10, cpu="900m") for n in range(6)]
    _starts(rehearsed, pool(), *apps)
    for number in range(6):
        rehearsed.rehearsal.scale(f"app-{number}", 3)
    rehearsed.rehearsal.run("3h")


def a_guest_that_leaves(rehearsed: Rehearsed) -> None:
    """A large pod comes and goes; nothing else changes for 14 hours (a#8536)."""
    apps = [
        with_pod(
            deployment(f"app-{n}", 6, cpu="700m", memory="1500Mi"),
            topologySpreadConstraints=zonal(f"app-{n}"),
        )
        for n in range(6)
    ]
    _starts(rehearsed, pool(families=("c6a", "m6a", "r7i")), *apps)
    guest = deployment("guest", 1, cpu="6", memory="50Gi")
    rehearsed.rehearsal.apply(text(guest))
    rehearsed.run_until_all_run(37)
    rehearsed.rehearsal.run("10m")
    rehearsed.rehearsal.scale("guest", 0)
    rehearsed.watch.begin()
    rehearsed.rehearsal.run("14h")


def replicas_that_flap(rehearsed: Rehearsed) -> None:
    """An autoscaler doubles and halves replicas every ten minutes, for twelve hours (a#7146)."""
    apps = [deployment(f"app-{n}", 6, cpu="450m") for n in range(6)]
    _starts(rehearsed, pool(), *apps)
    dice = random.Random(rehearsed.rehearsal.conditions.system.cluster_name)
    for _ in range(72):
        rehearsed.rehearsal.scale(f"app-{dice.randrange(6)}", dice.choice((6, 9, 12)))
        rehearsed.rehearsal.run("10m")


def prices_that_move(rehearsed: Rehearsed) -> None:
    """Spot prices go up and down by a tenth every hour, for a day (a#7344).

    Karpenter's rule moves nothing, as fewer than 15 types are cheaper: what counts is what all costs.
    """
    apps = [deployment(f"app-{n}", 4, cpu="900m") for n in range(5)]
    families = ("c5", "m5", "c5a", "m5a", "c6i", "m6i", "c6a", "m6a")
    _starts(rehearsed, pool(capacity_types=("spot",), families=families), *apps)
    dice = random.Random(7)
    for _ in range(24):
        move_prices(rehearsed, dice, families, by=0.1)
        rehearsed.rehearsal.run("1h")


def move_prices(rehearsed: Rehearsed, dice: random.Random, families: tuple[str, ...], *, by: float) -> None:
    """Move the spot prices of all types of these families by up to that share of themselves."""
    ec2 = rehearsed.rehearsal.ec2
    for name in rehearsed.types(families):
        for zone in ZONES:
            price = ec2.spot_price(name, zone)
            if price is not None:
                ec2.outside.set_spot_price(name, zone, round(price * (1 + dice.uniform(-by, by)), 6))


def twenty_pools(rehearsed: Rehearsed) -> None:
    """Twenty pools whose pods may go nowhere else; those of half of them shrink to a third (k#3305).

    Three Deployments a pool: a single one would leave all its pods on one node, and the others empty.
    """
    pools = [
        pool(f"pool-{n}", labels={"of": str(n)}, budgets=_TEN_PERCENT, sizes=("xlarge",)) for n in range(20)
    ]
    apps = [
        deployment(f"app-{n}-{part}", 3, cpu="1100m", node_selector={"of": str(n)})
        for n in range(20)
        for part in range(3)
    ]
    _starts(rehearsed, *pools, *apps)
    for number in range(0, 20, 2):
        for part in range(3):
            rehearsed.rehearsal.scale(f"app-{number}-{part}", 1)
    rehearsed.rehearsal.run("2h")


def slow_at_size(rehearsed: Rehearsed) -> None:
    """A pool of sixty nodes of which no two fit on one, but one in ten may go (k#903, k#1970)."""
    sizes = ("xlarge", "2xlarge")
    apps = [deployment(f"app-{n}", 30, cpu="1700m") for n in range(4)]
    _starts(rehearsed, pool(budgets=_TEN_PERCENT, sizes=sizes), *apps)
    for number in range(4):
        rehearsed.rehearsal.scale(f"app-{number}", 12)
    rehearsed.rehearsal.run("6h")


def singletons(rehearsed: Rehearsed) -> None:
    """Deployments of one replica whose budget allows nothing, beside others that shrink (k#2600).

    Their nodes stay, by either rule: nobody may evict their pods. What others leave is packed onto them.
    """
    alone = [deployment(f"alone-{n}", 1, cpu="300m") for n in range(3)]
    others = [deployment(f"app-{n}", 8, cpu="900m") for n in range(3)]
    kept = [budget(f"alone-{n}", minAvailable=1) for n in range(3)]
    _starts(rehearsed, pool(sizes=("xlarge",)), *alone, *others, *kept)
    for number in range(3):
        rehearsed.rehearsal.scale(f"app-{number}", 1)
    rehearsed.rehearsal.run("3h")


def binding_in_the_wait(rehearsed: Rehearsed) -> float:
    """Pods come to nodes just as these are given up (k#1167). The share: evicted pods older than a minute."""
    apps = [deployment(f"app-{n}", 8, cpu="450m") for n in range(4)]
    _starts(rehearsed, pool(sizes=("large", "xlarge")), *apps)
    dice = random.Random(3)
    for _ in range(60):
        rehearsed.rehearsal.scale(f"app-{dice.randrange(4)}", dice.randrange(2, 9))
        rehearsed.rehearsal.run(dice.uniform(20, 90))
    rehearsed.rehearsal.run("30m")
    evicted = rehearsed.watch.evicted.total()
    return 1.0 - rehearsed.watch.young / evicted if evicted else 1.0


def a_pod_nobody_can_serve(rehearsed: Rehearsed) -> None:
    """A pod asks for more than there is, for ever; all else shrinks (k#678)."""
    apps = [deployment(f"app-{n}", 8, cpu="900m") for n in range(4)]
    _starts(rehearsed, pool(), *apps)
    rehearsed.rehearsal.apply(text(deployment("giant", 1, cpu="900")))
    for number in range(4):
        rehearsed.rehearsal.scale(f"app-{number}", 3)
    rehearsed.rehearsal.run("3h")


def preferences(rehearsed: Rehearsed) -> None:
    """Pods that would rather be apart, on nodes that others have left (a#4907)."""
    apart_ones = [
        with_pod(deployment(f"app-{n}", 5, cpu="300m"), affinity=apart(f"app-{n}")) for n in range(2)
    ]
    _starts(rehearsed, pool(sizes=("large", "xlarge")), *apart_ones, deployment("gone", 10, cpu="1500m"))
    rehearsed.rehearsal.scale("gone", 0)
    rehearsed.rehearsal.run("3h")


def a_spread_that_may_be_ignored(rehearsed: Rehearsed) -> None:
    """Pods that would rather be spread over nodes, on nodes that others have left (a#4907)."""
    spread_ones = [
        with_pod(
            deployment(f"app-{n}", 8, cpu="300m"),
            topologySpreadConstraints=zonal(f"app-{n}", key=labels.HOSTNAME),
        )
        for n in range(2)
    ]
    _starts(rehearsed, pool(sizes=("large", "xlarge")), *spread_ones, deployment("gone", 10, cpu="1500m"))
    rehearsed.rehearsal.scale("gone", 0)
    rehearsed.rehearsal.run("3h")


def back_to_the_heavier_pool(rehearsed: Rehearsed) -> float:
    """The preferred pool has no capacity for an hour (k#1829). The share: nodes of it five hours later."""
    heavy = pool("heavy", families=("m5",), weight=50, sizes=("xlarge",))
    back = {"treenail.sh/return": "20%"}
    light = pool("light", families=("c5",), sizes=("xlarge",), annotations=back)
    for zone in ZONES:
        rehearsed.rehearsal.run_out("m5.xlarge", zone)
    _starts(rehearsed, heavy, light, *[deployment(f"app-{n}", 3, cpu="1500m") for n in range(3)])
    rehearsed.rehearsal.run("1h")
    rehearsed.rehearsal.ec2.outside.restock()
    rehearsed.rehearsal.run("5h")
    claims = rehearsed.rehearsal.claims()
    return sum(claim.pool == "heavy" for claim in claims) / len(claims)


_SLOW: Final = Terms(simulation_seconds=0.65)
COMPLAINTS: Final[Mapping[str, Complaint]] = {
    "k#1442: one large node becomes several small ones": Complaint(play=one_large_node, better="price"),
    "a#8536: no churn for 14 hours after a guest left": Complaint(play=a_guest_that_leaves, better="price"),
    "a#7146: replicas that flap": Complaint(play=replicas_that_flap, better="moved"),
    "a#7344: prices that move": Complaint(
        play=prices_that_move, better="cost", terms=Terms(spot_to_spot=True)
    ),
    "k#3305: twenty pools": Complaint(play=twenty_pools, better="rest", terms=Terms(simulation_seconds=0.28)),
    "k#903, k#1970: slow at size": Complaint(play=slow_at_size, better="rest", terms=_SLOW),
    "k#2600: singletons with budgets": Complaint(play=singletons, better="rest"),
    "k#1167: pods that bind in the wait": Complaint(play=binding_in_the_wait, better="share"),
    "k#678: a pod nobody can serve": Complaint(play=a_pod_nobody_can_serve, better="price"),
    "a#4907: preferences are no walls": Complaint(play=preferences, better="price"),
    "a#4907: spreads that may be ignored": Complaint(play=a_spread_that_may_be_ignored, better="price"),
    "k#1829: back to the heavier pool": Complaint(play=back_to_the_heavier_pool, better="share"),
}
