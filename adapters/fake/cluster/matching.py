"""Selection of pods by topology terms, and of the nodes on which they count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.adapters.fake.cluster.accounts import NodeAccount
from treenail.adapters.fake.cluster.objects import Change
from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import UNSCHEDULABLE, Effect, Taint, Toleration, untolerated

# Gives the labels of a namespace by its name.
NamespaceLabels: TypeAlias = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods that `selector` selects, in the namespaces named and in those that `namespace_selector` selects.

    None selects nothing, as in the API.
    """

    selector: LabelSelector | None
    namespaces: tuple[str, ...]
    namespace_selector: LabelSelector | None = None

    @classmethod
    def of(cls, term: PodAffinityTerm, namespace: str) -> Selection:
        """Return what a term of a pod in `namespace` selects: pods in its own where it names none."""
        alone = not term.namespaces and term.namespace_selector is None
        names = (namespace,) if alone else tuple(sorted(term.namespaces))
        return cls(term.selector, names, term.namespace_selector)

    def selects(self, namespace: str, of: Mapping[str, str], labels_of: NamespaceLabels) -> bool:
        """Return whether it selects a pod with the labels `of` in `namespace`."""
        if self.selector is None or not self.selector.selects(of):
            return False
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.selects(labels_of(namespace))


@dataclass(frozen=True, slots=True)
class DomainTerm:
    """One term of affinity or anti-affinity: the pods it selects, by the domains of `key`."""

    selection: Selection
    key: str

    @classmethod
    def of(cls, term: PodAffinityTerm, namespace: str) -> DomainTerm:
        return cls(Selection.of(term, namespace), labels.normalized(term.topology_key))


def kept_apart(pod: Pod) -> tuple[DomainTerm, ...]:
    """Return the required anti-affinity of a pod."""
    return tuple(
        DomainTerm.of(term, pod.namespace)
        for term in pod.spec.pod_affinity
        if term.anti and term.weight is None
    )


@dataclass(frozen=True, slots=True)
class Selected:
    """The pods that all of `selections` select; those that are terminating only where `leaving` is set."""

    selections: tuple[Selection, ...]
    leaving: bool = True

    def counts(self, pod: Pod, labels_of: NamespaceLabels) -> bool:
        if pod.deleting_since is not None and not self.leaving:
            return False
        return all(one.selects(pod.namespace, pod.labels, labels_of) for one in self.selections)


@dataclass(frozen=True, slots=True)
class Owners:
    """The pods whose required anti-affinity has `term`."""

    term: DomainTerm

    def counts(self, pod: Pod, labels_of: NamespaceLabels) -> bool:
        del labels_of
        return self.term in kept_apart(pod)


Question: TypeAlias = Selected | Owners


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """The nodes a spread looks at: those with all of its keys, and those its policies let count.

    Those meet one of `alternatives`, and the pods tolerate their taints; None of either lets all count.
    """

    keys: tuple[str, ...] = ()
    alternatives: tuple[Requirements, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def counts(self, account: NodeAccount, node: Node) -> bool:
        """Return whether the node of `account` counts."""
        if any(key not in node.labels for key in self.keys):
            return False
        if self.alternatives is not None and not any(map(account.described.compatible, self.alternatives)):
            return False
        if self.tolerations is None:
            return True
        marks = (UNSCHEDULABLE,) if node.unschedulable else ()
        return untolerated((*marks, *repelling(node)), self.tolerations) is None


EVERY_NODE: Final = NodeFilter()


def repelling(node: Node) -> tuple[Taint, ...]:
    """Return the taints of a node that keep pods off."""
    return tuple(taint for taint in node.taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)


def same_for_topologies(change: Change) -> bool:
    """Return whether a change of a node says nothing about what is counted on it."""
    before, after = change.before, change.after
    if not isinstance(before, Node) or not isinstance(after, Node):
        return False
    return (
        before.unschedulable == after.unschedulable
        and before.taints == after.taints
        and (before.labels is after.labels or before.labels == after.labels)
    )
