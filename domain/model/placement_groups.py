"""Placement groups: instances that EC2 keeps close together, or apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.requirements import Requirement


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PlacementGroupRef:
    """The placement group that is meant, by id and name; "" is what is not told of it. Both are, of none."""

    id: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        return bool(self.id or self.name)

    def same(self, other: PlacementGroupRef) -> bool:
        """Return whether the two are one group. One that was made anew by the same name is another."""
        if self.id and other.id:
            return self.id == other.id
        return self.name == other.name


NO_GROUP: Final = PlacementGroupRef()


def in_group(types: tuple[InstanceType, ...], group: str, partitions: int = 0) -> tuple[InstanceType, ...]:
    """Return types as they are launched into the placement group of this id, of so many partitions.

    Their nodes have its labels, and what runs out there runs out in the group.
    """
    told = [Requirement(labels.PLACEMENT_GROUP, frozenset((group,)))]
    if partitions:
        numbers = frozenset(str(number) for number in range(1, partitions + 1))
        told.append(Requirement(labels.PARTITION, numbers))
    keys = [one.key for one in told]
    return tuple(
        replace(
            one,
            requirements=one.requirements.without(keys).with_(told),
            offerings=tuple(replace(o, group=group) for o in one.offerings),
        )
        for one in types
    )
