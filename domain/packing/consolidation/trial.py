"""Trials: nodes that are taken away to see what comes of it, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.plan import PlannedClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Candidates to take away, by name, and what may become of their pods.

    Nodes may be `bought` for those that find no place on others, and then no preference is kept with
    `required_only`. Where none are bought, those are counted `to_the_end` that find no place, or a trial ends
    with the first class of them.
    """

    names: tuple[str, ...]
    bought: bool = False
    required_only: bool = False
    to_the_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The outcome of taking nodes away: where their pods go, by uid, and which nodes are bought for them.

    `left` are pods that found no place; `against` is, where nodes could be bought, why none is for the first
    of them. `lost` is how many preferences pods lose by it that they have now.
    """

    removed: tuple[str, ...]
    nominations: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[PlannedClaim, ...] = ()
    left: tuple[str, ...] = ()
    against: str = ""
    lost: int = 0

    def part(self, some: Sequence[CandidateNode]) -> Trial:
        """Return what becomes of `some` of the nodes, without what is bought."""
        places = self.nominations
        return Trial(
            removed=tuple(one.name for one in some),
            nominations={uid: places[uid] for one in some for uid in one.pods if uid in places},
        )


@dataclass(frozen=True, slots=True)
class TopologyTies:
    """The topology groups, by number, that count moved pods (`touched`), and that place them (`asked`)."""

    touched: frozenset[int]
    asked: frozenset[int]
