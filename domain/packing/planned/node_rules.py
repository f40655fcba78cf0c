"""Node rules: the terms per node that decide which pods may share a new node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from math import floor, inf
from operator import or_

from treenail.domain.packing.identity import IdentityMap
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.pods.terms import Term, TermKind
from treenail.domain.packing.topology.class_constraints import TopologyConstraints


@dataclass(slots=True, eq=False)
class ColocatedPods:
    """The units on a node, as terms per node see them.

    `counted` is how many of their pods each term counts, `owned` how many units require the term, both by
    the number of its group. `closed` are three sets of groups, as bits, that let no more units in, in the
    order of `ConflictMasks`. `NodeRules.join` alone keeps it.
    """

    counted: dict[int, int] = field(default_factory=dict)
    owned: dict[int, int] = field(default_factory=dict)
    closed: tuple[int, int, int] = (0, 0, 0)

    def copy(self) -> ColocatedPods:
        return ColocatedPods(dict(self.counted), dict(self.owned), self.closed)

    def count(self, constraints: TopologyConstraints, pods: int) -> None:
        """Count `pods` more of these constraints, each a unit of its own; `closed` is not kept."""
        # Only terms per node: those by domain are counted in the groups, once for the whole domain.
        for group in constraints.counted:
            if group.term.per_node:
                self.counted[group.index] = self.counted.get(group.index, 0) + pods
        # Preferences to keep apart bind only their own pod, not those that join later.
        for index in constraints.rules.firm:
            self.owned[index] = self.owned.get(index, 0) + pods

    @property
    def rules(self) -> Rules:
        """The rules of all of them as one unit. Sorted: rules are compared by value."""
        owned = tuple(sorted(self.owned))
        return Rules(owned, tuple(sorted(self.counted.items())), owned)


def most_joining(colocated: ColocatedPods, rules: Rules, terms: Mapping[int, Term]) -> float:
    """Return how many units under `rules` may join those on a node; `terms` are by their group's number."""
    # The smallest of what each term allows; infinite where none says anything.
    most, own = inf, dict(rules.counted)
    for group in rules.owned:
        most = min(most, _most_owned(colocated, group, own.get(group, 0), terms[group]))
    for group, count in rules.counted:
        # Terms hold in both directions: terms of pods on the node that count the joining ones hold, too. The
        # scheduler checks this for anti-affinity; here it is done for spreads as well, so that the pods may
        # be bound in any order.
        if colocated.owned.get(group) and group not in rules.owned:
            term = terms[group]
            room = term.max_skew - colocated.counted.get(group, 0) if term.kind is TermKind.SPREAD else 0
            most = min(most, max(floor(room / count), 0))
    return most


def _most_owned(colocated: ColocatedPods, group: int, each: int, term: Term) -> float:
    there = colocated.counted.get(group, 0)
    # A spread over the hostname: the floor is 0, for an empty node could always be had, so the skew is a
    # maximum.
    if term.kind is TermKind.SPREAD:
        room = term.max_skew - there
        return max(floor(room / each), 0) if each else (inf if room >= 0 else 0)
    # Anti-affinity: of the pods that join against those there, or of an owner there against the ones that
    # join. An empty node takes one unit.
    if there or (each and colocated.owned.get(group)):
        return 0
    return 1 if each else inf


@dataclass(frozen=True, slots=True)
class ConflictMasks:
    """Topology groups that may keep units off a node, as bit sets, named by the units' part in them.

    `uncounted_owners`: the units have the group's term and are not counted by it. `counted_owners`: they have
    it and are counted. `counted_only`: they are counted only. `several` says that a group counts more than
    one pod of a unit. `joining` are the groups that change as a unit joins: the group's number, how many pods
    of the unit it counts, whether the unit requires the term, and the skew, or 0 for anti-affinity.
    """

    uncounted_owners: int
    counted_owners: int
    counted_only: int
    joining: tuple[tuple[int, int, bool, int], ...] = ()
    several: bool = False

    def bar(self, colocated: ColocatedPods) -> bool:
        """Return whether one of the groups lets no unit join those on a node."""
        uncounted, owners, counted = colocated.closed
        return bool(
            self.uncounted_owners & uncounted or self.counted_owners & owners or self.counted_only & counted
        )


def _conflicts_of(terms: Mapping[int, Term], rules: Rules) -> ConflictMasks:
    counted, owned, firm = dict(rules.counted), set(rules.owned), set(rules.firm)
    # Terms that a pod merely prefers bind itself as it joins, and nobody afterwards: they change no group.
    changed = dict.fromkeys((*counted, *rules.firm))
    skews = {g: terms[g].max_skew if terms[g].kind is TermKind.SPREAD else 0 for g in changed}
    return ConflictMasks(
        # Sets, but only summed up: their order does not matter.
        sum(1 << group for group in owned - counted.keys()),
        sum(1 << group for group in owned & counted.keys()),
        sum(1 << group for group in counted.keys() - owned),
        tuple((group, counted.get(group, 0), group in firm, skews[group]) for group in changed),
        several=any(count > 1 for count in counted.values()),
    )


class NodeRules:
    """The terms per node of pod groups.

    Invariant: no term per node is broken on any planned node, in whatever order the scheduler binds its pods.
    """

    def __init__(self, terms: Mapping[int, Term], pod_groups: Sequence[PodGroup]) -> None:
        self._terms = terms
        # Bundles have negative indices, so the two kinds never meet.
        self._pod_groups = {pod_group.index: pod_group for pod_group in pod_groups}
        # Filling asks for them thousands of times, and there are few different rules.
        self._conflicts = IdentityMap(partial(_conflicts_of, terms))
        # Where no group has a term per node, rules cost one comparison.
        self.none = not any(pod_group.rules.owned for pod_group in pod_groups)

    def join(self, colocated: ColocatedPods, pod_group: PodGroup, units: int) -> None:
        """Count `units` more on a node, and close the groups that let no more in."""
        if pod_group.rules is FREE:
            return
        counted, owned = colocated.counted, colocated.owned
        uncounted_owners, counted_owners, counted_only = colocated.closed
        for group, count, firm, skew in self._conflicts[pod_group.rules].joining:
            # The sets are integers: filling asks thousands of times whether a group may join a node, and this
            # makes the answer three bitwise operations.
            bit = 1 << group
            there = counted.get(group, 0) + count * units
            owners = owned.get(group, 0) + firm * units
            if count:
                counted[group] = there
            if firm:
                owned[group] = owners
            # Who has the term and is not counted may come as long as the skew holds, and it never shrinks
            # again.
            if there > skew:
                uncounted_owners |= bit
            # Anti-affinity lets no more units in; nor may a unit that is only counted join one that has the
            # term.
            if there >= max(skew, 1) or (owners and not skew):
                counted_owners |= bit
            if owners and there >= skew:
                counted_only |= bit
        colocated.closed = (uncounted_owners, counted_owners, counted_only)

    def admits(self, colocated: ColocatedPods, pod_group: PodGroup) -> bool:
        """Return whether one more unit may join the units on a node."""
        conflicts = self._conflicts[pod_group.rules]
        # Bundles count several pods at once; a bit cannot say whether that many still fit.
        if conflicts.several:
            return most_joining(colocated, pod_group.rules, self._terms) >= 1
        return not conflicts.bar(colocated)

    def free(self, pod_group: PodGroup) -> bool:
        """Return whether a pod group may share any node with any other."""
        return self.none or pod_group.rules is FREE

    def colocated(self, parts: Mapping[int, int]) -> ColocatedPods:
        """Return so many units of pod groups (by index) as terms per node see them."""
        colocated = ColocatedPods()
        for index, units in parts.items():
            self.join(colocated, self._pod_groups[index], units)
        return colocated

    def conflicts(self, parts: Iterable[int]) -> ConflictMasks:
        """Return the masks of all of the pod groups (by index) together."""
        rules = (self._pod_groups[index].rules for index in parts)
        found = [self._conflicts[each] for each in rules if each is not FREE]
        return ConflictMasks(
            reduce(or_, (each.uncounted_owners for each in found), 0),
            reduce(or_, (each.counted_owners for each in found), 0),
            reduce(or_, (each.counted_only for each in found), 0),
            several=any(each.several for each in found),
        )

    def most(self, colocated: ColocatedPods, pod_group: PodGroup) -> float:
        """Return how many units of `pod_group` may join."""
        return most_joining(colocated, pod_group.rules, self._terms)

    def may_join(self, colocated: ColocatedPods, parts: Mapping[int, int]) -> bool:
        """Return whether so many units of pod groups (by index) may all join the units on a node."""
        if self.none:
            return True
        ruled = [(self._pod_groups[index], units) for index, units in parts.items()]
        # Pods without rules join wherever there is room, and change nothing for the others.
        ruled = [(pod_group, units) for pod_group, units in ruled if pod_group.rules is not FREE]
        for number, (pod_group, units) in enumerate(ruled, 1):
            if self.most(colocated, pod_group) < units:
                return False
            # Each group is checked with those before it on the node already. The copy leaves the caller's
            # node as it was.
            if number < len(ruled):
                colocated = colocated.copy()
                self.join(colocated, pod_group, units)
        return True
