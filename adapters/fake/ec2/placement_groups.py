"""The placement groups of an account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from treenail.adapters.api.account import PlacementGroup
from treenail.adapters.fake.ec2.network import digits
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef

_RACKS: Final = 7


class PlacementGroups:
    """The placement groups of the account. Any group that is asked for exists, unless it was deleted.

    Once `know` has been called, only the groups it was given exist. Groups hold any number of instances.
    """

    def __init__(self) -> None:
        self._known: dict[str, PlacementGroup] | None = None
        self._made: Counter[str] = Counter()
        self._deleted: dict[str, None] = {}
        self._partitions: dict[str, int] = {}
        self._spread: dict[str, None] = {}

    def make(self, name: str, *, partitions: int = 0, spread: bool = False) -> PlacementGroupRef:
        """Make a placement group, in place of one of that name, and return it.

        It has so many `partitions`, or is `spread` over racks, of which a zone has seven.
        """
        self._deleted.pop(name, None)
        self._made[name] += 1
        self._partitions[name] = partitions
        if spread:
            self._spread[name] = None
        return self._named(name)

    def know(self, groups: Iterable[PlacementGroup]) -> None:
        """Make these the only groups there are."""
        self._known = {}
        for one in groups:
            self._known[one.name] = one
            self.make(one.name, partitions=one.partitions, spread=one.spread)

    def partitions(self, group: PlacementGroupRef) -> int:
        """Return how many partitions a group has, 0 where it is not parted."""
        return self._partitions.get(group.name, 0)

    def most_in_a_zone(self, group: PlacementGroupRef) -> int | None:
        """Return how many instances a group holds in each zone, None where nothing bounds that."""
        return _RACKS if group.name in self._spread else None

    def delete(self, name_or_id: str) -> None:
        """Have a group there no more."""
        self._deleted[name_or_id] = None

    def of(self, node_class: NodeClass) -> PlacementGroupRef:
        """Return the group that a node class's instances are launched into, as far as it says so.

        Raises:
            NodeClassNotReadyError: there is no such group.
        """
        term = node_class.placement_group
        if term is None or node_class.launch_template:
            return NO_GROUP
        found = self._meant(term)
        known = self._known is None or found.name in self._known
        if not known or found.id in self._deleted or found.name in self._deleted:
            called = f"name {term.name}" if term.name else f"id {term.id}"
            raise NodeClassNotReadyError(
                f"{node_class.ref}: its placementGroupSelector finds no group that is available ({called})",
                reason="PlacementGroupNotFound",
            )
        return found

    def _meant(self, term: SelectorTerm) -> PlacementGroupRef:
        if term.name:
            return self._named(term.name)
        known = (self._named(name) for name in sorted(self._made))
        return next((one for one in known if one.id == term.id), PlacementGroupRef(id=term.id))

    def _named(self, name: str) -> PlacementGroupRef:
        known = (self._known or {}).get(name)
        made_up = f"pg-{digits(f'{name} {self._made[name]}')}"
        return PlacementGroupRef(id=made_up if known is None else known.id, name=name)
