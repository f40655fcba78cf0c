"""Topology constraints of the pods of one class at one relaxation level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.pods.terms import EVERYWHERE, Term, TermKind
from treenail.domain.packing.pods.topology_counts import TopologyGroup, TopologyGroups
from treenail.domain.packing.topology.choices import DomainChoice, DomainKeys
from treenail.domain.packing.topology.spread_and_affinity_quotas import Restriction
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class TopologyConstraints:
    """The restrictions on where the pods may go, and the groups to count them in once they are placed.

    - `asked`: the labels whose value must be chosen for a new node. A node may lack those that only
      anti-affinity looks at: that holds where there is no domain. Targets are chosen where they can be,
      because other pods are to be near these.
    - `by_domain`: restrictions by a label; `by_node`: by existing node; `together`: groups per node of which
      the pods must find a member on their node.
    - `counted`, `apart`: groups that count the pods; groups by which the pods keep others off.
    - `given_up`: how many preferences the pods go without at this level.
    - `spreads`: the spreads among `by_domain`; `sole_spread`: the only restriction by domain, if it is a
      spread that counts the pods themselves.
    """

    strict: Requirements
    asked: DomainKeys
    by_domain: tuple[Restriction, ...]
    by_node: tuple[Restriction, ...]
    together: tuple[Restriction, ...]
    counted: tuple[TopologyGroup, ...]
    apart: tuple[TopologyGroup, ...]
    rules: Rules
    given_up: int
    spreads: tuple[TopologyGroup, ...] = ()
    sole_spread: Restriction | None = None

    @property
    def free(self) -> bool:
        """True if nothing restricts the pods."""
        return not (
            self.asked.keys or self.asked.targets or self.by_node or self.together or self.rules is not FREE
        )

    @property
    def depends(self) -> bool:
        """True if the place of the pods depends on the domains, or the nodes, that other pods are in."""
        return bool(self.by_domain or self.together)

    @property
    def relies(self) -> bool:
        """True if the pods may stay in their place only while other pods stay in theirs."""
        # Anti-affinity is not among them: it is never broken by pods that go away.
        return bool(self.together) or any(
            r.owned and r.group.term.kind is not TermKind.APART for r in self.by_domain
        )

    @property
    def gathers(self) -> bool:
        """True if all of the pods must go to one domain: they have an affinity by it."""
        return any(r.owned and r.group.term.kind is TermKind.TOGETHER for r in self.by_domain)

    @property
    def may_begin(self) -> bool:
        """True if the pods may choose a node, for they have affinity to their own kind and none is placed."""
        return all(
            r.selects and not r.group.on_existing_nodes.any() and not r.group.on_new for r in self.together
        )

    def note_existing_node(self, existing_node: int, labels: Mapping[str, str], pods: int) -> None:
        """Count `pods` more on an existing node (by row) with these labels; fewer where negative."""
        for group in self.counted:
            # A spread counts no pods on nodes that its filter looks past; `seen` is empty where it sees all.
            if not group.seen or group.seen[existing_node]:
                if group.term.per_node:
                    group.on_existing_nodes[existing_node] += pods
                elif group.term.key in labels:
                    group.count(labels[group.term.key], pods)
        # The same pods a second time, as owners: whoever these terms select must keep away from here.
        for group in self.apart:
            if group.term.per_node:
                group.owners_on_existing_nodes[existing_node] += pods
            elif group.term.key in labels:
                group.own(labels[group.term.key], pods)

    def note_new(self, choice: DomainChoice, pods: int) -> None:
        """Count `pods` more on new nodes of a choice; fewer where negative."""
        for group in self.counted:
            if group.term.nodes is not EVERYWHERE and not _looks_at(group, choice):
                continue
            if group.term.per_node:
                # Which of the new nodes they will be on is not known yet. `NodeRules` counts them node by
                # node.
                group.on_new += pods
            # A node whose domain is open counts in none, as in Karpenter. Therefore the domain is chosen for
            # all pods that are a target of affinity.
            elif group.term.key in choice.known:
                group.count(choice.known[group.term.key], pods)
        for group in self.apart:
            if group.term.key in choice.known:
                group.own(choice.known[group.term.key], pods)

    def most_on(self, rows: Indices) -> Floats:
        """Return how many pods the terms per node let onto each of `rows` (M) of existing nodes (M)."""
        most = np.full(len(rows), np.inf)
        for restriction in self.by_node:
            np.minimum(most, _most_on(restriction, rows), out=most)
        return most

    def quota(self, domains: Mapping[str, str], universe: Universe) -> float:
        """Return how many pods may go to a node with these labels before the quota must be computed anew."""
        least = inf
        for restriction in self.by_domain:
            least = min(least, restriction.allowed(domains, universe, self.strict))
            if not least:
                break
        return least

    def quotas(self, many: Sequence[Mapping[str, str]], universe: Universe) -> list[float]:
        """Return the quota of each of `many` domains."""
        if not self.by_domain:
            return [inf] * len(many)
        first, *others = self.by_domain
        quotas = first.allowed_in(many, universe, self.strict)
        for restriction in others:
            allowed = restriction.allowed_in(many, universe, self.strict)
            quotas = [min(pair) for pair in zip(quotas, allowed, strict=True)]
        return quotas

    def crowding(self, domains: Mapping[str, str]) -> int:
        """Return how many pods the spreads count in the domains of these labels: fewer is better."""
        crowd = 0
        for group in self.spreads:
            # Several spreads are summed: the scheduler knows no order among them, and the sum prefers a
            # domain that is empty for most of them.
            crowd += group.counts.get(domains.get(group.term.key, ""), 0)
        return crowd


def _looks_at(group: TopologyGroup, choice: DomainChoice) -> bool:
    """Return whether the node filter of a spread lets it count pods on new nodes of a choice."""
    alternatives, tolerations = group.term.nodes.alternatives, group.term.nodes.tolerations
    if alternatives is not None and not any(choice.requirements.intersects(a) for a in alternatives):
        return False
    return tolerations is None or untolerated(choice.taints, tolerations) is None


def _most_on(restriction: Restriction, rows: Indices) -> Floats:
    group = restriction.group
    there, owners = group.on_existing_nodes[rows], group.owners_on_existing_nodes[rows]
    # As in `Restriction.quota`, for all nodes in one array: a term of other pods forbids only nodes with such
    # pods.
    if not restriction.owned:
        return np.where(owners > 0, 0.0, np.inf)
    match group.term.kind:
        case TermKind.SPREAD:
            # By node the floor is always 0: the next new node would be empty. So the skew is a plain maximum
            # per node.
            left = group.term.max_skew - there
            if restriction.selects:
                return np.maximum(left, 0.0)
            return np.where(left >= 0, np.inf, 0.0)
        case TermKind.APART:
            # One pod fills a node where the term counts its owner; others may still come where it does not.
            barred = (there > 0) | ((owners > 0) & restriction.selects)
            return np.where(barred, 0.0, 1.0 if restriction.selects else np.inf)
        case TermKind.TOGETHER:
            return np.where(there > 0, np.inf, 0.0)


def _apart_keys(by_domain: Sequence[Restriction], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `keys` that only anti-affinity looks at: a node may be without such a label."""
    others = {r.group.term.key for r in by_domain if r.owned and r.group.term.kind is not TermKind.APART}
    return tuple(key for key in keys if key not in others)


def _sole_spread(by_domain: Sequence[Restriction]) -> Restriction | None:
    # Alone, a spread can be dealt for all pods at once. With a second restriction each pod may close a domain
    # for the next, and they must be placed in turns.
    if len(by_domain) != 1:
        return None
    only = by_domain[0]
    return only if only.owned and only.selects and only.group.term.kind is TermKind.SPREAD else None


class RelaxedClass(NamedTuple):
    """A pod class at one of its relaxation levels, with what its topology terms mean there."""

    one: PodClass
    level: RelaxationLevel
    constraints: TopologyConstraints


class ConstraintReader:
    """Makes the topology constraints of each pod class and relaxation level once."""

    def __init__(self, groups: TopologyGroups) -> None:
        self._groups = groups
        self._known: dict[tuple[RelaxationLevel, tuple[TopologyGroup, ...]], TopologyConstraints] = {}
        # The key above hashes the whole tuple of groups, and this is asked for every class in every round.
        self._numbers = numbering()
        self._same: dict[tuple[RelaxationLevel, int], TopologyConstraints] = {}
        self._rules: dict[Rules, Rules] = {FREE: FREE}

    @property
    def terms(self) -> Mapping[int, Term]:
        """The terms of all groups there are, by their number."""
        return self._groups.terms

    def relaxed(self, one: PodClass, level: RelaxationLevel) -> RelaxedClass:
        """Return a class at `level`, with what its terms mean there."""
        return RelaxedClass(one, level, self.of(one, level))

    def of(self, one: PodClass, level: RelaxationLevel) -> TopologyConstraints:
        """Return what the terms mean to the pods of `one` at `level`."""
        counted = one.counted
        key = (level, self._numbers[counted])
        same = self._same.get(key)
        if same is None:
            if (level, counted) not in self._known:
                self._known[level, counted] = self._constraints(level, counted)
            same = self._same[key] = self._known[level, counted]
        return same

    def _constraints(self, level: RelaxationLevel, counted: tuple[TopologyGroup, ...]) -> TopologyConstraints:
        owned = tuple(self._groups.of(term) for term in level.terms)
        # First the pods' own terms. Then the terms of others that keep these pods off, unless they are the
        # same.
        found = [Restriction(group, owned=True, selects=group in counted) for group in owned]
        found += [Restriction(g, owned=False, selects=True) for g in counted if g.opposed and g not in owned]
        by_domain = tuple(r for r in found if not r.group.term.per_node)
        per_node = [r for r in found if r.group.term.per_node]
        together = tuple(r for r in per_node if r.owned and r.group.term.kind is TermKind.TOGETHER)
        # A group that a term asks for is a target: where other pods are to be near these, their domain must
        # be known.
        targets = [g for g in counted if g.asked and g.term.kind is TermKind.TOGETHER and not g.term.per_node]
        keys = tuple(sorted({r.group.term.key for r in by_domain}))
        # Sorted, so that equal constraints find equal choices, whatever order the terms came in.
        aimed = tuple(sorted({g.term.key for g in targets}.difference(keys)))
        return TopologyConstraints(
            strict=level.strict,
            asked=DomainKeys(keys, aimed, _apart_keys(by_domain, keys)),
            by_domain=by_domain,
            by_node=tuple(r for r in per_node if r not in together),
            together=together,
            counted=counted,
            # Preferences to keep apart oppose nobody: only required terms bind pods that come later.
            apart=tuple(g for g in owned if g.opposed),
            rules=self._rules_of(owned, counted, level),
            given_up=level.given_up,
            spreads=tuple(r.group for r in by_domain if r.group.term.kind is TermKind.SPREAD),
            # A target adds a second key to choose: the spread alone no longer says where the pods go.
            sole_spread=None if aimed else _sole_spread(by_domain),
        )

    def _rules_of(
        self, owned: tuple[TopologyGroup, ...], counted: tuple[TopologyGroup, ...], level: RelaxationLevel
    ) -> Rules:
        # Affinity per node is no rule of a node group: pods that must share a node are bundled before.
        of_nodes = (TermKind.SPREAD, TermKind.APART)
        own = tuple(sorted(g.index for g in owned if g.term.per_node and g.term.kind in of_nodes))
        others = tuple(
            # Groups that no pod of this problem asks for cannot be broken on a new node: leaving them out
            # makes more pods alike.
            sorted((g.index, 1) for g in counted if g.asked and g.term.per_node and g.term.kind in of_nodes)
        )
        firm = tuple(sorted(g.index for g in owned if g.index in own and g.term in level.firm))
        rules = Rules(own, others, firm) if own or others else FREE
        # Equal rules become one object: pod groups and node rules are looked up by its identity.
        return self._rules.setdefault(rules, rules)
