"""Topology terms: spread, affinity, anti-affinity and host ports, each with all that tells it from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.pods import HostPort, LabelSelector, PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import Effect, Toleration, TolerationOperator

# Of a pod that has given up its preferences, or looks past them.
PUT_UP_WITH_PREFERENCES: Final = Toleration(
    operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE
)


class TermKind(Enum):
    """The kind of restriction by a term."""

    SPREAD = auto()
    TOGETHER = auto()
    APART = auto()


@dataclass(frozen=True, slots=True)
class NodeInclusion:
    """The nodes a spread counts: those that meet one of `alternatives`, and whose taints are tolerated.

    Where a field is None, it excludes no node.
    """

    alternatives: tuple[Requirements, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None


EVERYWHERE = NodeInclusion()


@dataclass(frozen=True, slots=True)
class Term:
    """One topology constraint by all that matters to counting. Equal terms of different pods share a group.

    `namespaces` are resolved and sorted. With `port` it is the claim to a host port: it is then anti-affinity
    per node to all pods with a conflicting port, which no selector could say.
    """

    kind: TermKind
    key: str
    namespaces: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    max_skew: int = 0
    min_domains: int = 0
    nodes: NodeInclusion = EVERYWHERE
    port: HostPort | None = None

    @property
    def per_node(self) -> bool:
        """True if every node is a domain of its own."""
        return self.key == labels.HOSTNAME

    def selects(self, namespace: str, of: Mapping[str, str]) -> bool:
        """Return whether a pod of these labels counts."""
        # As in Kubernetes, no selector selects nobody, and an empty one everybody.
        if self.selector is None or namespace not in self.namespaces:
            return False
        return self.selector.selects(of)

    def conflicts(self, port: HostPort) -> bool:
        """Return whether the claim to a host port excludes `port` on the same node."""
        return self.port is not None and ports_conflict(self.port, port)


_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 (to be compared with, not bound to)


def ports_conflict(one: HostPort, other: HostPort) -> bool:
    """Return whether two pods cannot have these ports on one node."""
    # The kubelet binds per protocol; an unspecified address takes the port on all addresses.
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    return one.ip == other.ip or bool(_ANY_ADDRESS & {one.ip, other.ip})


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a pod: the required ones, host ports among them, and the preferred ones.

    Preferred terms are in the order in which they are given up.
    """

    hard: tuple[Term, ...] = ()
    wished_pods: tuple[Term, ...] = ()
    wished_spread: tuple[Term, ...] = ()


NO_TERMS = Terms()


class TermReader:
    """Reads the terms of pods; `namespaces` are the labels of namespaces, by name."""

    def __init__(self, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._namespaces = namespaces

    def read(self, spec: PodSpec, namespace: str, of: Mapping[str, str]) -> Terms:
        """Return the terms of a pod with the labels `of`."""
        if not (spec.spread or spec.pod_affinity or spec.host_ports):
            return NO_TERMS
        hard = [self.affinity(t, namespace) for t in spec.pod_affinity if t.weight is None]
        hard += [spread_term(s, spec, namespace, of) for s in spec.spread if s.hard]
        hard += [Term(TermKind.APART, labels.HOSTNAME, port=port) for port in spec.host_ports]
        wished = [t for t in spec.pod_affinity if t.weight is not None]
        # Preferences to be together are given up before preferences to be apart, the heaviest first.
        # Sorting is stable: of equal weights the first in the manifest goes first.
        wished.sort(key=lambda t: (t.anti, -(t.weight or 0)))
        return Terms(
            hard=tuple(dict.fromkeys(hard)),
            wished_pods=tuple(self.affinity(t, namespace) for t in wished),
            wished_spread=tuple(spread_term(s, spec, namespace, of) for s in spec.spread if not s.hard),
        )

    def affinity(self, term: PodAffinityTerm, namespace: str) -> Term:
        """Return an affinity term of a pod in `namespace`."""
        named = set(term.namespaces)
        if term.namespace_selector is not None:
            # Resolved when the problem is read, in union with the names: labels of namespaces do not change
            # meanwhile.
            named.update(n for n, of in self._namespaces.items() if term.namespace_selector.selects(of))
        # As in Kubernetes: the pod's own namespace only where neither names nor a selector are given.
        elif not named:
            named.add(namespace)
        kind = TermKind.APART if term.anti else TermKind.TOGETHER
        return Term(kind, labels.normalized(term.topology_key), tuple(sorted(named)), term.selector)


def spread_term(spread: TopologySpread, spec: PodSpec, namespace: str, of: Mapping[str, str]) -> Term:
    """Return a spread constraint of a pod with the labels `of`."""
    nodes = NodeInclusion(
        # None looks at all nodes: pods that choose no nodes share their group with those whose policy ignores
        # it.
        spec.alternatives() if spread.honor_node_affinity and _chooses_nodes(spec) else None,
        # A taint that only says prefer keeps no pod away for good, so it hides no node from the spread.
        (*spec.tolerations, PUT_UP_WITH_PREFERENCES) if spread.honor_node_taints else None,
    )
    return Term(
        TermKind.SPREAD,
        labels.normalized(spread.topology_key),
        (namespace,),
        # Pods of two revisions get two terms: each revision is spread by itself.
        spread.selector and spread.selector.of_pod(of, spread.match_label_keys),
        max_skew=spread.max_skew,
        min_domains=spread.min_domains or 0,
        nodes=nodes,
    )


def _chooses_nodes(spec: PodSpec) -> bool:
    return bool(spec.node_selector or spec.node_affinity.required)
