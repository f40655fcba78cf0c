"""Purchases of moves, as the limits of pools and capacity reservations count them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
            sums = sums._and_one(claim)
        return sums

    def leaves(self, offers: Iterable[PoolOffer]) -> Iterator[PoolOffer]:
        """Yield what these leave of offers: of their limits, and of reservations that are not used up."""
        for offer in offers:
            reserved = offer.reserved_left - self.in_reservations.get(offer.reservation, 0)
            limits = offer.limits_left
            if limits is not None:
                limits = limits.minus(self.of_pools.get(offer.pool.name, NOTHING))
            if reserved > 0 or not offer.reservation:
                yield replace(offer, limits_left=limits, reserved_left=max(0, reserved))

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

    def _and_one(self, claim: PlannedClaim) -> Bought:
        capacity = Resources({**claim.largest, NODES: 1})
        of_pools = {**self.of_pools, claim.pool: self.of_pools.get(claim.pool, NOTHING).plus(capacity)}
        if not claim.reservation:
            return Bought(of_pools, self.in_reservations)
        used = self.in_reservations.get(claim.reservation, 0)
        return Bought(of_pools, {**self.in_reservations, claim.reservation: used + 1})


def _within(limits: Resources, bought: Resources) -> bool:
    return all(bought.get(name, 0) <= most for name, most in limits.items())
