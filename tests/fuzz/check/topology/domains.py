"""The domains there are, by topology key: what pools may make, and what nodes are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tests.fuzz.check.homes import Node
from tests.fuzz.check.pods import Shape, Spread
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.taints import first_refused

Written: TypeAlias = Mapping[str, Any]


class Domains:
    """Finds the domains that a spread constraint is taken over."""

    def __init__(self, scenario: Scenario) -> None:
        self._nodes: list[Node] = list(scenario.nodes.values())
        self._scenario = scenario
        # By key: domains, with the taints of the pools that may make each.
        self._made: dict[str, dict[str, list[tuple[Written, ...]]]] = {}
        for key, domain, taints in self._of_pools():
            self._made.setdefault(key, {}).setdefault(domain, []).append(taints)

    def _of_pools(self) -> Iterator[tuple[str, str, tuple[Written, ...]]]:
        types = self._scenario.catalogue.values()
        keys = {key for one in types for offering in one.offerings for key in offering.labels}
        for pool in self._scenario.pools.values():
            for key in keys:
                offered = {value for one in types for value in one.values(key)}
                lines = pool.lines.get(key)
                for value in offered:
                    if lines is None or lines.has(value):
                        yield key, value, pool.taints
            for key, values in pool.lines.items():
                if key not in keys and not values.others:
                    for value in values.listed:
                        yield key, value, pool.taints

    def of(self, owner: Shape, spread: Spread) -> list[str]:
        """Return the domains of a constraint, whatever the owner's own demand on that label; sorted."""
        made = {
            domain
            for domain, makers in self._made.get(spread.key, {}).items()
            if not spread.honor_taints or any(_tolerates(owner, taints) for taints in makers)
        }
        there = {
            node.labels[spread.key]
            for node in self._nodes
            if spread.key in node.labels
            and (not spread.honor_affinity or node.meets(owner.terms))
            and (not spread.honor_taints or _tolerates(owner, node.taints))
        }
        return sorted(made | there)


def _tolerates(owner: Shape, taints: tuple[Written, ...]) -> bool:
    return first_refused(owner.tolerations, taints) is None
