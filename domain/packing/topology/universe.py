"""The domains a topology may have: those of nodes that are there, and of nodes that could be bought."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.packing.problem import Room
from treenail.domain.packing.templates import Templates
from treenail.domain.packing.topology.groups import Group
from treenail.domain.requirements import Requirement
from treenail.domain.taints import Taint, untolerated


class Universe:
    """The domains of each topology key, and for each group those it is measured over."""

    def __init__(self, templates: Templates, rooms: Sequence[Room]) -> None:
        self._templates = templates
        self._rooms = rooms
        self._new: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._of: dict[tuple[int, Requirement | None], tuple[str, ...]] = {}

    def new(self, key: str) -> dict[str, list[tuple[Taint, ...]]]:
        """Return the values that new nodes may have for the label `key`, and the taints they then have."""
        if key not in self._new:
            found: dict[str, list[tuple[Taint, ...]]] = {}
            for index in range(len(self._templates)):
                taints = self._templates.offer(index).pool.taints
                for value in self.of_pool(index, key):
                    found.setdefault(value, []).append(taints)
            self._new[key] = {value: found[value] for value in sorted(found)}
        return self._new[key]

    def of_pool(self, index: int, key: str) -> list[str]:
        """Return, sorted, the values that new nodes of the template `index` may have for the label `key`."""
        own = self._templates.requirements(index).get(key)
        values = set(self._templates.shelf(index).masks.values(key))
        if own is None:
            return sorted(values)
        listed = set() if own.complement else set(own.values)
        # A type that does not know the label gets it from the pool.
        return sorted({value for value in values if own.has(value)} | (listed if not values else set()))

    def of(self, group: Group, within: Requirement | None) -> tuple[str, ...]:
        """Return the domains that `group` is measured over for a pod that requires `within` of them."""
        known = self._of.get((group.index, within))
        if known is None:
            known = self._of[group.index, within] = self._measured(group, within)
        return known

    def _measured(self, group: Group, within: Requirement | None) -> tuple[str, ...]:
        key, tolerations = group.term.key, group.term.nodes.tolerations
        found = {
            value
            for value, taints in self.new(key).items()
            if tolerations is None or any(untolerated(one, tolerations) is None for one in taints)
        }
        found |= {
            room.labels[key]
            for at, room in enumerate(self._rooms)
            if key in room.labels and (not group.seen or group.seen[at])
        }
        return tuple(sorted(value for value in found if within is None or within.has(value)))
