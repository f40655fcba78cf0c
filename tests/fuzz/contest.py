"""One scenario, decided and checked: Treenail alone, or beside Karpenter."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.faults import Kind
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.turns import passed_over
from tests.fuzz.check.verdict import Verdict, check
from tests.fuzz.manifests import Manifest
from tests.fuzz.scenarios import pending, pod_name

Written: TypeAlias = Mapping[str, Any]

# So often Karpenter is asked at most.
_ASKED: Final = 5


class Decider(Protocol):
    """Whatever decides on scenarios."""

    def decide(self, items: Sequence[Manifest], *, repeat: int = 1) -> Written:
        """Return a decision as `simulate -o json` writes it, and how many seconds each repeat took."""
        ...


@dataclass(kw_only=True)
class Side:
    """What one did: `faults` are what is wrong with it, `seconds` the median of its repeats.

    Where it raised, that is its only fault.
    """

    faults: list[str]
    kinds: dict[str, int]
    placed: int
    cost: float
    seconds: float
    over_with_largest: list[str] = field(default_factory=list)
    given_up: int = 0
    needlessly: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Match:
    """One scenario. `missed` are pods that Karpenter places, `beyond` those that Treenail places, alone.

    Pods that nothing tells apart stand for each other. Missed placeholders, of negative priority, stand
    apart: they make way for others here, and not with Karpenter. `same_pods_cost` is Treenail's over exactly
    those that Karpenter places, in $/h; None where it misses one. `passed_over` are pods beyond that had a
    place with Karpenter too when their turn came, before others got it.
    """

    seed: int
    pods: int
    treenail: Side
    karpenter: Side | None = None
    missed: list[str] = field(default_factory=list)
    missed_placeholders: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    same_pods_cost: float | None = None
    passed_over: dict[str, str] = field(default_factory=dict)


def misses(match: Match) -> bool:
    """Return whether Karpenter breaks no rule and places pods that Treenail does not.

    It may do so in the place of pods that it passed over, which have it here: where these do not ask for
    it, Treenail must place all that Karpenter does.
    """
    if not match.missed or match.karpenter is None or not keeps_rules(match.karpenter):
        return False
    return not match.passed_over or match.same_pods_cost is None


def keeps_rules(side: Side) -> bool:
    """Return whether a decision is one that could be carried out; it may still refuse what it need not."""
    return not side.kinds.keys() - {Kind.REFUSED.value}


def play(
    seed: int, items: Sequence[Manifest], ours: Decider, theirs: Decider | None = None, *, repeat: int = 1
) -> Match:
    """Decide on a scenario and check what was decided.

    Karpenter takes one of equal domains by chance, which may decide who gets what limits leave. Where it
    places pods that Treenail misses it is asked again, and misses are what comes of it every time.
    """
    mine = _decided(items, ours, repeat)
    match = alone = Match(seed=seed, pods=sum(map(pending, items)), treenail=_side(items, mine))
    for _ in range(_ASKED if theirs is not None else 0):
        assert theirs is not None
        match = _beside(alone, items, mine, theirs.decide(items, repeat=repeat), ours)
        if not misses(match):
            break
    return match


def _beside(
    alone: Match, items: Sequence[Manifest], mine: Written | str, his: Written, ours: Decider
) -> Match:
    """Return a match with what came of comparing it with one decision of Karpenter's."""
    match = replace(alone, karpenter=_side(items, his))
    if isinstance(mine, str):
        return match
    missed, match.beyond = _excess(items, his, mine), _excess(items, mine, his)
    low = {pod_name(one) for one in items if pending(one) and one["spec"].get("priority", 0) < 0}
    match.missed = [name for name in missed if name not in low]
    match.missed_placeholders = [name for name in missed if name in low]
    match.same_pods_cost = _cost_of(items, placed(his), mine, ours)
    if match.missed and match.beyond:
        over = passed_over(items, catalogue(), his)
        match.passed_over = {name: over[name] for name in match.beyond if name in over}
    return match


def _decided(items: Sequence[Manifest], ours: Decider, repeat: int = 1) -> Written | str:
    """Return a decision, or what was raised."""
    try:
        return ours.decide(items, repeat=repeat)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


def _side(items: Sequence[Manifest], decision: Written | str) -> Side:
    if isinstance(decision, str):
        return Side(faults=[decision], kinds={"raised": 1}, placed=0, cost=0, seconds=0)
    verdict: Verdict = check(items, catalogue(), decision)
    return Side(
        faults=[str(fault) for fault in verdict.faults],
        kinds=dict(sorted(Counter(fault.kind.value for fault in verdict.faults).items())),
        placed=len(placed(decision)),
        cost=decision["cost"],
        seconds=statistics.median(decision["seconds"]),
        over_with_largest=list(verdict.over_with_largest),
        given_up=len(verdict.given_up),
        needlessly=[f"{one.pod}: {one.preference}" for one in verdict.given_up if one.needless],
    )


def placed(decision: Written) -> set[str]:
    """Return the names of the pods that got a place."""
    new = {name for claim in decision["nodeClaims"] or () for name in claim["pods"]}
    return new | {name for names in (decision["existing"] or {}).values() for name in names}


def _excess(items: Sequence[Manifest], one: Written, other: Written) -> list[str]:
    """Return names of pods that `one` places beyond as many alike ones as `other` does."""
    pods = Scenario(items, catalogue()).pending
    left = Counter(pods[name].shape for name in placed(other))
    names = []
    for name in sorted(placed(one), key=lambda name: (name not in placed(other), name)):
        shape = pods[name].shape
        if left[shape]:
            left[shape] -= 1
        else:
            names.append(name)
    return names


def _cost_of(items: Sequence[Manifest], names: set[str], decision: Written, ours: Decider) -> float | None:
    """Return what Treenail pays for exactly those pods, or None if it does not place them all."""
    if placed(decision) != names:
        alone = [one for one in items if not pending(one) or pod_name(one) in names]
        again = _decided(alone, ours)
        if isinstance(again, str) or placed(again) != names:
            return None
        decision = again
    cost: float = decision["cost"]
    return cost
