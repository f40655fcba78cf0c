"""The domains there are, by topology key: what pools may make, and what nodes are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from tests.fuzz.check.homes import NewNode, Node
from tests.fuzz.check.label_values import Allowed, Term
from tests.fuzz.check.pods import Shape, Spread
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.taints import first_refused

Written: TypeAlias = Mapping[str, Any]


class Domains:
    """Finds the domains that a spread constraint is taken over."""

    def __init__(self, scenario: Scenario) -> None:
        self._nodes: list[Node] = list(scenario.nodes.values())
        self._scenario = scenario
        self._known: dict[tuple[str, str, tuple[Term, ...]], set[str]] = {}

    @cached_property
    def _to_come(self) -> list[NewNode]:
        """All that a new node of each pool may be."""
        pools = self._scenario.pools.values()
        return [pool.new_node("to come", self._scenario.catalogue, {}) for pool in pools]

    def of(self, owner: Shape, spread: Spread) -> list[str]:
        """Return the domains of a constraint, whatever the owner's own demand on that label; sorted."""
        terms = tuple(owner.terms) if spread.honor_affinity else ((),)
        made = {
            domain
            for node in self._to_come
            if not spread.honor_taints or _tolerates(owner, node.taints)
            for domain in self._made(node, spread.key, terms)
        }
        there = {
            node.labels[spread.key]
            for node in self._nodes
            if spread.key in node.labels
            and (not spread.honor_affinity or node.meets(owner.terms))
            and (not spread.honor_taints or _tolerates(owner, node.taints))
        }
        return sorted(made | there)

    def _made(self, node: NewNode, key: str, terms: tuple[Term, ...]) -> set[str]:
        """Return the values that a label of a new node may have if it meets one of the terms."""
        known = self._known.get((node.pool, key, terms))
        if known is None:
            known = self._known[node.pool, key, terms] = set()
            for labels in (way.labels for way in node.ways):
                if any(_may_meet(term, labels, node.unsettled) for term in terms):
                    known |= {labels[key]} if key in labels else _listed(node.unsettled.get(key))
        return known


def _may_meet(term: Term, labels: Mapping[str, str], unsettled: Mapping[str, Allowed]) -> bool:
    return all(
        unsettled[key].shares(values) if key in unsettled else values.has(labels.get(key))
        for key, values in term
    )


def _listed(values: Allowed | None) -> frozenset[str]:
    return frozenset() if values is None or values.others else values.listed


def _tolerates(owner: Shape, taints: Sequence[Written]) -> bool:
    return first_refused(owner.tolerations, taints) is None
