"""Where pods go: nodes that are there, and nodes that will come and may turn out in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.fuzz.check.amounts import Amounts
from tests.fuzz.check.catalogue import InstanceType
from tests.fuzz.check.label_values import Allowed, Labels, Term

Written: TypeAlias = Mapping[str, Any]

# A domain whose name nobody knows yet: a label with any value.
UNNAMED: Final = "(any)"


def meets(terms: Sequence[Term], labels: Mapping[str, str | None], unsettled: Mapping[str, Allowed]) -> bool:
    """Return whether labels, some of them only known to be among values, meet one of the terms for sure."""
    return any(
        all(
            unsettled[key].within(values) if key in unsettled else values.has(labels.get(key))
            for key, values in term
        )
        for term in terms
    )


class Home:
    """A place for pods: its labels are one of `possible`; labels in `unsettled` get some value allowed.

    A label that is in neither is not there.
    """

    def __init__(
        self,
        name: str,
        taints: Sequence[Written],
        possible: Sequence[Labels],
        unsettled: Mapping[str, Allowed] | None = None,
    ) -> None:
        self.name = name
        self.taints = tuple(taints)
        self.possible = tuple(possible)
        self.unsettled = dict(unsettled or {})
        self._ways: dict[tuple[str, ...], set[tuple[str | None, ...]]] = {}
        self._landings: dict[str, frozenset[str]] = {}

    def meets(self, terms: Sequence[Term]) -> bool:
        """Return whether, however the node turns out, its labels meet one of the terms."""
        keys = tuple(sorted({key for term in terms for key, _ in term} - self.unsettled.keys()))
        return all(
            meets(terms, dict(zip(keys, way, strict=True)), self.unsettled) for way in self._ways_of(keys)
        )

    def _ways_of(self, keys: tuple[str, ...]) -> set[tuple[str | None, ...]]:
        if keys not in self._ways:
            self._ways[keys] = {tuple(labels.get(key) for key in keys) for labels in self.possible}
        return self._ways[keys]

    def landings(self, key: str) -> frozenset[str]:
        """Return the domains this may turn out to be in; none where the label will not be there."""
        if key not in self._landings:
            self._landings[key] = self._find_landings(key)
        return self._landings[key]

    def _find_landings(self, key: str) -> frozenset[str]:
        if key in self.unsettled:
            values = self.unsettled[key]
            return frozenset([UNNAMED]) if values.others else values.listed
        return frozenset(labels[key] for labels in self.possible if key in labels)


class Node(Home):
    """A node that is there. `free` is allocatable less bound pods and less daemons still to come."""

    def __init__(self, name: str, taints: Sequence[Written], labels: Labels, free: Amounts) -> None:
        super().__init__(name, taints, (labels,))
        self.labels = labels
        self.free = free


@dataclass(frozen=True, eq=False)
class Way:
    """One way a node to come may turn out: its type, its labels and its price in $/h."""

    type: InstanceType
    labels: Labels
    price: float


class NewNode(Home):
    """A node to come, of a pool. `ways` are all in which it may turn out."""

    def __init__(
        self,
        name: str,
        pool: str,
        taints: Sequence[Written],
        ways: Sequence[Way],
        unsettled: Mapping[str, Allowed],
    ) -> None:
        super().__init__(name, taints, [way.labels for way in ways], unsettled)
        self.pool = pool
        self.ways = tuple(ways)
