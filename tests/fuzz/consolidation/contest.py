"""One cluster, consolidated until nothing is left to do: by Treenail, and by Karpenter's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, Protocol, TypeAlias

from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.karpenter import Consolidation
from tests.fuzz.consolidation.rules import Rules, allowed, placeless
from tests.fuzz.consolidation.steps import Step, carried_out, cost, moves, nodes_of
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan

# Whoever has not come to rest after so many passes goes round in circles.
_PASSES: Final = 200
_EXACT: Final = 1e-6

Plan: TypeAlias = tuple[ConsolidationPlan, tuple[Step, ...]]
Planner: TypeAlias = Callable[[Cluster], Plan]


class Peer(Protocol):
    """Karpenter, or what stands for it."""

    def decide(self, cluster: Cluster, *, each: bool = False) -> Consolidation:
        """Return what it would do first; with `each`, of every candidate alone too."""
        ...


@dataclass(kw_only=True)
class Side:
    """What one came to: `broken` are the rules its steps break, in $/h what the cluster costs at rest.

    `bought` are nodes, `lost` the pods that got no place. `seconds` are those of deciding.
    """

    broken: list[str] = field(default_factory=list)
    passes: int = 0
    steps: int = 0
    bought: int = 0
    moved: int = 0
    lost: int = 0
    nodes: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(kw_only=True)
class Match:
    """One cluster. `missed` are nodes Karpenter deletes when Treenail is at rest: how, and why they stay.

    `placeless` are those that it would delete although their pods, free to evict, do not all fit
    elsewhere: these pods. `dearer` are nodes that it would replace, with what it would save by each, $/h.
    """

    seed: int
    nodes: int
    pods: int
    cost: float
    treenail: Side
    karpenter: Side | None = None
    missed: dict[str, str] = field(default_factory=dict)
    placeless: dict[str, list[str]] = field(default_factory=dict)
    dearer: dict[str, float] = field(default_factory=dict)


def play(seed: int, start: Cluster, plan: Planner, theirs: Peer | None = None) -> Match:
    """Consolidate a cluster by plans until there are none; `theirs` is asked what it would do then."""
    ours = _Ours(start, plan)
    ours.run()
    match = Match(
        seed=seed,
        nodes=len(nodes_of(start)),
        pods=_moving(start),
        cost=cost(start),
        treenail=ours.side,
    )
    if theirs is not None:
        match.karpenter = _karpenter(start, theirs)
        left = theirs.decide(ours.cluster, each=True)
        match.placeless = dict(_placeless(ours.cluster, left))
        match.missed = {name: why for name, why in _missed(ours, left) if name not in match.placeless}
        match.dearer = dict(_dearer(ours.cluster, left))
    return match


class _Ours:
    """Plans, carries out and plans again. A step that breaks a rule, or a plan that fails, ends it."""

    def __init__(self, start: Cluster, plan: Planner) -> None:
        self.cluster = start
        self.side = Side()
        self.staying: dict[str, str] = {}
        self._plan = plan

    def run(self) -> None:
        while not self.side.broken:
            began = perf_counter()
            try:
                plan, steps = self._plan(self.cluster)
            except Exception as error:  # noqa: BLE001
                self.side.broken.append(f"raised: {type(error).__name__}: {error}")
                return
            self.side.seconds += perf_counter() - began
            self.staying = {one.name: one.why.sentence for one in plan.staying}
            if not steps:
                break
            self.side.passes += 1
            if self.side.passes > _PASSES:
                self.side.broken.append("no rest")
            self._carry_out(plan, steps)
        _rest(self.side, self.cluster)

    def _carry_out(self, plan: ConsolidationPlan, steps: tuple[Step, ...]) -> None:
        rules = Rules(self.cluster)
        for move, step in zip(plan.moves, steps, strict=True):
            self.side.broken += map(str, rules.check(self.cluster, step))
            if self.side.broken:
                return
            before = cost(self.cluster)
            self.cluster = _after(self.side, self.cluster, step)
            saved = before - cost(self.cluster)
            names = ", ".join(step.removed)
            if saved <= 0:
                self.side.broken.append(f"cost rises: {names}: by {-saved:.6f} $/h")
            if abs(saved - move.saves) > _EXACT:
                self.side.broken.append(f"saves: {names}: says {move.saves:.6f}, saves {saved:.6f} $/h")


def _karpenter(cluster: Cluster, theirs: Peer) -> Side:
    side = Side()
    while side.passes < _PASSES:
        began = perf_counter()
        step = theirs.decide(cluster).step
        side.seconds += perf_counter() - began
        if step is None:
            break
        side.passes += 1
        side.broken += map(str, Rules(cluster).check(cluster, step))
        cluster = _after(side, cluster, step)
    else:
        side.broken.append("no rest")
    _rest(side, cluster)
    return side


def _after(side: Side, cluster: Cluster, step: Step) -> Cluster:
    """Carry out a step, and count it."""
    side.steps += 1
    side.bought += len(step.claims)
    side.moved += len(step.places)
    after = carried_out(cluster, step, f"new-{side.steps}")
    side.lost += _moving(cluster) - _moving(after)
    return after


def _rest(side: Side, cluster: Cluster) -> None:
    side.nodes, side.cost = len(nodes_of(cluster)), cost(cluster)


def _moving(cluster: Cluster) -> int:
    return sum(one["kind"] == "Pod" and moves(one) for one in cluster.items)


# --- what is left


def _missed(ours: _Ours, left: Consolidation) -> Iterator[tuple[str, str]]:
    for name in _found(ours.cluster, left, buying=False):
        yield name, f"{left.each[name].method}: {ours.staying.get(name, 'nothing is said of it')}"


def _placeless(cluster: Cluster, left: Consolidation) -> Iterator[tuple[str, list[str]]]:
    for name in _found(cluster, left, buying=False):
        step = left.each[name].step
        if step is not None and (pods := placeless(cluster, step)):
            yield name, pods


def _dearer(cluster: Cluster, left: Consolidation) -> Iterator[tuple[str, float]]:
    before = cost(cluster)
    for name in _found(cluster, left, buying=True):
        step = left.each[name].step
        assert step is not None
        yield name, round(before - cost(carried_out(cluster, step, "replacement")), 6)


def _found(cluster: Cluster, left: Consolidation, *, buying: bool) -> Iterator[str]:
    """Yield the nodes that Karpenter lets go alone, within budgets and rules; bought for or not."""
    budgets, nodes = allowed(cluster), nodes_of(cluster)
    for name, alone in left.each.items():
        pool = nodes[name]["metadata"]["labels"]["karpenter.sh/nodepool"]
        if alone.step is None or bool(alone.step.claims) is not buying or not budgets[pool]:
            continue
        if not Rules(cluster).check(cluster, alone.step):
            yield name
