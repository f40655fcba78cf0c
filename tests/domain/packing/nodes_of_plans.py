"""The nodes of a plan, those that are there and those to be bought, with the pods on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import ge, gt, le, lt

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.labels import WELL_KNOWN
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import Expression, Pod, PodSpec
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator, untolerated
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, Problem, Resident

EVERY_PREFERENCE = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE)


@dataclass(frozen=True)
class PlannedNode:
    """A node and who is on it. `may_be` are the labels it may come up with: one choice, if it is there."""

    name: str
    may_be: tuple[Mapping[str, str], ...]
    taints: tuple[Taint, ...]
    pods: tuple[Pod, ...] = ()
    residents: tuple[tuple[Resident, int], ...] = ()
    existing_node: ExistingNode | None = None

    @cached_property
    def _domains(self) -> dict[str, frozenset[str]]:
        return {}

    def domains(self, key: str) -> frozenset[str]:
        """Return the values its label `key` may have; every node is a host of its own."""
        if key == labels.HOSTNAME:
            return frozenset((self.name,))
        if key not in self._domains:
            self._domains[key] = frozenset(node[key] for node in self.may_be if key in node)
        return self._domains[key]

    def domain(self, key: str) -> str | None:
        """Return the value its label `key` has for sure, if there is one."""
        domains = self.domains(key)
        return next(iter(domains)) if len(domains) == 1 else None


def nodes_of(problem: Problem, plan: PackingPlan) -> list[PlannedNode]:
    """Return all nodes there will be, the empty ones included."""
    pods = {pod.uid: pod for pod in problem.pods}
    inside: dict[str, list[Pod]] = {}
    for uid, name in plan.nominations.items():
        inside.setdefault(name, []).append(pods[uid])
    nodes = [
        PlannedNode(r.name, (r.labels,), r.taints, tuple(inside.get(r.name, ())), r.residents, r)
        for r in problem.existing_nodes
    ]
    for number, claim in enumerate(plan.claims):
        offer = next(o for o in problem.offers if o.pool.name == claim.pool)
        known = {t.name: t for t in offer.instance_types}
        may_be = tuple(
            node
            for name in claim.instance_types
            for node in possible_nodes(offer.pool, known[name], claim.requirements)
        )
        members = tuple(pods[uid] for uid in claim.pods)
        nodes.append(PlannedNode(f"claim {number}", may_be, offer.pool.taints, members))
    return nodes


def possible_nodes(
    pool: NodePool, instance_type: InstanceType, requirements: Requirements
) -> Iterator[Mapping[str, str]]:
    """Yield the labels a node may come up with: of each offering, of the values the pool leaves open."""
    own = {key: r.single for key, r in instance_type.requirements.items() if r.single is not None}
    left_open = {
        key: _values(r)
        for key, r in requirements.items()
        if _values(r) and key not in WELL_KNOWN and key not in pool.node_labels
    }
    for offering in instance_type.offerings:
        for values in product(*left_open.values()):
            node = {
                labels.HOSTNAME: "of a node to be bought",
                **own,
                **_sold_as(offering),
                **pool.node_labels,
                **dict(zip(left_open, values, strict=True)),
            }
            if offering.available and Requirements.from_labels(node).compatible(requirements):
                yield node


def _values(requirement: Requirement) -> list[str]:
    """Return the values a label may get: all that are listed, or some of those that are not excluded."""
    if not requirement.complement:
        return sorted(requirement.values)
    some = ("a", "b", "7", str(requirement.at_least), str(requirement.at_most))
    return [value for value in some if value != "None" and requirement.has(value)]


def _sold_as(offering: Offering) -> dict[str, str]:
    return {labels.ZONE: offering.zone, labels.CAPACITY_TYPE: offering.capacity_type}


def tolerates(taints: Iterable[Taint], spec: PodSpec) -> bool:
    """Return whether a pod may run beside these taints, wishes left aside."""
    return untolerated(taints, (*spec.tolerations, EVERY_PREFERENCE)) is None


def asks_for(spec: PodSpec, node: Mapping[str, str]) -> bool:
    """Return whether a node with these labels has what the pod requires."""
    return any(meets(asked, node) for asked in required(spec))


def required(spec: PodSpec) -> list[tuple[Expression, ...]]:
    """Return what the pod requires of labels: alternatives, each to be met as a whole."""
    selected = tuple(Expression(key, Operator.IN, (value,)) for key, value in spec.node_selector)
    return [(*selected, *term) for term in spec.node_affinity.required or ((),)]


def meets(asked: Iterable[Expression], node: Mapping[str, str]) -> bool:
    """Return whether a node with these labels is all that is asked."""
    return all(_met(expression, node) for expression in asked)


def _met(expression: Expression, node: Mapping[str, str]) -> bool:
    return allows(expression, node.get(expression.key))


def allows(expression: Expression, value: str | None) -> bool:
    """Return whether a label may have this value; None is not to be there."""
    match expression.operator:
        case Operator.IN:
            return value in expression.values
        case Operator.NOT_IN:
            return value not in expression.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case _:
            return value is not None and _within(int(value), expression.operator, int(expression.values[0]))


def _within(value: int, operator: Operator, bound: int) -> bool:
    compare = {Operator.GT: gt, Operator.LT: lt, Operator.GTE: ge, Operator.LTE: le}
    holds: bool = compare[operator](value, bound)
    return holds
