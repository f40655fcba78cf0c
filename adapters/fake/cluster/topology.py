"""Topology constraints of pods: spread, affinity and anti-affinity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from treenail.adapters.fake.cluster.accounts import NodeAccount
from treenail.adapters.fake.cluster.census import Census, DomainCount
from treenail.adapters.fake.cluster.matching import DomainTerm, NodeFilter, Owners, Selected, Selection
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, LabelSelector, Pod, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator

_UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
_NO_DOMAIN: Final = f"{_UNEVEN} (missing required label)"
_NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
_NOT_APART: Final = "node(s) didn't match pod anti-affinity rules"
_OPPOSED: Final = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One topology spread constraint. `itself` says that the pod is among those counted."""

    key: str
    max_skew: int
    min_domains: int
    selection: Selection
    nodes: NodeFilter
    itself: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyNeeds:
    """The topology terms of a pod: pods with equal needs may go to the same nodes.

    `spreads` must all hold; `wishes` (`ScheduleAnyway`) only choose among the nodes that would do. `near`
    must all be met; `first` says that the pod may be the first of those it must be near. `against` is the
    anti-affinity of other pods that selects it.
    """

    spreads: tuple[Spread, ...] = ()
    wishes: tuple[Spread, ...] = ()
    near: tuple[DomainTerm, ...] = ()
    first: bool = False
    apart: tuple[DomainTerm, ...] = ()
    against: tuple[DomainTerm, ...] = ()


NO_NEEDS: Final = TopologyNeeds()


def topology_needs(spec: PodSpec, namespace: str, of: Mapping[str, str], census: Census) -> TopologyNeeds:
    """Return what the topologies of a pod with the labels `of` ask, and those of others of it."""
    against = census.against(namespace, of)
    if not spec.spread and not spec.pod_affinity:
        return TopologyNeeds(against=against) if against else NO_NEEDS
    required = [(t.anti, DomainTerm.of(t, namespace)) for t in spec.pod_affinity if t.weight is None]
    near = tuple(term for anti, term in required if not anti)
    return TopologyNeeds(
        spreads=_spreads(spec, namespace, of, census, hard=True),
        wishes=_spreads(spec, namespace, of, census, hard=False),
        near=near,
        first=all(term.selection.selects(namespace, of, census.labels_of) for term in near),
        apart=tuple(term for anti, term in required if anti),
        against=against,
    )


def _spreads(
    spec: PodSpec, namespace: str, of: Mapping[str, str], census: Census, *, hard: bool
) -> tuple[Spread, ...]:
    alike = [spread for spread in spec.spread if spread.hard is hard]
    keys = tuple(labels.normalized(spread.topology_key) for spread in alike)
    chosen = spec.alternatives() if spec.node_selector or spec.node_affinity.required else None
    found = []
    for spread, key in zip(alike, keys, strict=True):
        selection = Selection(_narrowed(spread, of), (namespace,))
        nodes = NodeFilter(
            keys,
            chosen if spread.honor_node_affinity else None,
            spec.tolerations if spread.honor_node_taints else None,
        )
        found.append(
            Spread(
                key=key,
                max_skew=spread.max_skew,
                min_domains=spread.min_domains or 1,
                selection=selection,
                nodes=nodes,
                itself=selection.selects(namespace, of, census.labels_of),
            )
        )
    return tuple(found)


def _narrowed(spread: TopologySpread, of: Mapping[str, str]) -> LabelSelector | None:
    """Return a spread's selector, with the pod's own values of `matchLabelKeys`."""
    if spread.selector is None:
        return None
    more = (Expression(key, Operator.IN, (of[key],)) for key in spread.match_label_keys if key in of)
    return LabelSelector(spread.selector.match_labels, (*spread.selector.expressions, *more))


class _Rule(Protocol):
    @property
    def keys(self) -> tuple[str, ...]:
        """The labels of a node that it looks at."""
        ...

    def misfit(self, of: Mapping[str, str]) -> str:
        """Return why a node with the labels `of` does not do, "" where it does."""
        ...


class _Even:
    def __init__(self, spread: Spread, census: Census) -> None:
        self.keys = (spread.key,)
        self._spread = spread
        self._count = census.count(Selected((spread.selection,), leaving=False), spread.key, spread.nodes)

    def misfit(self, of: Mapping[str, str]) -> str:
        domain = of.get(self._spread.key)
        if domain is None:
            return _NO_DOMAIN
        pods = self._count.pods
        least = 0 if len(pods) < self._spread.min_domains else self._count.least
        return _UNEVEN if pods.get(domain, 0) + self._spread.itself - least > self._spread.max_skew else ""


class _Wish:
    """A spread with `ScheduleAnyway`: the fewer pods the domain of a node has, the better the node.

    Domains are weighed as in kube-scheduler's score: by the logarithm of how many there are.
    """

    def __init__(self, spread: Spread, census: Census) -> None:
        self.key = spread.key
        self._slack = spread.max_skew - 1
        self._count = census.count(Selected((spread.selection,), leaving=False), spread.key, spread.nodes)

    def pods(self, of: Mapping[str, str]) -> int:
        """Return how many pods there are in the domain of a node with the labels `of`."""
        return self._count.pods.get(of.get(self.key, ""), 0)

    def load(self, of: Mapping[str, str]) -> float:
        """Return how little a node suits the spread; infinitely little without the label."""
        if self.key not in of:
            return math.inf
        return self.pods(of) * math.log(len(self._count.pods) + 2) + self._slack


class _Near:
    """All terms at once: only pods that all of them select count, as kube-scheduler has it."""

    def __init__(self, needs: TopologyNeeds, census: Census) -> None:
        self.keys = tuple(term.key for term in needs.near)
        together = Selected(tuple(term.selection for term in needs.near))
        self._counts = [(key, census.count(together, key)) for key in self.keys]
        self._first = needs.first

    def misfit(self, of: Mapping[str, str]) -> str:
        if any(key not in of for key in self.keys):
            return _NOT_NEAR
        if all(count.pods.get(of[key]) for key, count in self._counts):
            return ""
        somebody = any(count.everywhere for _, count in self._counts)
        return "" if self._first and not somebody else _NOT_NEAR


class _Apart:
    def __init__(self, key: str, count: DomainCount, why: str) -> None:
        self.keys = (key,)
        self._key = key
        self._count = count
        self._why = why

    def misfit(self, of: Mapping[str, str]) -> str:
        domain = of.get(self._key)
        return self._why if domain is not None and self._count.pods.get(domain) else ""


class Topology:
    """The domains where pods of equal needs may go, at the time of the question.

    `keys` are the labels that decide for many nodes at once; what a node's own name decides comes extra.
    """

    def __init__(self, needs: TopologyNeeds, census: Census) -> None:
        self._near = needs.near
        self._labels_of = census.labels_of
        self._rules: list[_Rule] = [_Even(spread, census) for spread in needs.spreads]
        if needs.near:
            self._rules.append(_Near(needs, census))
        for term in needs.apart:
            count = census.count(Selected((term.selection,)), term.key)
            self._rules.append(_Apart(term.key, count, _NOT_APART))
        for term in needs.against:
            self._rules.append(_Apart(term.key, census.count(Owners(term), term.key), _OPPOSED))
        self._by_node = [rule for rule in self._rules if labels.HOSTNAME in rule.keys]
        self._by_domain = [rule for rule in self._rules if labels.HOSTNAME not in rule.keys]
        self._wishes = [_Wish(spread, census) for spread in needs.wishes]
        keys = [key for rule in self._by_domain for key in rule.keys]
        keys += [wish.key for wish in self._wishes if wish.key != labels.HOSTNAME]
        self.keys = tuple(dict.fromkeys(keys))

    @property
    def strict(self) -> bool:
        """True if it can hold a pod up."""
        return bool(self._rules)

    def neighbours(self, of: Mapping[str, str]) -> int:
        """Return how many pods a node with the labels `of` has from which the pods would rather be apart."""
        return sum(wish.pods(of) for wish in self._wishes if wish.key == labels.HOSTNAME)

    def unevenness(self, of: Mapping[str, str]) -> float:
        """Return how little a node with the labels `of` suits the spreads that are wishes."""
        return sum(wish.load(of) for wish in self._wishes)

    def misfit(self, account: NodeAccount) -> str:
        """Return why a node does not do, "" where it does."""
        return self._misfit(self._rules, account)

    def wants(self, pod: Pod) -> bool:
        """Return whether `pod` is one that the pods must be near."""
        return any(t.selection.selects(pod.namespace, pod.labels, self._labels_of) for t in self._near)

    def closes(self, account: NodeAccount) -> bool:
        """Return whether a node, and all those with the same values of `keys`, are closed to the pods."""
        return bool(self._misfit(self._by_domain, account))

    def keeps_off(self, account: NodeAccount) -> bool:
        """Return whether a node that is not closed is one that the pods must keep off all the same."""
        return bool(self._misfit(self._by_node, account))

    @staticmethod
    def _misfit(rules: list[_Rule], account: NodeAccount) -> str:
        of = account.node.labels if account.node is not None else {}
        return next((why for rule in rules if (why := rule.misfit(of))), "")
