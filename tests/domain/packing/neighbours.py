"""Do the pods of a plan get on with each other? Decided pod by pod, on the nodes as they are in the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.domain.packing.nodes_of_plans import PlannedNode, allows, meets, required, tolerates
from treenail.domain.model import labels
from treenail.domain.model.pods import (
    Expression,
    HostPort,
    LabelSelector,
    Pod,
    PodAffinityTerm,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.packing.problem import PoolOffer, Problem

NAMESPACE_NAME = "kubernetes.io/metadata.name"
ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (to be compared with, not bound to)


@dataclass(frozen=True)
class Selection:
    """Some pods: of these namespaces, with labels that the selector selects. No selector selects none."""

    namespaces: frozenset[str]
    selector: LabelSelector | None

    def has(self, namespace: str, of: Mapping[str, str]) -> bool:
        within = self.selector is not None and namespace in self.namespaces
        return within and self.selector is not None and self.selector.selects(of)


class Neighbours:
    """All nodes of a plan, and what pods ask about others on them."""

    def __init__(self, problem: Problem, nodes: Sequence[PlannedNode]) -> None:
        self._problem = problem
        self._nodes = nodes
        self._namespaces = _namespaces(problem)

    def faults(self) -> Iterator[str]:
        """Yield whatever is wrong in the end, in whichever order pods came."""
        for node in self._nodes:
            yield from self._ports(node)
            for pod in node.pods:
                for term in pod.spec.pod_affinity:
                    if term.anti and term.weight is None and self._too_near(pod, term, node):
                        yield f"{pod.uid} on {node.name} is too near to others: {term}"
                for spread in pod.spec.spread:
                    if spread.hard and not self._even_in_the_end(pod, spread, node):
                        yield f"{pod.uid} on {node.name} is crowded: {spread}"
                yield from self._kept_off_by_residents(pod, node)
        yield from self._without_colocated()

    def welcome(self, pod: Pod, node: PlannedNode) -> bool:
        """Return whether `pod` could come to `node` (one it is not on) with all others where they are."""
        others = [p for n in self._nodes if n.name == node.name for p in n.pods]
        taken = [port for other in others for port in other.spec.host_ports]
        taken += [port for resident, _ in node.residents for port in resident.host_ports]
        if any(conflict(mine, theirs) for mine in pod.spec.host_ports for theirs in taken):
            return False
        hard = [t for t in pod.spec.pod_affinity if t.weight is None]
        if any(t.anti and (not node.domains(t.topology_key) or self._too_near(pod, t, node)) for t in hard):
            return False
        if self._kept_off(pod, node):
            return False
        if not all(self._even_now(pod, s, node) for s in pod.spec.spread if s.hard):
            return False
        return all(t.anti or self._colocated_with(pod, t, node, ()) for t in hard)

    # --- keeping apart

    def _too_near(self, pod: Pod, term: PodAffinityTerm, node: PlannedNode) -> bool:
        selection = self.selection(term, pod.namespace)
        return any(
            other.uid != pod.uid and selection.has(other.namespace, other.labels)
            for near in self._near(node, term.topology_key)
            for other in near.pods
        ) or any(
            not resident.leaving and selection.has(resident.namespace, dict(resident.labels))
            for near in self._near(node, term.topology_key)
            for resident, _ in near.residents
        )

    def _kept_off_by_residents(self, pod: Pod, node: PlannedNode) -> Iterator[str]:
        for other in self._nodes:
            for resident, _ in other.residents:
                for term in () if resident.leaving else resident.anti_affinity:
                    near = other.domains(term.topology_key) & node.domains(term.topology_key)
                    if near and self.selection(term, resident.namespace).has(pod.namespace, pod.labels):
                        yield f"{pod.uid} on {node.name} is kept off by a pod on {other.name}: {term}"

    def _kept_off(self, pod: Pod, node: PlannedNode) -> bool:
        """Return whether others keep `pod` off. Where a node lacks their label, even those nowhere yet do."""
        for other in self._nodes:
            for namespace, term in _kept_apart(other):
                if self.selection(term, namespace).has(pod.namespace, pod.labels):
                    own = node.domains(term.topology_key)
                    if not own or own & other.domains(term.topology_key):
                        return True
        return any(
            not node.domains(term.topology_key)
            and self.selection(term, namespace).has(pod.namespace, pod.labels)
            for one in self._problem.pods
            for namespace, term in _hard_apart(one)
        )

    def _near(self, node: PlannedNode, key: str) -> list[PlannedNode]:
        return [other for other in self._nodes if other.domains(key) & node.domains(key)]

    # --- being together

    def _without_colocated(self) -> Iterator[str]:
        """Put pods down one by one where they are: none may come before those it must be near."""
        everybody = [(pod, node) for node in self._nodes for pod in node.pods]
        waiting = [(pod, node) for pod, node in everybody if _seeks_company(pod)]
        waiting.sort(key=lambda pair: (-self._reach(pair[0]), pair[0].uid))
        begun: list[str] = []
        while waiting:
            absent = [pod.uid for pod, _ in waiting]
            came = [pair for pair in waiting if self._all_in_company(*pair, absent, beginning=False)]
            if not came:
                # Those that begin may have come before all others.
                later = [pod.uid for pod, _ in everybody if pod.uid not in begun]
                came = [p for p in waiting if self._all_in_company(*p, later, beginning=True)][:1]
                begun += [pod.uid for pod, _ in came]
            if not came:
                yield f"{absent} are not with those they must be near"
                return
            waiting = [pair for pair in waiting if pair not in came]

    def _all_in_company(self, pod: Pod, node: PlannedNode, absent: Sequence[str], *, beginning: bool) -> bool:
        terms = [t for t in pod.spec.pod_affinity if not t.anti and t.weight is None]
        return all(self._colocated_with(pod, t, node, absent, beginning=beginning) for t in terms)

    def _colocated_with(
        self,
        pod: Pod,
        term: PodAffinityTerm,
        node: PlannedNode,
        absent: Sequence[str],
        *,
        beginning: bool = True,
    ) -> bool:
        key = term.topology_key
        at = node.domain(key)
        if at is None:
            return False
        selection = self.selection(term, pod.namespace)
        held: set[str] = set()
        for other in self._nodes:
            here = other.domain(key)
            if here is not None and self._has_any(other, selection, absent):
                held.add(here)
        if at in held:
            return True
        # The first of those that must be near their like may choose where.
        mine = selection.has(pod.namespace, pod.labels)
        return (
            beginning
            and mine
            and any(not (held & self._within(held, asked, key)) for asked in required(pod.spec))
        )

    def _has_any(self, node: PlannedNode, selection: Selection, absent: Sequence[str]) -> bool:
        return any(
            pod.uid not in absent and selection.has(pod.namespace, pod.labels) for pod in node.pods
        ) or any(
            not resident.leaving and selection.has(resident.namespace, dict(resident.labels))
            for resident, _ in node.residents
        )

    def _reach(self, pod: Pod) -> int:
        keys = {t.topology_key for t in pod.spec.pod_affinity}
        return sum(
            len(self._within(self._domains(key), asked, key)) for key in keys for asked in required(pod.spec)
        )

    def _domains(self, key: str) -> set[str]:
        return {domain for node in self._nodes for domain in node.domains(key)}

    @staticmethod
    def _within(domains: Iterable[str], asked: Iterable[Expression], key: str) -> set[str]:
        own = [e for e in asked if labels.normalized(e.key) == key]
        return {domain for domain in domains if all(allows(e, domain) for e in own)}

    # --- spreading

    def _even_in_the_end(self, pod: Pod, spread: TopologySpread, node: PlannedNode) -> bool:
        """Return whether there is an order in which the last of the pods with this constraint could come.

        Pods that it counts, and that do not have it, may have come after.
        """
        at = node.domain(spread.topology_key)
        if at is None:
            return False
        selection = self._spread_selection(pod, spread)
        held = 0
        for other in self._nodes:
            if other.domain(spread.topology_key) == at and self._looked_at(pod, spread, other, surely=True):
                held += _residents(other, selection)
                held += sum(self._bound_by(p, pod, spread) for p in other.pods)
        if spread.topology_key == labels.HOSTNAME:
            return held <= spread.max_skew
        most = self._counts(pod, spread, selection, surely=False)
        return any(
            held - self._least(pod, spread, asked, most) <= spread.max_skew
            for asked in required(pod.spec)
            if all(meets(asked, labels_) for labels_ in node.may_be)
        )

    def _even_now(self, pod: Pod, spread: TopologySpread, node: PlannedNode) -> bool:
        at = node.domain(spread.topology_key)
        if at is None:
            return False
        selection = self._spread_selection(pod, spread)
        one = 1 if selection.has(pod.namespace, pod.labels) else 0
        most = self._counts(pod, spread, selection, surely=False)
        if spread.topology_key == labels.HOSTNAME:
            return most.get(at, 0) + one <= spread.max_skew
        sure = self._counts(pod, spread, selection, surely=True)
        return all(
            most.get(at, 0) + one - self._least(pod, spread, asked, sure) <= spread.max_skew
            for asked in required(pod.spec)
            if all(meets(asked, labels_) for labels_ in node.may_be)
        )

    def _counts(
        self, pod: Pod, spread: TopologySpread, selection: Selection, *, surely: bool
    ) -> dict[str, int]:
        """Return how many pods count in each domain; those of which it is not sure only if not `surely`."""
        counts: dict[str, int] = {}
        for node in self._nodes:
            domains = node.domains(spread.topology_key)
            if (surely and len(domains) != 1) or not self._looked_at(pod, spread, node, surely=surely):
                continue
            count = _residents(node, selection)
            count += sum(selection.has(p.namespace, p.labels) for p in node.pods)
            for domain in domains:
                counts[domain] = counts.get(domain, 0) + count
        return counts

    def _least(
        self, pod: Pod, spread: TopologySpread, asked: Sequence[Expression], counts: Mapping[str, int]
    ) -> int:
        key = spread.topology_key
        found: set[str] = set()
        for offer in self._problem.offers:
            taints = offer.pool.taints
            if not spread.honor_node_taints or tolerates(taints, pod.spec):
                chosen = required(pod.spec) if spread.honor_node_affinity else ((),)
                found |= {domain for one in chosen for domain in _sold_in(offer, key, one)}
        for node in self._nodes:
            if node.existing_node is not None and self._looked_at(pod, spread, node, surely=True):
                found |= node.domains(key)
        measured = self._within(found, asked, key)
        if len(measured) < (spread.min_domains or 0):
            return 0
        return min((counts.get(domain, 0) for domain in measured), default=0)

    def _looked_at(self, pod: Pod, spread: TopologySpread, node: PlannedNode, *, surely: bool) -> bool:
        if spread.honor_node_taints and not tolerates(node.taints, pod.spec):
            return False
        chooses = pod.spec.node_selector or pod.spec.node_affinity.required
        if not spread.honor_node_affinity or not chooses:
            return True
        met = (any(meets(asked, own) for asked in required(pod.spec)) for own in node.may_be)
        return all(met) if surely else any(met)

    def _bound_by(self, other: Pod, pod: Pod, spread: TopologySpread) -> bool:
        """Return whether a pod is counted by, and held to, what another is (or itself), on the same nodes."""
        selection = self._spread_selection(pod, spread)
        if not selection.has(other.namespace, other.labels) or not selection.has(pod.namespace, pod.labels):
            return False
        if required(other.spec) != required(pod.spec) or other.spec.tolerations != pod.spec.tolerations:
            return False
        return spread in other.spec.spread and self._spread_selection(other, spread) == selection

    # --- who is meant

    def selection(self, term: PodAffinityTerm, namespace: str) -> Selection:
        """Return whom a term means that a pod in `namespace` has."""
        named = set(term.namespaces)
        if term.namespace_selector is not None:
            named |= {n for n, of in self._namespaces.items() if term.namespace_selector.selects(of)}
        elif not named:
            named = {namespace}
        return Selection(frozenset(named), term.selector)

    @staticmethod
    def _spread_selection(pod: Pod, spread: TopologySpread) -> Selection:
        selector = spread.selector
        if selector is not None:
            keys = [key for key in spread.match_label_keys if key in pod.labels]
            more = tuple(Expression(key, Operator.IN, (pod.labels[key],)) for key in keys)
            selector = replace(selector, expressions=(*selector.expressions, *more))
        return Selection(frozenset((pod.namespace,)), selector)

    @staticmethod
    def _ports(node: PlannedNode) -> Iterator[str]:
        taken = [port for resident, _ in node.residents for port in resident.host_ports]
        for pod in node.pods:
            if any(conflict(mine, theirs) for mine in pod.spec.host_ports for theirs in taken):
                yield f"{pod.uid} wants a port of {node.name} that is taken"
            taken += pod.spec.host_ports


def _namespaces(problem: Problem) -> dict[str, Mapping[str, str]]:
    named = {pod.namespace for pod in problem.pods}
    named |= {
        resident.namespace
        for existing_node in problem.existing_nodes
        for resident, _ in existing_node.residents
    }
    return {name: {NAMESPACE_NAME: name} for name in named} | dict(problem.namespaces)


def _residents(node: PlannedNode, selection: Selection) -> int:
    return sum(
        count
        for resident, count in node.residents
        if not resident.leaving and selection.has(resident.namespace, dict(resident.labels))
    )


def _seeks_company(pod: Pod) -> bool:
    return any(not term.anti and term.weight is None for term in pod.spec.pod_affinity)


def _kept_apart(node: PlannedNode) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Yield what pods on a node require to be apart from, each with the namespace of the pod."""
    for pod in node.pods:
        yield from _hard_apart(pod)
    for resident, _ in node.residents:
        for term in () if resident.leaving else resident.anti_affinity:
            yield resident.namespace, term


def _hard_apart(pod: Pod) -> Iterator[tuple[str, PodAffinityTerm]]:
    for term in pod.spec.pod_affinity:
        if term.anti and term.weight is None:
            yield pod.namespace, term


def _sold_in(offer: PoolOffer, key: str, asked: Iterable[Expression]) -> set[str]:
    """Return the values of a label that nodes of the pool may have that are as they are asked to be."""
    wanted = Requirements(expression.requirement() for expression in asked)
    if not offer.pool.template_requirements().compatible(wanted, may_be_undefined=labels.LEFT_OPEN):
        return set()
    together = offer.pool.template_requirements().with_(wanted)
    found: set[str] = set()
    for instance_type in offer.instance_types:
        if instance_type.requirements.intersects(together):
            own, theirs = together.get(key), instance_type.requirements.get(key)
            either = theirs if own is None else own if theirs is None else own.intersection(theirs)
            if either is not None and not either.complement:
                found |= either.values
    return found


def conflict(one: HostPort, other: HostPort) -> bool:
    """Return whether only one of two ports can be had on a node."""
    same = (one.port, one.protocol) == (other.port, other.protocol)
    return same and (one.ip == other.ip or one.ip in ANY_ADDRESS or other.ip in ANY_ADDRESS)


def sociable(problem: Problem) -> bool:
    """Return whether any pod asks anything about others."""
    specs = [pod.spec for pod in problem.pods]
    asked = any(spec.spread or spec.pod_affinity or spec.host_ports or spec.volumes for spec in specs)
    return asked or any(
        one.anti_affinity or one.host_ports
        for existing_node in problem.existing_nodes
        for one, _ in existing_node.residents
    )


def bound_by_others(problem: Problem, pod: Pod) -> bool:
    """Return whether it matters to a pod, or to others for its sake, where others are."""
    if pod.spec.spread or pod.spec.pod_affinity or pod.spec.host_ports:
        return True
    asked = [term for one in problem.pods for term in _hard_apart(one)]
    for existing_node in problem.existing_nodes:
        asked += [(one.namespace, term) for one, _ in existing_node.residents for term in one.anti_affinity]
    known = Neighbours(problem, ())
    return any(known.selection(term, of).has(pod.namespace, pod.labels) for of, term in asked)
