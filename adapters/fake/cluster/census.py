"""Counts of pods by topology domain, updated with every change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from weakref import WeakValueDictionary

from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount
from treenail.adapters.fake.cluster.matching import (
    EVERY_NODE,
    DomainTerm,
    NodeFilter,
    Question,
    kept_apart,
    same_for_topologies,
)
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.namespaces import NAME_LABEL, Namespace
from treenail.domain.model.pods import Pod

_MOST_KNOWN_PODS: Final = 10_000


class DomainCount:
    """The answer to a question, by the domains of a key: how many pods it counts on the nodes that count.

    A domain is there as long as it has a node that counts. `everywhere` is the sum of all.
    """

    __slots__ = ("__weakref__", "_domain_of", "_least", "_nodes", "_of", "everywhere", "pods", "tally")

    def __init__(self, tally: Tally, key: str, of: NodeFilter) -> None:
        # Held on to: a tally lives as long as somebody looks at one of its counts.
        self.tally = tally
        self.pods: dict[str, int] = {}
        self.everywhere = 0
        self._of = (key, of)
        self._nodes: dict[str, int] = {}
        self._domain_of: dict[str, str] = {}
        self._least: int | None = None

    @property
    def least(self) -> int:
        """The number of pods of the emptiest domain; 0 where there is no domain."""
        if self._least is None:
            self._least = min(self.pods.values(), default=0)
        return self._least

    def add(self, node: str, pods: int) -> bool:
        """Count `pods` more on a node; return whether that matters."""
        domain = self._domain_of.get(node)
        if domain is None:
            return False
        self.pods[domain] += pods
        self.everywhere += pods
        self._least = None
        return True

    def settle(self, name: str, account: NodeAccount | None, pods: int) -> bool:
        """Take in how a node with so many pods is now; return whether that matters."""
        before, domain = self._domain_of.get(name), self._domain(account)
        if before == domain:
            return False
        self._least = None
        if before is not None:
            del self._domain_of[name]
            self._move(before, -1, -pods)
        if domain is not None:
            self._domain_of[name] = domain
            self._move(domain, 1, pods)
        return True

    def _domain(self, account: NodeAccount | None) -> str | None:
        key, of = self._of
        if account is None or account.node is None or not of.counts(account, account.node):
            return None
        return account.node.labels.get(key)

    def _move(self, domain: str, nodes: int, pods: int) -> None:
        self.everywhere += pods
        left = self._nodes.get(domain, 0) + nodes
        if left:
            self._nodes[domain] = left
            self.pods[domain] = self.pods.get(domain, 0) + pods
        else:
            del self._nodes[domain], self.pods[domain]


class Tally:
    """The number of pods that a question counts on each node, and the counts by domain that follow."""

    __slots__ = ("__weakref__", "counts", "on", "question")

    def __init__(self, question: Question) -> None:
        self.question = question
        self.on: dict[str, int] = {}
        self.counts: WeakValueDictionary[tuple[str, NodeFilter], DomainCount] = WeakValueDictionary()

    def add(self, node: str, pods: int) -> bool:
        """Count `pods` more on a node; return whether that matters to anybody."""
        left = self.on.get(node, 0) + pods
        if left:
            self.on[node] = left
        else:
            del self.on[node]
        return _any_of(count.add(node, pods) for count in self.counts.values())

    def settle(self, name: str, account: NodeAccount | None) -> bool:
        """Take in how a node is now; return whether that matters to anybody."""
        pods = self.on.get(name, 0)
        return _any_of(count.settle(name, account, pods) for count in self.counts.values())


class Census:
    """Counts pods by topology domain, for as long as somebody holds on to the count.

    `changed` are called when a count has, `opposed` when pods come that others must keep apart from in
    a way not known before, or when namespaces are others than they were.
    """

    def __init__(self, store: Store, accounts: Accounts) -> None:
        self.changed: list[Callable[[], None]] = []
        self.opposed: list[Callable[[], None]] = []
        self._accounts = accounts
        self._tallies: WeakValueDictionary[Question, Tally] = WeakValueDictionary()
        self._terms: dict[DomainTerm, None] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        # What counts a pod: the same for all pods that are alike.
        self._counting: dict[tuple[object, ...], tuple[Question, ...]] = {}
        store.listen(self._node_changed, "Node")
        store.listen(self._pod_changed, "Pod")
        store.listen(self._namespace_changed, "Namespace")

    # --- asking

    def count(self, question: Question, key: str, nodes: NodeFilter = EVERY_NODE) -> DomainCount:
        """Return how many pods `question` counts in each domain of `key`, now and from now on."""
        tally = self._tallies.get(question)
        if tally is None:
            tally = self._tallies[question] = self._counted_anew(Tally(question))
            self._counting.clear()
        known = tally.counts.get((key, nodes))
        if known is None:
            known = tally.counts[key, nodes] = DomainCount(tally, key, nodes)
            for account in self._accounts.present():
                known.settle(account.name, account, tally.on.get(account.name, 0))
        return known

    def against(self, namespace: str, of: Mapping[str, str]) -> tuple[DomainTerm, ...]:
        """Return the required anti-affinity there is that selects a pod with the labels `of`."""
        return tuple(t for t in self._terms if t.selection.selects(namespace, of, self.labels_of))

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace: of one that does not exist, that of its name."""
        return self._namespaces.get(namespace) or {NAME_LABEL: namespace}

    # --- keeping up

    def _pod_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        learned = isinstance(after, Pod) and bool(after.spec.pod_affinity) and self._learn(after)
        was = before if isinstance(before, Pod) and before.bound else None
        now = after if isinstance(after, Pod) and after.bound else None
        matters = False
        if self._tallies and not (was is not None and now is not None and _alike(was, now)):
            matters = self._note(was, -1) | self._note(now, 1)
        if learned:
            self._tell(self.opposed)
        if matters:
            self._tell(self.changed)

    def _learn(self, pod: Pod) -> bool:
        new = [term for term in kept_apart(pod) if term not in self._terms]
        self._terms.update(dict.fromkeys(new))
        return bool(new)

    def _note(self, pod: Pod | None, pods: int) -> bool:
        if pod is None:
            return False
        tallies = (self._tallies.get(question) for question in self._questions(pod))
        return _any_of(tally.add(pod.node_name, pods) for tally in tallies if tally is not None)

    def _questions(self, pod: Pod) -> tuple[Question, ...]:
        apart = kept_apart(pod) if pod.spec.pod_affinity else ()
        key = (pod.namespace, tuple(sorted(pod.labels.items())), pod.deleting_since is not None, apart)
        known = self._counting.get(key)
        if known is None:
            if len(self._counting) > _MOST_KNOWN_PODS:
                self._counting.clear()
            known = tuple(q for q in self._tallies if q.counts(pod, self.labels_of))
            self._counting[key] = known
        return known

    def _node_changed(self, change: Change) -> None:
        if self._tallies and not same_for_topologies(change):
            name = change.address[1]
            account = self._accounts.by_name.get(name)
            if _any_of(tally.settle(name, account) for tally in self._tallies.values()):
                self._tell(self.changed)

    def _namespace_changed(self, change: Change) -> None:
        name, after = change.address[1], change.after
        before = self.labels_of(name)
        self._namespaces.pop(name, None)
        if isinstance(after, Namespace):
            self._namespaces[name] = after.labels
        if self.labels_of(name) == before:
            return
        self._counting.clear()
        for tally in self._tallies.values():
            self._recount(tally)
        self._tell(self.opposed)
        self._tell(self.changed)

    def _recount(self, tally: Tally) -> None:
        for node, pods in tuple(tally.on.items()):
            tally.add(node, -pods)
        self._counted_anew(tally)

    def _counted_anew(self, tally: Tally) -> Tally:
        for account in self._accounts.by_name.values():
            there = sum(p.bound and tally.question.counts(p, self.labels_of) for p in account.pods.values())
            if there:
                tally.add(account.name, there)
        return tally

    @staticmethod
    def _tell(listeners: Iterable[Callable[[], None]]) -> None:
        for call in listeners:
            call()


def _any_of(done: Iterable[bool]) -> bool:
    """Return whether any of `done` is true, after all of it is done."""
    return any(list(done))


def _alike(one: Pod, other: Pod) -> bool:
    return (
        one.spec is other.spec
        and one.labels is other.labels
        and one.node_name == other.node_name
        and (one.deleting_since is None) == (other.deleting_since is None)
    )
