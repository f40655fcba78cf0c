"""Quotas of domains: how many pods the topology terms (skew, affinity) let into a zone or another domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from treenail.domain.model.requirements import Requirements
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.arrays.dealing import evenly
from treenail.domain.packing.pods.terms import TermKind
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """The restriction of a class's pods by one topology group.

    `owned` says that the pods have its term, `selects` that the term counts them. At least one is true.
    """

    group: TopologyGroup
    owned: bool
    selects: bool

    def quota(self, domain: str, floor: float) -> float:
        """Return how many pods may go to `domain` before the quota must be computed anew.

        `floor` is the lowest count of the domains that a spread is measured over. Infinite where the pods
        do not change the count.
        """
        group = self.group
        if not self.owned:
            # The pods have no such term: only pods that keep apart from them can bar a domain. This is the
            # inverse anti-affinity of the scheduler.
            return 0.0 if group.owners.get(domain) else inf
        count = group.counts.get(domain, 0)
        match group.term.kind:
            case TermKind.SPREAD:
                # The scheduler compares the count with the lowest one at the time of placing. A pod that its
                # own spread does not count leaves the skew as it is: it may go wherever the skew holds
                # already.
                left = group.term.max_skew + floor - count
                return max(left, 0.0) if self.selects else (inf if left >= 0 else 0.0)
            case TermKind.APART:
                # A pod that has the term and is counted by it keeps others off, and is kept off by them: one
                # fills the domain.
                if count or (self.selects and group.owners.get(domain)):
                    return 0.0
                return 1.0 if self.selects else inf
            case TermKind.TOGETHER:
                # Without a pod to be near there is no domain, unless the pods may begin: see `may_begin`.
                return inf if count else 0.0

    def allowed(self, domains: Mapping[str, str], universe: Universe, strict: Requirements) -> float:
        """Return how many pods may go where the labels are `domains`, before it must be computed anew.

        Pods with affinity to their own kind may go where none of these are, if `may_begin` says so.
        """
        return self.allowed_in((domains,), universe, strict)[0]

    def allowed_in(
        self, many: Sequence[Mapping[str, str]], universe: Universe, strict: Requirements
    ) -> list[float]:
        """Return what is `allowed` in each of `many` domains. The floor is computed once for all of them."""
        key, floor = self.group.term.key, self.floor(universe, strict)
        domains = [each.get(key) for each in many]
        # A node without the label is in no domain. Nobody is too near there, so anti-affinity holds. A spread
        # or an affinity cannot be met there: the scheduler refuses such nodes.
        nowhere = inf if not self.owned or self.group.term.kind is TermKind.APART else 0.0
        quotas = [nowhere if domain is None else self.quota(domain, floor) for domain in domains]
        # Asked only where some domain is closed: `may_begin` walks over all counts of the group.
        begins = self.owned and self.group.term.kind is TermKind.TOGETHER and not all(quotas)
        if begins and self.may_begin(strict):
            return [0.0 if domain is None else inf for domain in domains]
        return quotas

    def floor(self, universe: Universe, strict: Requirements) -> float:
        """Return the least count of the domains a spread is measured over."""
        term = self.group.term
        if term.kind is not TermKind.SPREAD or term.per_node:
            return 0.0
        least = self._least(universe, strict, ())
        # No domain at all is measured: then nothing raises the floor, and `max_skew` alone counts.
        return least if least < inf else 0.0

    def held(self, domains: Sequence[str]) -> list[int]:
        """Return how many pods are counted in each of `domains`."""
        return [self.group.counts.get(domain, 0) for domain in domains]

    def dealt(
        self, domains: Sequence[str], fits: Floats, pods: int, universe: Universe, strict: Requirements
    ) -> Floats:
        """Return how many of `pods` pods each of `domains` (D) gets within the skew.

        `fits` (D) is how many each can take.
        """
        # Dealt at once for all pods, and not one by one: the result is the same, in O(D log P) for D domains.
        # A domain that cannot take more stays the floor for the others, and so do the domains that are not
        # offered at all.
        held = np.array(self.held(domains), dtype=np.float64)
        return evenly(held, fits, pods, self.group.term.max_skew, self._least(universe, strict, set(domains)))

    def _least(self, universe: Universe, strict: Requirements, beside: Collection[str]) -> float:
        """Return the least count of the domains a spread is measured over, `beside` some; inf without any."""
        term = self.group.term
        measured = universe.of(self.group, strict.get(term.key))
        # minDomains of Kubernetes: with fewer domains than that, the lowest count is taken for zero.
        if len(measured) < term.min_domains:
            return 0.0
        counts = self.group.counts
        if beside:
            measured = tuple(domain for domain in measured if domain not in beside)
        return float(min([counts.get(domain, 0) for domain in measured])) if measured else inf

    def may_begin(self, strict: Requirements) -> bool:
        """Return whether pods that want to be together with their like may choose where to begin."""
        if not self.selects:
            return False
        # As in Karpenter, pods begin anew where those to be near are only in domains that they may not enter
        # themselves. Preferences and volumes do not narrow this: `strict` is without them.
        within = strict.get(self.group.term.key)
        return not any(
            count and (within is None or within.has(domain)) for domain, count in self.group.counts.items()
        )
