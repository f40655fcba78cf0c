"""Found moves: the moves of one search in order, which come after which, and which budgets allow now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.move_terms import MoveTerms
from treenail.domain.packing.consolidation.trial import TopologyTies


class FoundMoves:
    """The moves that a search found, in order. Mutable: a search adds to them.

    A move comes after an earlier one if it places pods by a topology group that counts pods of that one.
    """

    def __init__(self) -> None:
        self._moves: list[Move] = []
        self._ties: list[TopologyTies] = []

    @property
    def moves(self) -> Sequence[Move]:
        """All moves found so far, in order."""
        return self._moves

    def add(self, moves: Iterable[Move], ties: TopologyTies) -> None:
        """Add the moves of one trial, whose pods have these ties."""
        after = tuple(at for at, earlier in enumerate(self._ties) if earlier.touched & ties.asked)
        for move in moves:
            self._ties.append(ties)
            self._moves.append(replace(move, after=after))

    def within_budgets(
        self, terms: MoveTerms, candidates: Mapping[str, CandidateNode]
    ) -> tuple[list[Move], dict[str, Blocker]]:
        """Return the moves that budgets allow now, numbered anew, and why the nodes of the others stay.

        A move that comes after one left out is left out too. The search finds more than budgets allow now: so
        the moves made first are part of the whole, and no node takes pods that goes itself when budgets allow
        more. `candidates` are by name; `terms` count the nodes of the moves returned.
        """
        numbers: dict[int, int] = {}
        allowed: list[Move] = []
        why: dict[str, Blocker] = {}
        for at, move in enumerate(self._moves):
            held = terms.held_by_budgets([candidates[name] for name in move.removed])
            if held is None and all(number in numbers for number in move.after):
                numbers[at] = len(allowed)
                allowed.append(replace(move, after=tuple(numbers[number] for number in move.after)))
                terms.count(move.removed, candidates)
            else:
                why |= dict.fromkeys(move.removed, held or Block.AFTER_OTHERS.by())
        return allowed, why
