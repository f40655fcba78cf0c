"""Disruption candidates: nodes that budgets let go, until their pods are decided on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.disruption.disruption import DisruptionAllowed, DisruptionProposed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisruptionCandidate:
    """Nodes of a proposal, by name, that go together or not at all. Compared by identity.

    `tried` is how often there were no places for their pods in a decision on several candidates.
    """

    allowed: DisruptionAllowed
    names: tuple[str, ...]
    tried: int = 0

    @property
    def proposal(self) -> DisruptionProposed:
        """The proposal that budgets allowed."""
        return self.allowed.proposal


def disruption_candidates(allowed: DisruptionAllowed) -> tuple[DisruptionCandidate, ...]:
    """Return the candidates that budgets allow, as one where they go together, or each by itself."""
    if allowed.proposal.together:
        return (DisruptionCandidate(allowed=allowed, names=allowed.candidates),)
    return tuple(DisruptionCandidate(allowed=allowed, names=(name,)) for name in allowed.candidates)


class DisruptionCandidates:
    """Candidates that wait for a decision on places for their pods, and those it is being made on."""

    def __init__(self) -> None:
        self._waiting: list[DisruptionCandidate] = []
        self._planned: list[DisruptionCandidate] = []
        self._decision = ""
        self._brought: list[tuple[PlanDecided, tuple[DisruptionCandidate, ...]]] = []

    @property
    def names(self) -> frozenset[str]:
        """The nodes, by name, of all candidates."""
        brought = (one for _, those in self._brought for one in those)
        return frozenset(name for one in chain(self._waiting, self._planned, brought) for name in one.names)

    @property
    def to_be_planned(self) -> bool:
        """True if a decision on some candidates is to be made, or under way."""
        return bool(self._waiting or self._planned)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The nodes, by name, that wait for a decision."""
        return tuple(name for one in self._waiting for name in one.names)

    def wait(self, disruption_candidates: Iterable[DisruptionCandidate]) -> None:
        """Have the next decision find places for the pods of these candidates."""
        self._waiting += disruption_candidates

    def bring(self, planned: PlanDecided, disruption_candidates: tuple[DisruptionCandidate, ...]) -> None:
        """Keep candidates that bring a plan of their own until no other plan is open."""
        self._brought.append((planned, disruption_candidates))

    def take_brought(self) -> tuple[PlanDecided, tuple[DisruptionCandidate, ...]] | None:
        """Return, once, the oldest plan with its candidates that waits; None where none does."""
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
