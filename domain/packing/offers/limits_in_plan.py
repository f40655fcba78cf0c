"""Remaining limits of pools while a plan is made."""

from __future__ import annotations

from math import inf

import numpy as np

from treenail.domain.model.resources import NOTHING
from treenail.domain.packing.arrays.arrays import Bools, Floats, holds
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.templates import RESERVED, NodeTemplate


class RemainingLimits:
    """The remainder of limits after the nodes of a plan, each counted with the type it would be now.

    A type is allowed while its capacity is within what is left, in every limited resource. All templates of a
    pool share its limits, and all pools share what is left of a reservation.
    """

    def __init__(self) -> None:
        # By template, and as soon as something was taken, by what it was taken of.
        self._left: dict[int, Floats] = {}
        self._accounts: dict[tuple[str, str], float] = {}

    def copy(self) -> RemainingLimits:
        """Return a copy, independent of this one."""
        other = RemainingLimits()
        other._left = dict(self._left)
        other._accounts = dict(self._accounts)
        return other

    def left(self, template: NodeTemplate) -> Floats:
        """Return what is left (L), in the order of `template.limited`."""
        known = self._left.get(template.index)
        if known is None:
            amounts = [
                self._accounts.get(_account(template, name), _at_first(template, name))
                for name in template.limited
            ]
            known = self._left[template.index] = np.array(amounts, dtype=np.float64)
        return known

    def allowed(self, option: NodeOption, given_back: Floats | float = 0.0) -> Bools:
        """Return which types (U) of `option` may be bought, or may be instead of what is `given_back` (L)."""
        # Pools without limits pay nothing for this class.
        if not option.template.limited:
            return np.ones(len(option.types), np.bool_)
        return holds(self.left(option.template) + given_back, option.capacity)

    def allows(self, option: NodeOption, row: int, given_back: Floats | float = 0.0) -> bool:
        """Return whether the type in `row` may be bought, or may be instead of what is `given_back` (L)."""
        template = option.template
        return not template.limited or bool(holds(self.left(template) + given_back, option.capacity[row]))

    def copies(self, option: NodeOption, row: int) -> float:
        """Return how many nodes of the type in `row`, one of those allowed, may be bought."""
        if not option.template.limited:
            return inf
        # A resource that the type has none of cannot run out, though its limit may be overdrawn already.
        left, each = self.left(option.template), option.capacity[row]
        counted = each > 0
        return float(np.floor(left[counted] / each[counted]).min(initial=np.inf))

    def take_nodes(self, option: NodeOption, row: int, copies: int) -> None:
        """Count so many nodes of the type in `row` as used; fewer where negative."""
        if option.template.limited:
            self.take(option.template, copies * option.capacity[row])

    def take(self, template: NodeTemplate, capacity: Floats) -> None:
        """Count `capacity` (L) as used; a negative one gives back."""
        if not template.limited:
            return
        # Never clipped at zero: what is given back later must come out even.
        left = self.left(template) - capacity
        for name, amount in zip(template.limited, left.tolist(), strict=True):
            self._accounts[_account(template, name)] = amount
        # Other templates of the pool read the accounts anew. Only the last one asked is kept ready, for one
        # template is counted many times in a row.
        self._left = {template.index: left}


def _account(template: NodeTemplate, name: str) -> tuple[str, str]:
    """Return what a template's limit is a limit of."""
    # No pool has an empty name, so the accounts of reservations never meet those of pools.
    return ("", template.offer.reservation) if name == RESERVED else (template.offer.pool.name, name)


def _at_first(template: NodeTemplate, name: str) -> float:
    if name == RESERVED:
        return float(template.offer.reserved_left)
    return float((template.offer.limits_left or NOTHING)[name])
