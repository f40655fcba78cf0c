"""The choice that `minValues` asks for, as a limit on how much of a type a node may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices, holds
from treenail.domain.packing.problem import MinValuesPolicy


class MinValues:
    """The number of values of each label that a claim's types must offer, by minValues.

    `types` are those a claim may be of. As in Karpenter, each counts with all the values it may have, for
    instance all zones it is sold in, wherever the claim is to be. Where all of them together do not suffice,
    the policy `BestEffort` asks for as much as there is.
    """

    def __init__(
        self, types: Sequence[InstanceType], requirements: Requirements, policy: MinValuesPolicy
    ) -> None:
        self.requirements = requirements
        # How many values are asked for, and which of them each type may have (U, V), as ones.
        self._wanted: list[tuple[int, Floats]] = []
        self.possible = True
        for requirement in requirements.in_order():
            if requirement.min_values is None:
                continue
            offered = _offered(types, requirement.key)
            there = offered.shape[1]
            least = requirement.min_values
            if there < least:
                self.possible = self.possible and policy is MinValuesPolicy.BEST_EFFORT
                least = there
                # The claim asks for what is left: its launch checks the number that the claim itself names.
                self.requirements = _lowered(self.requirements, requirement, least)
            self._wanted.append((least, offered))

    def enough(self, able: Bools) -> bool:
        """Return whether those types that are `able` (U) leave the choice that is asked for."""
        return bool(self._enough(able[np.newaxis])[0])

    def _enough(self, able: Bools) -> Bools:
        """Return which of N sets of types (N, U) offer enough values."""
        ones = able.astype(np.float64)
        enough = np.ones(len(able), dtype=np.bool_)
        for least, offered in self._wanted:
            # A matrix product counts, for all sets at once, how many types offer each value.
            enough &= np.add.reduce(ones @ offered > 0, axis=1) >= least
        return enough

    def room(self, room: Floats) -> Floats:
        """Return how much of each type's room (U, R) may be used, so that enough other types hold the same.

        With this, minValues becomes smaller room, and no stage of planning without limits has to know of it.
        """
        # A type that is outgrown by enough others may be used in full. Only large types are cut down.
        usable = room.copy()
        lacking = ~self._enough(holds(room, room[:, np.newaxis]))
        for row in lacking.nonzero()[0].tolist():
            usable[row] = self._shared(np.minimum(room, room[row]), row)
        return usable

    def _shared(self, alike: Floats, row: int) -> Floats:
        """Return the resources (R) a type shares with those most like it, as many as `minValues` needs."""
        # How much of this type each other one could replace, by its scarcest resource: the best replacements
        # come first.
        share = (alike / np.maximum(alike[row], 1.0)).min(axis=1)
        share[row] = np.inf
        order: Indices = np.argsort(-share, kind="stable")
        enough = np.ones(len(order), dtype=np.bool_)
        for least, offered in self._wanted:
            reached = np.maximum.accumulate(offered[order], axis=0)
            enough &= np.add.reduce(reached, axis=1) >= least
        # All of them are enough.
        common: Floats = alike[order[: int(enough.argmax()) + 1]].min(axis=0)
        return common


def _offered(types: Sequence[InstanceType], key: str) -> Floats:
    """Return which types may have which of the values of a label that any has (U, V), as ones."""
    # As a matrix of ones, so that sets of types are counted by a product and not type by type.
    values = [one.values(key) for one in types]
    columns = {value: at for at, value in enumerate(sorted(frozenset[str]().union(*values)))}
    offered = np.zeros((len(types), len(columns)))
    for row, some in enumerate(values):
        offered[row, [columns[value] for value in some]] = 1.0
    return offered


def _lowered(requirements: Requirements, requirement: Requirement, least: int) -> Requirements:
    rest = requirements.without((requirement.key,))
    return rest.with_((replace(requirement, min_values=least or None),))
