"""The worth of a move, by the terms of every pool that nodes go from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Final

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.durations import format_duration
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms

# The score from which on Balanced approves a move: one half, which Karpenter's API fixes (k = 2).
BALANCED_THRESHOLD: Final = 0.5

# Dollars for each unit of eviction cost: for an ordinary pod, and as much for each node that is drained. An
# estimate, not a measurement: to start anew (image, connections, caches) a pod keeps one CPU busy for some
# six minutes, and a CPU costs about $0.05/h on demand (m5.large: 2 for $0.096/h).
EVICTION_DOLLARS: Final = 0.005

# What each preference is worth, $/h, that a pod has now and would lose where a node is replaced. A choice,
# not a measurement: as much as two CPUs.
PREFERENCE_DOLLARS: Final = 0.1

# How long nodes are paid twice when one is replaced: a replacement is launched, joins and is initialized in
# one to two minutes, and most pods have gone within the three after that. An estimate as well.
DOUBLE_RUNNING: Final = timedelta(minutes=5)

# Within this time a move must have saved what it costs, unless told otherwise. Of 300 generated clusters the
# same ones end dearer than Karpenter leaves them as where any saving will do; with 2 h two more do. Nodes are
# not merged for their overhead alone: two with ten pods each would save $0.02/h, and cost over $0.16.
PAYBACK: Final = timedelta(hours=4)

# Differences smaller than this ($/h) come from adding up prices: prices have at most six decimals.
ROUNDING: Final = 1e-9

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class BalancedScore:
    """The parts, from 0 to 1, of a pool's cost that a move saves, and of its disruption that it causes."""

    savings: float = 0.0
    disruption: float = 0.0

    @property
    def value(self) -> float:
        """The ratio of the two; 0 where nothing is saved or known, infinite where nothing is disrupted."""
        if self.savings <= 0:
            return 0.0
        return self.savings / self.disruption if self.disruption > 0 else math.inf


def objection_to(
    removed: Sequence[CandidateNode], *, saves: float, new_cost: float, terms: Mapping[str, PoolTerms]
) -> Blocker | None:
    """Return why the nodes `removed` should rather stay, None where it is worth letting them go together.

    `saves` is by how much the cluster costs less afterwards, `new_cost` what the nodes cost that are bought
    in their place, both $/h. Where that is nothing, the nodes are only deleted. All pools involved must
    agree, by their `terms`; those of a pool that are not given are not guessed, the nodes stay.
    """
    if new_cost > 0 and (dear := _not_cheap_enough(removed, saves)) is not None:
        return dear
    for pool, nodes in _by_pool(removed):
        if pool not in terms:
            return Block.TERMS_UNKNOWN.by(pool)
        objection = _objection_of(pool, nodes, _share(nodes, removed), saves, new_cost, terms[pool])
        if objection is not None:
            return objection
    return None


def balanced_scores(
    removed: Sequence[CandidateNode], *, saves: float, terms: Mapping[str, PoolTerms]
) -> Mapping[str, BalancedScore]:
    """Return the scores of a move, by those pools it takes nodes from whose policy is Balanced, sorted."""
    return {
        pool: _score(nodes, saves * _share(nodes, removed), terms[pool])
        for pool, nodes in _by_pool(removed)
        if pool in terms and terms[pool].policy is ConsolidationPolicy.BALANCED
    }


def move_dollars(removed: Sequence[CandidateNode], new_cost: float) -> float:
    """Return what it costs once, in dollars, to replace the nodes `removed` by some of `new_cost` $/h."""
    return dollars_once(_disruption(removed), new_cost)


def dollars_once(disruption: float, new_cost: float) -> float:
    """Return what a move of so much disruption costs once, in dollars, that buys nodes of `new_cost` $/h."""
    return EVICTION_DOLLARS * disruption + new_cost * (DOUBLE_RUNNING / _HOUR)


def _not_cheap_enough(removed: Sequence[CandidateNode], saves: float) -> Blocker | None:
    """Return why nodes are not replaced for such a saving ($/h), None where they are."""
    if saves <= ROUNDING:
        return Block.NONE_CHEAPER.by()
    # Each of several recent replacements was to save something of its own: a move of all must save more than
    # that together, or they could be replaced in pairs for what none of them is replaced for alone.
    least = sum(node.least_saving for node in removed)
    if math.isinf(least):
        return Block.RECENT_UNREAD.by()
    if saves <= least + ROUNDING:
        return Block.RECENT.by(detail=f"${saves:.4g}/h, not more than the ${least:.4g}/h")
    return None


def _objection_of(
    pool: str, nodes: Sequence[CandidateNode], share: float, saves: float, new_cost: float, terms: PoolTerms
) -> Blocker | None:
    """Return the objection of one pool, with this `share` of a move, to it; None without one."""
    disruption = _disruption(nodes)
    # Each node counts 1 by itself: what is more is the cost of evicting pods.
    if terms.policy is ConsolidationPolicy.WHEN_EMPTY and disruption > len(nodes):
        return Block.WHEN_EMPTY.by(pool, "NodePool")
    # Nodes whose pods cost nothing to evict are empty to Karpenter, which asks no score of these.
    empty = new_cost == 0 and saves > 0 and disruption <= len(nodes)
    if terms.policy is ConsolidationPolicy.BALANCED and not empty:
        score = _score(nodes, saves * share, terms)
        if score.value < BALANCED_THRESHOLD:
            said = f"{score.value:.2f}, less than {BALANCED_THRESHOLD:.2f}"
            return Block.BALANCED.by(pool, said, score=score.value)
    if terms.payback is None:
        return None
    earned = saves * share * _hours_earning(nodes, terms.payback)
    costs = move_dollars(nodes, new_cost * share)
    if earned >= costs:
        return None
    within = format_duration(terms.payback)
    return Block.PAYBACK.by(
        pool, f"{within}: this one would earn ${earned:.4g} by then, but costs ${costs:.4g}"
    )


def _hours_earning(nodes: Sequence[CandidateNode], payback: timedelta) -> float:
    """Return for how many hours the savings of a move count: each node's as long as it would have lived."""
    spans = [payback if node.remaining is None else min(payback, node.remaining) for node in nodes]
    hours = [max(0.0, span / _HOUR) for span in spans]
    return sum(each * _share((node,), nodes) for each, node in zip(hours, nodes, strict=True))


def _score(nodes: Sequence[CandidateNode], saves: float, terms: PoolTerms) -> BalancedScore:
    """Return the score of a pool's part; without the pool's own sums there is nothing to compare with."""
    if terms.cost <= 0 or terms.disruption <= 0:
        return BalancedScore()
    return BalancedScore(saves / terms.cost, _disruption(nodes) / terms.disruption)


def _disruption(nodes: Sequence[CandidateNode]) -> float:
    return sum(node.disruption for node in nodes)


def _share(nodes: Sequence[CandidateNode], removed: Sequence[CandidateNode]) -> float:
    """Return which part of a move's savings is due to `nodes`: as large as their part of what all cost."""
    if len(nodes) == len(removed):
        return 1.0
    total = sum(node.cost for node in removed)
    # Without any price each counts as much as the next.
    return sum(node.cost for node in nodes) / total if total > 0 else len(nodes) / len(removed)


def _by_pool(removed: Sequence[CandidateNode]) -> Iterator[tuple[str, tuple[CandidateNode, ...]]]:
    """Yield the pools involved, by name, each with its nodes."""
    for pool, nodes in groupby(sorted(removed, key=lambda node: node.pool), key=lambda node: node.pool):
        yield pool, tuple(nodes)
