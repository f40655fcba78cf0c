"""Disruption candidates: nodes that budgets let go, until their pods are decided on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.disruption.disruption import DisruptionAllowed, DisruptionProposed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisruptionCandidate:
    """Nodes of a proposal, by name, that go together or not at all.

    `tried` is how often there were no places for their pods in a decision on several candidates.
    """

    allowed: DisruptionAllowed
    names: tuple[str, ...]
    tried: int = 0

    @property
    def proposal(self) -> DisruptionProposed:
        return self.allowed.proposal


def disruption_candidates(allowed: DisruptionAllowed) -> tuple[DisruptionCandidate, ...]:
    """Return the candidates that budgets allow, as one where they go together, or each by itself."""
    if allowed.proposal.together:
        return (DisruptionCandidate(allowed=allowed, names=allowed.candidates),)
    return tuple(DisruptionCandidate(allowed=allowed, names=(name,)) for name in allowed.candidates)


class DisruptionCandidates:
    """The departures that wait for a decision on where their pods go, and those that one is made on."""

    def __init__(self) -> None:
        self._waiting: list[DisruptionCandidate] = []
        self._planned: list[DisruptionCandidate] = []
        self._decision = ""
        self._brought: list[tuple[PlanDecided, tuple[DisruptionCandidate, ...]]] = []

    @property
    def names(self) -> frozenset[str]:
        """The nodes that are considered."""
        brought = (one for _, those in self._brought for one in those)
        return frozenset(name for one in chain(self._waiting, self._planned, brought) for name in one.names)

    @property
    def to_be_planned(self) -> bool:
        """True if a decision is to be made, or is made, on some of these."""
        return bool(self._waiting or self._planned)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The nodes that no decision is made on yet."""
        return tuple(name for one in self._waiting for name in one.names)

    def wait(self, disruption_candidates: Iterable[DisruptionCandidate]) -> None:
        """Have places found for the pods of these with the next decision."""
        self._waiting += disruption_candidates

    def bring(self, planned: PlanDecided, disruption_candidates: tuple[DisruptionCandidate, ...]) -> None:
        """Keep departures that bring a plan of their own until no other one is open."""
        self._brought.append((planned, disruption_candidates))

    def take_brought(self) -> tuple[PlanDecided, tuple[DisruptionCandidate, ...]] | None:
        """Return, once, what brings a plan of its own; None where nothing does."""
        return self._brought.pop(0) if self._brought else None

    def plan(self, decision: str) -> tuple[str, ...]:
        """Return the nodes to decide on now: all that wait, and those of a decision that gave way."""
        self._planned += self._waiting
        self._waiting, self._decision = [], decision
        return tuple(name for one in self._planned for name in one.names)

    def end(self, decision: str) -> tuple[DisruptionCandidate, ...]:
        """Return the candidates of a decision, and forget them."""
        if decision != self._decision:
            return ()
        planned, self._planned, self._decision = tuple(self._planned), [], ""
        return planned
