"""Placement groups: instances that EC2 keeps close together, or apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PlacementGroupRef:
    """Which placement group is meant, by id and name; "" is what is not told of it. Both are, of none."""

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
