"""The rules of consolidation, checked on a step without the packer: who may go, where to, for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from tests.fuzz.check.catalogue import CAPACITY_TYPE, POOL
from tests.fuzz.check.decision import Claim
from tests.fuzz.check.faults import Kind
from tests.fuzz.check.verdict import check
from tests.fuzz.consolidation.blockers import Blockers
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.machines import INITIALIZED, types
from tests.fuzz.consolidation.scores import PoolTotals, score
from tests.fuzz.consolidation.steps import (
    Step,
    claims_of,
    moves,
    nodes_of,
    pod_key,
    pods_on,
    price_of,
    without,
)
from tests.fuzz.manifests import INSTANCE_TYPE, Manifest

Written: TypeAlias = Mapping[str, Any]

# A one to one move from spot to spot needs so many cheaper types.
_SPOT_TYPES: Final = 15
_LEAST_SCORE: Final = 0.5
_EXACT: Final = 1e-9


class Rule(StrEnum):
    """What a step breaks. Those of placement are the checker of packing's."""

    BLOCKED = "a node that may not go"
    PLACE = "a pod without a place"
    PLACED = "a pod placed that does not move"
    RECEIVER = "a pod on a node that is not initialized"
    BUDGET = "over budget"
    PRICE = "not cheaper"
    UNPINNED = "neither spot nor on demand for sure"
    SPOT_TO_SPOT = "spot to spot"
    SAME_TYPE = "a type that goes is bought"
    SCORE = "not balanced"
    PLACEMENT = "placement"


@dataclass(frozen=True)
class Broken:
    """A rule that a step breaks; `about` names a node, a pod or a pool."""

    rule: Rule
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.about}: {self.what}"


class Rules:
    """Checks the steps of one plan or pass, in their order.

    What budgets allow and what pools have in all is taken at the start; what nodes are and hold, before
    each step.
    """

    def __init__(self, start: Cluster) -> None:
        self._pools = {one["metadata"]["name"]: one for one in start.items if one["kind"] == "NodePool"}
        self._left = allowed(start)
        self._totals = PoolTotals.of(start)

    def check(self, before: Cluster, step: Step) -> list[Broken]:
        """Return what a step breaks, made on the cluster `before`."""
        nodes = nodes_of(before)
        missing = [name for name in step.removed if name not in nodes]
        if missing or not step.removed:
            return [Broken(Rule.BLOCKED, ", ".join(missing), "there is no such node")]
        gone = [nodes[name] for name in step.removed]
        claims = claims_of(before, step)
        return [
            *self._blocked(before, step),
            *_unplaced(before, step, nodes),
            *self._over_budget(gone),
            *_misplaced(before, step),
            *_prices(before, gone, claims),
            *self._scores(before, step, gone, claims),
        ]

    def _blocked(self, before: Cluster, step: Step) -> Iterator[Broken]:
        blockers = Blockers(before)
        for name in step.removed:
            why = blockers.of(name)
            if why:
                yield Broken(Rule.BLOCKED, name, why)

    def _over_budget(self, gone: Sequence[Manifest]) -> Iterator[Broken]:
        for name, count in Counter(_pool_of(one) for one in gone).items():
            left = self._left.get(name, 0)
            self._left[name] = left - count
            if left < count:
                yield Broken(Rule.BUDGET, name, f"{count} nodes go, {max(0, left)} may")

    def _scores(
        self, before: Cluster, step: Step, gone: Sequence[Manifest], claims: Sequence[Claim]
    ) -> Iterator[Broken]:
        source = sum(map(price_of, gone))
        saved = source - sum(claim.price for claim in claims)
        if step.claims == () and Blockers(before).all_empty(step.removed):
            return
        for name in dict.fromkeys(map(_pool_of, gone)):
            if name in self._pools and _policy(self._pools[name]) == "Balanced":
                own = [one for one in gone if _pool_of(one) == name]
                share = sum(map(price_of, own)) / source if source else 0.0
                reached = score(before, own, saved * share, self._totals[name])
                if reached < _LEAST_SCORE - _EXACT:
                    yield Broken(Rule.SCORE, name, f"{reached:.3f} is less than {_LEAST_SCORE}")


def allowed(cluster: Cluster) -> dict[str, int]:
    """Return how many nodes each pool lets go now."""
    nodes = nodes_of(cluster).values()
    counts = Counter(_pool_of(one) for one in nodes if INITIALIZED in one["metadata"]["labels"])
    found = {}
    for one in cluster.items:
        if one["kind"] == "NodePool":
            name = one["metadata"]["name"]
            budgets = one["spec"]["disruption"]["budgets"]
            found[name] = min((_portion(b["nodes"], counts[name]) for b in budgets), default=counts[name])
    return found


def _portion(written: str, of: int) -> int:
    return -(-int(written[:-1]) * of // 100) if written.endswith("%") else int(written)


def _pool_of(node: Manifest) -> str:
    name: str = node["metadata"]["labels"].get(POOL, "")
    return name


def _policy(pool: Manifest) -> str:
    policy: str = pool["spec"]["disruption"]["consolidationPolicy"]
    return policy


# --- where pods go


def _unplaced(before: Cluster, step: Step, nodes: Mapping[str, Manifest]) -> Iterator[Broken]:
    blockers, places = Blockers(before), step.places
    moved = {pod_key(one): one for one in pods_on(before, step.removed) if moves(one)}
    for key, one in moved.items():
        if key not in places and not blockers.is_empty(one["spec"]["nodeName"]):
            yield Broken(Rule.PLACE, key, f"loses {one['spec']['nodeName']}")
    waiting = {pod_key(one) for one in before.items if one["kind"] == "Pod" and "nodeName" not in one["spec"]}
    for key, where in places.items():
        if key not in moved and key not in waiting:
            yield Broken(Rule.PLACED, key, f"goes to {where}, and is on no node that goes")
        node = nodes.get(where)
        managed = node is not None and POOL in node["metadata"]["labels"]
        if node is not None and managed and INITIALIZED not in node["metadata"]["labels"]:
            yield Broken(Rule.RECEIVER, key, where)


def placeless(before: Cluster, step: Step) -> list[str]:
    """Return the pods that lose their node by a step and get no place by it; none if all fit on others.

    No running pod is moved onto a node within its `consolidateAfter`, by Karpenter's rule too where it looks
    for places. Each way to place them is tried, so it is for a few pods.
    """
    lost = [pod_key(one) for one in pods_on(before, step.removed) if moves(one)]
    lost = [key for key in lost if key not in step.places]
    blockers = Blockers(before)
    left = [name for name in nodes_of(before) if name not in step.removed and blockers.receives(name)]
    return [] if _fit(before, step, lost, left) else lost


def _fit(before: Cluster, step: Step, pods: Sequence[str], nodes: Sequence[str]) -> bool:
    """Return whether pods may be on nodes after a step, beside those that the step puts there."""
    if not pods:
        return True
    ways = (
        replace(step, existing={**step.existing, name: (*step.existing.get(name, ()), pods[0])})
        for name in nodes
    )
    return any(_fit(before, way, pods[1:], nodes) for way in ways if not any(_misplaced(before, way)))


def _misplaced(before: Cluster, step: Step) -> Iterator[Broken]:
    """Check places as those of pods that wait, on a cluster without the nodes that go."""
    left = without(before, step)
    decision = {"nodeClaims": step.claims, "existing": step.existing, "unschedulable": {}}
    for fault in check(left.items, types(), decision).faults:
        if fault.kind is not Kind.REFUSED:
            yield Broken(Rule.PLACEMENT, fault.about, f"{fault.kind.value}: {fault.what}")


# --- prices


def _prices(before: Cluster, gone: Sequence[Manifest], claims: Sequence[Claim]) -> Iterator[Broken]:
    if not claims:
        return
    names = ", ".join(one["metadata"]["name"] for one in gone)
    source = sum(map(price_of, gone))
    worst = sum(max((way.price for way in claim.home.ways), default=0.0) for claim in claims)
    if worst >= source - _EXACT:
        yield Broken(Rule.PRICE, names, f"cost {source:.6f}, what is bought may cost {worst:.6f} $/h")
    kinds = [{way.labels[CAPACITY_TYPE] for way in claim.home.ways} for claim in claims]
    for claim, ways in zip(claims, kinds, strict=True):
        if {"spot", "on-demand"} <= ways:
            yield Broken(Rule.UNPINNED, names, f"{claim.name} may be spot or on demand")
    yield from _spot_to_spot(before, gone, claims, names)
    if len(claims) == 1 and len(gone) > 1:
        yield from _same_type(gone, claims[0], names)


def _spot_to_spot(
    before: Cluster, gone: Sequence[Manifest], claims: Sequence[Claim], names: str
) -> Iterator[Broken]:
    if any(one["metadata"]["labels"].get(CAPACITY_TYPE) != "spot" for one in gone):
        return
    for claim in claims:
        if all(way.labels[CAPACITY_TYPE] != "spot" for way in claim.home.ways):
            continue
        if not before.spot_to_spot:
            yield Broken(Rule.SPOT_TO_SPOT, names, f"{claim.name} may be spot, and the gate is shut")
        elif len(gone) == 1 and len(claim.types) < _SPOT_TYPES:
            yield Broken(Rule.SPOT_TO_SPOT, names, f"{claim.name} has {len(claim.types)} types only")


def _same_type(gone: Sequence[Manifest], claim: Claim, names: str) -> Iterator[Broken]:
    """A type that goes may be bought only where that costs less than the cheapest of them that goes."""
    prices = [price_of(one) for one in gone if one["metadata"]["labels"][INSTANCE_TYPE] in claim.types]
    dear = sorted({way.type.name for way in claim.home.ways if prices and way.price >= min(prices) - _EXACT})
    if dear:
        what = f"{', '.join(dear)} costs as much as a node that goes and could stay"
        yield Broken(Rule.SAME_TYPE, names, what)
