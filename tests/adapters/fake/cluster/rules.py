"""Where kube-scheduler would let a pod go, worked out from all pods and nodes each time it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from treenail.adapters.fake.cluster import FakeCluster
from treenail.domain.model.namespaces import NAME_LABEL, Namespace
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Expression, LabelSelector, Pod, PodAffinityTerm, TopologySpread
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.model.resources import total
from treenail.domain.model.taints import Effect, Taint, untolerated

CORDON = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)


class Rules:
    """The cluster as it stands, less one pod that has yet to go somewhere."""

    def __init__(self, cluster: FakeCluster, without: str) -> None:
        self.nodes = {node.name: node for node in cluster.nodes()}
        self.bound = [p for p in cluster.pods() if p.bound and p.uid != without]
        self._namespaces = {one.name: one.labels for one in cluster.objects(Namespace)}

    def open_to(self, pod: Pod) -> list[str]:
        """Return the nodes that `pod` may go to, by name."""
        return [name for name in sorted(self.nodes) if not self.broken(pod, name)]

    def broken(self, pod: Pod, name: str) -> list[str]:
        """Return what keeps `pod` off a node."""
        node = self.nodes[name]
        rules = {
            "state": node.deleting_since is None and _tolerated(pod, node),
            "selector": _chosen(pod, node),
            "room": self._has_room(pod, node),
            "ports": not any(
                _clash(one.port, other.port, one.protocol, other.protocol)
                for there in self._on(name)
                for other in there.spec.host_ports
                for one in pod.spec.host_ports
            ),
            "spread": all(self._even(pod, node, s) for s in pod.spec.spread if s.hard),
            "affinity": self._near(pod, node),
            "anti-affinity": not any(
                self._shares(node, there, t.topology_key) and self._selects(t, pod, there)
                for t in _required(pod, anti=True)
                for there in self.bound
            ),
            "anti-affinity of others": not any(
                self._shares(node, there, t.topology_key) and self._selects(t, there, pod)
                for there in self.bound
                for t in _required(there, anti=True)
            ),
        }
        return [rule for rule, holds in rules.items() if not holds]

    def _on(self, name: str) -> list[Pod]:
        return [there for there in self.bound if there.node_name == name]

    def _has_room(self, pod: Pod, node: Node) -> bool:
        used = total(there.spec.requests for there in self._on(node.name))
        return used.plus(pod.spec.requests).fits(node.allocatable)

    def _shares(self, node: Node, there: Pod, key: str) -> bool:
        """Return whether a pod is in the same domain of `key` as a node."""
        other = self.nodes.get(there.node_name)
        return other is not None and key in node.labels and other.labels.get(key) == node.labels[key]

    def _selects(self, term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
        """Return whether a term of `owner` selects `other`."""
        if term.selector is None or not term.selector.selects(other.labels):
            return False
        if not term.namespaces and term.namespace_selector is None:
            return owner.namespace == other.namespace
        if other.namespace in term.namespaces:
            return True
        named = self._namespaces.get(other.namespace, {NAME_LABEL: other.namespace})
        return term.namespace_selector is not None and term.namespace_selector.selects(named)

    def _near(self, pod: Pod, node: Node) -> bool:
        terms = _required(pod, anti=False)
        mates = [there for there in self.bound if all(self._selects(t, pod, there) for t in terms)]
        if any(term.topology_key not in node.labels for term in terms):
            return False
        if all(any(self._shares(node, there, t.topology_key) for there in mates) for t in terms):
            return True
        standing = any(
            term.topology_key in self.nodes[there.node_name].labels
            for there in mates
            if there.node_name in self.nodes
            for term in terms
        )
        return not standing and all(self._selects(term, pod, pod) for term in terms)

    def _even(self, pod: Pod, node: Node, spread: TopologySpread) -> bool:
        keys = [one.topology_key for one in pod.spec.spread if one.hard]
        counts = Counter(
            {
                other.labels[spread.topology_key]: 0
                for other in self.nodes.values()
                if all(key in other.labels for key in keys) and _counts(pod, other, spread)
            }
        )
        for there in self.bound:
            other = self.nodes.get(there.node_name)
            if other is None or not all(key in other.labels for key in keys):
                continue
            if _counts(pod, other, spread) and _alike(pod, there, spread):
                counts[other.labels[spread.topology_key]] += 1
        if spread.topology_key not in node.labels:
            return False
        least = min(counts.values(), default=0) if len(counts) >= (spread.min_domains or 1) else 0
        return counts[node.labels[spread.topology_key]] + _alike(pod, pod, spread) - least <= spread.max_skew


def _required(pod: Pod, *, anti: bool) -> list[PodAffinityTerm]:
    return [term for term in pod.spec.pod_affinity if term.weight is None and term.anti is anti]


def _tolerated(pod: Pod, node: Node) -> bool:
    taints: Iterable[Taint] = (*node.taints, *((CORDON,) if node.unschedulable else ()))
    hard = [taint for taint in taints if taint.effect is not Effect.PREFER_NO_SCHEDULE]
    return untolerated(hard, pod.spec.tolerations) is None


def _chosen(pod: Pod, node: Node) -> bool:
    there = Requirements.from_labels(node.labels)
    return any(there.compatible(wanted) for wanted in pod.spec.alternatives())


def _counts(pod: Pod, node: Node, spread: TopologySpread) -> bool:
    """Return whether a spread of `pod` looks at `node`, whose labels do."""
    if spread.honor_node_affinity and not _chosen(pod, node):
        return False
    return not spread.honor_node_taints or _tolerated(pod, node)


def _alike(pod: Pod, other: Pod, spread: TopologySpread) -> bool:
    """Return whether a spread of `pod` counts `other`."""
    if spread.selector is None or other.namespace != pod.namespace or other.deleting_since is not None:
        return False
    own: Mapping[str, str] = pod.labels
    keyed = (Expression(key, Operator.IN, (own[key],)) for key in spread.match_label_keys if key in own)
    return spread.selector.selects(other.labels) and LabelSelector((), tuple(keyed)).selects(other.labels)


def _clash(one: int, other: int, protocol: str, other_protocol: str) -> bool:
    return (one, protocol) == (other, other_protocol)
