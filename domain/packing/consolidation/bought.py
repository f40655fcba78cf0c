"""Purchases of moves, as the limits of pools and capacity reservations count them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import PoolOffer


@dataclass(frozen=True, slots=True)
class Bought:
    """Nodes that moves of one plan buy: their capacity by pool, and how many are in each reservation."""

    of_pools: Mapping[str, Resources] = field(default_factory=dict)
    in_reservations: Mapping[str, int] = field(default_factory=dict)

    def and_claims(self, claims: Iterable[PlannedClaim]) -> Bought:
        """Return these with claims, each of the largest of its types."""
        sums = self
        for claim in claims:
            sums = sums._and(claim.pool, claim.reservation, claim.largest, 1)
        return sums

    def and_nodes(self, offer: PoolOffer, capacity: Resources, nodes: int) -> Bought:
        """Return these with so many nodes of a capacity, bought from an offer."""
        return self._and(offer.pool.name, offer.reservation, capacity, nodes)

    def leaves(self, offer: PoolOffer, capacity: Resources, nodes: int) -> bool:
        """Return whether an offer allows so many nodes more of a capacity."""
        if offer.reservation:
            used = self.in_reservations.get(offer.reservation, 0)
            if used + nodes > offer.reserved_left:
                return False
        if offer.limits_left is None:
            return True
        used_by_pool = self.of_pools.get(offer.pool.name, NOTHING)
        return _within(offer.limits_left, used_by_pool.plus(_several(capacity, nodes)))

    def over(self, offers: Sequence[PoolOffer]) -> Blocker | None:
        """Return which limit or reservation of the offers these exceed, None where they exceed none."""
        limits = {offer.pool.name: offer.limits_left for offer in offers}
        for pool, bought in sorted(self.of_pools.items()):
            left = limits.get(pool)
            if left is not None and not _within(left, bought):
                return Block.LIMITS.by(pool)
        reserved = {offer.reservation: offer.reserved_left for offer in offers if offer.reservation}
        for name, nodes in sorted(self.in_reservations.items()):
            if nodes > reserved.get(name, 0):
                return Block.RESERVATION_USED.by(name)
        return None

    def _and(self, pool: str, reservation: str, capacity: Resources, nodes: int) -> Bought:
        more = self.of_pools.get(pool, NOTHING).plus(_several(capacity, nodes))
        reserved = self.in_reservations
        if reservation:
            reserved = {**reserved, reservation: reserved.get(reservation, 0) + nodes}
        return Bought({**self.of_pools, pool: more}, reserved)


def _several(capacity: Resources, nodes: int) -> Resources:
    amounts = {name: amount * nodes for name, amount in capacity.items()}
    return Resources({**amounts, NODES: nodes})


def _within(limits: Resources, bought: Resources) -> bool:
    return all(bought.get(name, 0) <= most for name, most in limits.items())
