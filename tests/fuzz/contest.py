"""One scenario, decided and checked: Treenail alone, or beside Karpenter."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.verdict import Verdict, check
from tests.fuzz.manifests import Manifest
from tests.fuzz.scenarios import pending, pod_name

Written: TypeAlias = Mapping[str, Any]


class Decider(Protocol):
    """Whatever decides on scenarios."""

    def decide(self, items: Sequence[Manifest], *, repeat: int = 1) -> Written:
        """Return a decision as `simulate -o json` writes it, and how many seconds each repeat took."""
        ...


@dataclass(kw_only=True)
class Side:
    """What one did: `faults` are what is wrong with it, `seconds` the median of its repeats."""

    faults: list[str]
    kinds: dict[str, int]
    placed: int
    cost: float
    seconds: float


@dataclass(kw_only=True)
class Match:
    """One scenario. Costs are over the pods that Karpenter places, in $/h; None where Treenail misses one."""

    seed: int
    pods: int
    treenail: Side
    karpenter: Side | None = None
    missed: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    same_pods_cost: float | None = None


def play(
    seed: int, items: Sequence[Manifest], ours: Decider, theirs: Decider | None = None, *, repeat: int = 1
) -> Match:
    """Decide on a scenario and check what was decided."""
    decision = ours.decide(items, repeat=repeat)
    match = Match(seed=seed, pods=sum(map(pending, items)), treenail=_side(items, decision))
    if theirs is not None:
        other = theirs.decide(items, repeat=repeat)
        match.karpenter = _side(items, other)
        mine, his = placed(decision), placed(other)
        match.missed, match.beyond = sorted(his - mine), sorted(mine - his)
        match.same_pods_cost = _cost_of(items, his, ours) if mine != his else decision["cost"]
    return match


def _side(items: Sequence[Manifest], decision: Written) -> Side:
    verdict: Verdict = check(items, catalogue(), decision)
    return Side(
        faults=[str(fault) for fault in verdict.faults],
        kinds=dict(sorted(Counter(fault.kind.value for fault in verdict.faults).items())),
        placed=len(placed(decision)),
        cost=decision["cost"],
        seconds=statistics.median(decision["seconds"]),
    )


def placed(decision: Written) -> set[str]:
    """Return the names of the pods that got a place."""
    new = {name for claim in decision["nodeClaims"] or () for name in claim["pods"]}
    return new | {name for names in (decision["existing"] or {}).values() for name in names}


def _cost_of(items: Sequence[Manifest], names: set[str], ours: Decider) -> float | None:
    """Return what Treenail pays for exactly those pods, or None if it does not place them all."""
    alone = [one for one in items if not pending(one) or pod_name(one) in names]
    decision = ours.decide(alone)
    cost: float = decision["cost"]
    return cost if placed(decision) == names else None
