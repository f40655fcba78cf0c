"""Rules between pods: who counts for them, and in which domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.fuzz.check.catalogue import HOSTNAME
from tests.fuzz.check.homes import Home
from tests.fuzz.check.label_values import Term
from tests.fuzz.check.pods import PodTerm, Shape, Spread
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.taints import first_refused
from tests.fuzz.check.topology.domains import Domains


class SpreadRule:
    """One topology spread constraint of a shape."""

    def __init__(self, owner: Shape, written: Spread, domains: Domains) -> None:
        self.owner = owner
        self.written = written
        self.key = written.key
        universe = domains.of(owner, written)
        # For each alternative of the pod's node affinity, the domains that its skew is taken over.
        self.reachable = [
            [d for d in universe if all(values.has(d) for key, values in term if key == self.key)]
            for term in owner.terms
        ]

    def selects(self, shape: Shape) -> bool:
        return shape.namespace == self.owner.namespace and self.written.selector.selects(shape.labels)

    def passes(self, home: Home) -> bool:
        """Return whether pods there count."""
        if self.written.honor_affinity and not home.meets(self.owner.terms):
            return False
        return not self.written.honor_taints or first_refused(self.owner.tolerations, home.taints) is None

    def allows(self, home: Home, tally: Tally, *, more: int) -> bool:
        """Return whether a pod may be there, wherever that turns out to be; `more` are yet to be counted."""
        landings = home.landings(self.key)
        return bool(landings) and all(self._allows(domain, home, tally, more) for domain in landings)

    def _allows(self, domain: str, home: Home, tally: Tally, more: int) -> bool:
        count = tally.most(domain) + more
        if self.key == HOSTNAME:
            return count <= self.written.max_skew
        return any(
            domain in reachable and count - self._least(reachable, tally) <= self.written.max_skew
            for term, reachable in zip(self.owner.terms, self.reachable, strict=True)
            if home.meets([term])
        )

    def _least(self, reachable: list[str], tally: Tally) -> int:
        if len(reachable) < self.written.min_domains:
            return 0
        return min(tally.sure[domain] for domain in reachable)

    def __str__(self) -> str:
        return f"spread over {self.key} by at most {self.written.max_skew}"


class TermRule:
    """One term of a shape's pod affinity or anti-affinity."""

    def __init__(self, owner: Shape, written: PodTerm, scenario: Scenario) -> None:
        self.owner = owner
        self.written = written
        self.key = written.key
        self._namespaces = scenario.namespaces

    def selects(self, shape: Shape) -> bool:
        return self._in_namespaces(shape.namespace) and self.written.selector.selects(shape.labels)

    def _in_namespaces(self, namespace: str) -> bool:
        if namespace in self.written.namespaces:
            return True
        return self.written.namespace_selector.selects(self._namespaces.get(namespace, {}))

    def passes(self, home: Home) -> bool:
        del home
        return True

    def allows(self, home: Home, tally: Tally, *, more: int) -> bool:
        """Return whether a pod may be there: by a mate, or as the first of its own kind.

        `more` is 1 for a pod that its own term selects and that is not counted yet.
        """
        landings = home.landings(self.key)
        if not landings:
            return False
        if tally.at_home[home] or all(tally.sure[domain] for domain in landings):
            return True
        return bool(more) and any(
            self._may_be_first(tally, term) for term in self.owner.terms if home.meets([term])
        )

    def _may_be_first(self, tally: Tally, alternative: Term) -> bool:
        """A first pod needs no mate: none counts anywhere, or none where this alternative lets it go."""
        demands = [values for key, values in alternative if key == self.key]
        return not any(
            tally.most(domain) and all(values.has(domain) for values in demands) for domain in tally.seen
        )

    def __str__(self) -> str:
        return f"{'anti-affinity' if self.written.anti else 'affinity'} over {self.key}"


class Tally:
    """How many pods a rule counts in each domain: `sure` ones, and those that may turn out to be there."""

    def __init__(self, rule: SpreadRule | TermRule) -> None:
        self._rule = rule
        self.sure: Counter[str] = Counter()
        self.at_home: Counter[Home] = Counter()
        self._perhaps: Counter[str] = Counter()

    def add(self, shape: Shape, home: Home, times: int = 1) -> None:
        """Count a pod if the rule does: for sure where its node can only turn out in one domain."""
        if not self._rule.selects(shape) or not self._rule.passes(home):
            return
        self.at_home[home] += times
        landings = home.landings(self._rule.key)
        if len(landings) == 1:
            self.sure[next(iter(landings))] += times
        elif shape is self._rule.owner or isinstance(self._rule, TermRule):
            for domain in landings:
                self._perhaps[domain] += times

    def most(self, domain: str) -> int:
        return self.sure[domain] + self._perhaps[domain]

    @property
    def seen(self) -> Iterator[str]:
        """The domains where pods are, or may turn out to be."""
        return iter(self.sure.keys() | self._perhaps.keys())
