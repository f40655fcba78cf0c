"""Events about consolidation, in the words of Karpenter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from treenail.domain.cluster.consolidating import MoveWithdrawn
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.counted import counted
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.packing.consolidation.consolidation_plan import Move, StayingNode
from treenail.domain.packing.consolidation.worth import BALANCED_THRESHOLD, BalancedScore

About = Mapping[str, tuple[ObjectRef, ...]]


def no_candidates(
    staying: Iterable[StayingNode], events: Mapping[str, str], about: About
) -> Iterator[ClusterEvent]:
    """Yield, for nodes that are no candidates, why, as far as `events` has a reason for the event."""
    for one in staying:
        if one.name in events:
            yield from _staying(one, events[one.name], about)


def unconsolidatable(staying: Iterable[StayingNode], about: About) -> Iterator[ClusterEvent]:
    """Yield, for candidates that no move was found for, why."""
    for one in staying:
        yield from _staying(one, "Unconsolidatable", about)


def _staying(one: StayingNode, reason: str, about: About) -> Iterator[ClusterEvent]:
    for ref in about.get(one.name, ()):
        yield ClusterEvent(ref, reason, one.why.sentence[:1].upper() + one.why.sentence[1:])


def candidate(move: Move, about: About) -> Iterator[ClusterEvent]:
    """Yield, for the nodes of a move that was found, what it is."""
    message = f"Consolidation candidate: {_command(move)} {_gain(move)}"
    yield from _of_nodes(move, about, "ConsolidationCandidate", message)


def approved(move: Move, score: BalancedScore, about: About) -> Iterator[ClusterEvent]:
    """Yield, for the nodes of a move that a pool's policy Balanced approves, by which score."""
    message = (
        f"score {score.value:.2f} >= threshold {BALANCED_THRESHOLD:.2f} (k: {1 / BALANCED_THRESHOLD:.0f}, "
        f"savings {score.savings:.1%}, disruption {score.disruption:.1%})"
    )
    yield from _of_nodes(move, about, "ConsolidationApproved", message)


def rejected(move: Move, about: About, why: Blocker) -> Iterator[ClusterEvent]:
    """Yield, for the nodes of a move that is not made now, why."""
    message = f"Consolidation rejected: {_command(move)}, reason: {why.sentence} {_gain(move)}"
    yield from _of_nodes(move, about, "ConsolidationRejected", message)


def withdrawn(move: MoveWithdrawn) -> Iterator[ClusterEvent]:
    """Yield, for the nodes of a move that was begun and taken back, why."""
    nodes = ", ".join(move.names)
    message = f"Consolidation withdrawn: [{nodes}], reason: {move.why} (savings: ${move.saves:.2f})"
    for ref in move.about:
        yield ClusterEvent(ref, "ConsolidationRejected", message)


def _command(move: Move) -> str:
    nodes = ", ".join(move.removed)
    if not move.claims:
        return f"{move.action.value}: [{nodes}]"
    return f"{move.action.value}: [{nodes}] -> [{counted(len(move.claims), 'replacement')}]"


def _gain(move: Move) -> str:
    back = f", back to NodePool {', '.join(move.back_to)}" if move.back_to else ""
    return f"(savings: ${move.saves:.2f}{back})"


def _of_nodes(move: Move, about: About, reason: str, message: str) -> Iterator[ClusterEvent]:
    for name in move.removed:
        for ref in about.get(name, ()):
            yield ClusterEvent(ref, reason, message)
