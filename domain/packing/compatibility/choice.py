"""How much of a type a node may use so that enough others would do as well: `minValues`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.instance_types import InstanceType
from treenail.domain.packing.arrays import Floats, Indices
from treenail.domain.packing.problem import MinValuesPolicy
from treenail.domain.requirements import Requirement, Requirements


class Choice:
    """Of how many values of which labels a claim's types must leave the choice.

    `types` are those a claim may be of. As in Karpenter, each counts with all zones it is sold in, say,
    wherever the claim is to be. Where they do not suffice, `BestEffort` asks for as much as there is.
    """

    def __init__(
        self, types: Sequence[InstanceType], requirements: Requirements, policy: MinValuesPolicy
    ) -> None:
        self.requirements = requirements
        self._wanted: list[tuple[int, list[frozenset[str]]]] = []
        self.possible = True
        for requirement in requirements.in_order():
            if requirement.min_values is None:
                continue
            values = [one.values(requirement.key) for one in types]
            there = len(frozenset[str]().union(*values))
            least = requirement.min_values
            if there < least:
                self.possible = self.possible and policy is MinValuesPolicy.BEST_EFFORT
                least = there
                self.requirements = _lowered(self.requirements, requirement, least)
            self._wanted.append((least, values))

    def enough(self, rows: Iterable[int]) -> bool:
        """Tell whether the types in `rows` leave the choice that is asked for."""
        known = list(rows)
        return all(
            len(frozenset[str]().union(*(values[row] for row in known))) >= least
            for least, values in self._wanted
        )

    def room(self, room: Floats) -> Floats:
        """Return how much of each type's room (U, R) may be used: what enough types have besides."""
        usable = room.copy()
        for row in range(len(room)):
            alike = np.minimum(room, room[row])
            if not self.enough(np.flatnonzero((alike >= room[row]).all(axis=1)).tolist()):
                usable[row] = self._shared(alike, row)
        return usable

    def _shared(self, alike: Floats, row: int) -> Floats:
        """Return what a type has in common with those most like it that leave enough choice with it."""
        share = (alike / np.maximum(alike[row], 1.0)).min(axis=1)
        share[row] = np.inf
        order: Indices = np.argsort(-share, kind="stable")
        low, high = 1, len(order)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.enough(order[:middle].tolist()) else (middle + 1, high)
        common: Floats = alike[order[:low]].min(axis=0)
        return common


def _lowered(requirements: Requirements, requirement: Requirement, least: int) -> Requirements:
    rest = requirements.without((requirement.key,))
    return rest.with_((replace(requirement, min_values=least or None),))
