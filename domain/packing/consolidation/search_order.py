"""The orders in which a search for moves tries nodes, and fills them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, ConsolidationProblem
from treenail.domain.packing.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An order to search in.

    Nodes are tried by what they save for each unit of disruption, the most first; or the `dearest_first`.
    They are tried one by one, and then several together; or `together_first`, as many as may be. Nodes are
    bought for what is left when all have been tried without; or `in_turn`, for each node that cannot go
    without, before pods of others come to it.
    """

    dearest_first: bool = False
    together_first: bool = False
    in_turn: bool = False

    def order(self, most_saved: Sequence[CandidateNode]) -> Sequence[CandidateNode]:
        """Return candidates in the order to try them, from one in which the largest savings come first."""
        if not self.dearest_first:
            return most_saved
        return sorted(most_saved, key=lambda one: (not one.goes_later, -one.cost))


# Of plans that earn the same the earliest is taken: its moves are the smallest.
WAYS: Final = (
    Way(),
    Way(dearest_first=True, in_turn=True),
    Way(together_first=True),
    Way(together_first=True, dearest_first=True),
)


def other_ways(problem: ConsolidationProblem) -> Sequence[Way]:
    """Return the ways to search in beside the first: none where cost alone does not tell plans apart.

    Of ways that come to the same search, the first alone: where all nodes cost as much, few orders differ.
    """
    # One node alone is tried in the same way whatever the order.
    several = len(problem.candidates) > 1
    returning = any(terms.return_premium is not None for terms in problem.terms.values())
    waiting = bool(problem.not_receiving) and any(one.patient for one in problem.candidates)
    if not several or returning or waiting:
        return ()
    most_saved = sorted(problem.candidates, key=most_saved_first)
    searches: dict[tuple[bool, bool, tuple[str, ...]], Way] = {}
    for way in WAYS:
        order = tuple(one.name for one in way.order(most_saved))
        searches.setdefault((way.together_first, way.in_turn, order), way)
    return tuple(searches.values())[1:]


def most_saved_first(one: CandidateNode) -> tuple[bool, float, float, str]:
    """Return where a candidate comes: what it saves for each unit of disruption, the most first.

    Before all others come those that an earlier plan was to take later: with another choice of nodes each
    time, pods would move to nodes that go as well.
    """
    return (not one.goes_later, -one.cost / one.disruption, one.disruption, one.name)


def kept_first(problem: ConsolidationProblem, in_order: Sequence[CandidateNode]) -> Problem:
    """Return the problem with its nodes in the order to fill them.

    First the nodes that are no candidates, in their order; then candidates, the last to be tried first. So
    pods move to nodes that are likely to stay.
    """
    place = {one.name: len(in_order) - at for at, one in enumerate(in_order)}
    nodes = sorted(problem.problem.existing_nodes, key=lambda node: place.get(node.name, 0))
    return replace(problem.problem, existing_nodes=tuple(nodes))
