"""Rules per node: which pods may share a new node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf

from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.pods.terms import Kind, Term


@dataclass(slots=True, eq=False)
class ColocatedPods:
    """The units on a node: how many pods each term counts, and how many units have it for good.

    Both by the number of the term's group. `closed` are the groups, as bits, that let no more in: of those
    who have the term and are not counted, of those who are, and of those who are only counted. It is kept by
    `NodeRules.join` alone.
    """

    counted: dict[int, int] = field(default_factory=dict)
    owned: dict[int, int] = field(default_factory=dict)
    closed: tuple[int, int, int] = (0, 0, 0)

    def copy(self) -> ColocatedPods:
        return ColocatedPods(dict(self.counted), dict(self.owned), self.closed)


def most_joining(colocated: ColocatedPods, rules: Rules, terms: Mapping[int, Term]) -> float:
    """Return how many units under `rules` may join a node's company; `terms` are by their group's number."""
    most, own = inf, dict(rules.counted)
    for group in rules.owned:
        most = min(most, _most_owned(colocated, group, own.get(group, 0), terms[group]))
    for group, count in rules.counted:
        if colocated.owned.get(group) and group not in rules.owned:
            term = terms[group]
            room = term.max_skew - colocated.counted.get(group, 0) if term.kind is Kind.SPREAD else 0
            most = min(most, max(floor(room / count), 0))
    return most


def _most_owned(colocated: ColocatedPods, group: int, each: int, term: Term) -> float:
    there = colocated.counted.get(group, 0)
    if term.kind is Kind.SPREAD:
        room = term.max_skew - there
        return max(floor(room / each), 0) if each else (inf if room >= 0 else 0)
    if there or (each and colocated.owned.get(group)):
        return 0
    return 1 if each else inf


@dataclass(frozen=True, slots=True)
class Marks:
    """The groups that matter to units, as bits, as in `Company.closed`.

    `several` says that some count more than one of its pods. `joining` are the groups that change as one
    joins: how many of its pods each counts, whether it has the term for good, and the skew, 0 where pods keep
    apart.
    """

    bare: int
    own: int
    mere: int
    joining: tuple[tuple[int, int, bool, int], ...] = ()
    several: bool = False

    def barred(self, colocated: ColocatedPods) -> bool:
        """Return whether one of the groups lets nobody join the company."""
        bare, own, mere = colocated.closed
        return bool(self.bare & bare or self.own & own or self.mere & mere)


def _marks_of(rules: Rules, terms: Mapping[int, Term]) -> Marks:
    counted, owned, firm = dict(rules.counted), set(rules.owned), set(rules.firm)
    changed = dict.fromkeys((*counted, *rules.firm))
    skews = {g: terms[g].max_skew if terms[g].kind is Kind.SPREAD else 0 for g in changed}
    return Marks(
        sum(1 << group for group in owned - counted.keys()),
        sum(1 << group for group in owned & counted.keys()),
        sum(1 << group for group in counted.keys() - owned),
        tuple((group, counted.get(group, 0), group in firm, skews[group]) for group in changed),
        several=any(count > 1 for count in counted.values()),
    )


class NodeRules:
    """The terms per node of a problem's lots. No term is broken in the end, whatever order pods come in."""

    def __init__(self, terms: Mapping[int, Term], pod_groups: Sequence[PodGroup]) -> None:
        self._terms = terms
        self._pod_groups = {pod_group.index: pod_group for pod_group in pod_groups}
        self._marks: dict[int, tuple[Rules, Marks]] = {}
        # Where nobody has a term per node, there is nothing to look at.
        self.none = not any(pod_group.rules.owned for pod_group in pod_groups)

    def join(self, colocated: ColocatedPods, pod_group: PodGroup, units: int) -> None:
        """Note that `units` more are there, and who may not come any more."""
        if pod_group.rules is FREE:
            return
        counted, owned = colocated.counted, colocated.owned
        bare, own, mere = colocated.closed
        for group, count, firm, skew in self._marks_of(pod_group.rules).joining:
            bit = 1 << group
            there = counted.get(group, 0) + count * units
            owners = owned.get(group, 0) + firm * units
            if count:
                counted[group] = there
            if firm:
                owned[group] = owners
            if there > skew:
                bare |= bit
            # Of a term that keeps apart, not one more; nor are others counted beside one who has it.
            if there >= max(skew, 1) or (owners and not skew):
                own |= bit
            if owners and there >= skew:
                mere |= bit
        colocated.closed = (bare, own, mere)

    def admits(self, colocated: ColocatedPods, pod_group: PodGroup) -> bool:
        """Return whether one more unit may join a company that others have joined here."""
        marks = self._marks_of(pod_group.rules)
        if marks.several:
            return most_joining(colocated, pod_group.rules, self._terms) >= 1
        return not marks.barred(colocated)

    def _marks_of(self, rules: Rules) -> Marks:
        known = self._marks.get(id(rules))
        if known is None:
            # As long as they are kept, no other rules have their identity.
            known = self._marks[id(rules)] = (rules, _marks_of(rules, self._terms))
        return known[1]

    def free(self, pod_group: PodGroup) -> bool:
        """Return whether a lot may share any node with anybody."""
        return self.none or pod_group.rules is FREE

    def colocated(self, parts: Mapping[int, int]) -> ColocatedPods:
        """Return the company that so many units of lots (by index) are."""
        colocated = ColocatedPods()
        for index, units in parts.items():
            self.join(colocated, self._pod_groups[index], units)
        return colocated

    def marks(self, parts: Iterable[int]) -> Marks:
        """Return the groups that matter to any of the lots (by index)."""
        bare = own = mere = 0
        several = False
        for index in parts:
            rules = self._pod_groups[index].rules
            if rules is not FREE:
                marks = self._marks_of(rules)
                bare, own, mere = bare | marks.bare, own | marks.own, mere | marks.mere
                several = several or marks.several
        return Marks(bare, own, mere, several=several)

    def most(self, colocated: ColocatedPods, pod_group: PodGroup) -> float:
        """Return how many units of `pod_group` may join."""
        return most_joining(colocated, pod_group.rules, self._terms)

    def may_join(self, colocated: ColocatedPods, parts: Mapping[int, int]) -> bool:
        """Return whether so many units of lots (by index) may all join the company of a node."""
        if self.none:
            return True
        ruled = [(self._pod_groups[index], units) for index, units in parts.items()]
        ruled = [(pod_group, units) for pod_group, units in ruled if pod_group.rules is not FREE]
        for number, (pod_group, units) in enumerate(ruled, 1):
            if self.most(colocated, pod_group) < units:
                return False
            if number < len(ruled):
                colocated = colocated.copy()
                self.join(colocated, pod_group, units)
        return True
