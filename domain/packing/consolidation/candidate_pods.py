"""Pods of candidates: by the candidate they are on and by class, as long as the candidate is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.parsed_problem import ParsedProblem


class CandidatePods:
    """The uids of the pods of each candidate by the index of their class, oldest first.

    Mutable: candidates are removed one after the other, and put back all at once.
    """

    def __init__(self, parsed: ParsedProblem, candidates: Iterable[CandidateNode]) -> None:
        self._class_of = {pod.uid: index for index, (_, pods) in enumerate(parsed.parts) for pod in pods}
        self._at_first: dict[str, Mapping[int, Sequence[str]]] = {
            one.name: self.by_class(one.pods) for one in candidates
        }
        self._there = dict(self._at_first)

    def put_back(self) -> None:
        """Put back all candidates that were removed."""
        self._there = dict(self._at_first)

    def remove(self, names: Iterable[str]) -> None:
        """Remove candidates with their pods."""
        for name in names:
            del self._there[name]

    def class_of(self, uid: str) -> int:
        """Return the index of a pod's class."""
        return self._class_of[uid]

    def by_class(self, uids: Iterable[str]) -> dict[int, list[str]]:
        """Return pods, whosever they are, by the index of their class, sorted by it."""
        found: dict[int, list[str]] = {}
        for uid in uids:
            found.setdefault(self._class_of[uid], []).append(uid)
        return dict(sorted(found.items()))

    def on(self, name: str) -> Mapping[int, Sequence[str]]:
        """Return the pods of one candidate by the index of their class, sorted by it."""
        return self._there[name]

    def on_all(self, names: Iterable[str]) -> dict[int, list[str]]:
        """Return the pods of several candidates together by the index of their class, sorted by it."""
        found: dict[int, list[str]] = {}
        for name in names:
            for index, uids in self._there[name].items():
                found.setdefault(index, []).extend(uids)
        return dict(sorted(found.items()))

    def on_each(self) -> Iterable[tuple[str, Mapping[int, Sequence[str]]]]:
        """Return each candidate with its pods by the index of their class."""
        return self._there.items()
