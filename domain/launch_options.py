"""What a claim is bought from: of its types those that are left by Karpenter's filters, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain import labels
from treenail.domain.fleets import Override
from treenail.domain.instance_types import InstanceType, Offering
from treenail.domain.node_pools import Generation
from treenail.domain.nodes import NodeClaim
from treenail.domain.requirements import Requirements

_MOST_TYPES: Final = 60
# EC2 takes no more in one fleet: 60 types in six zones would be too many.
_MOST_OVERRIDES: Final = 300
# The walkthroughs of the old API offer up to 20 types to one fleet.
_MOST_TYPES_V1ALPHA5: Final = 20


@dataclass(frozen=True, slots=True)
class _Offered:
    """A type, and where it can be bought for a claim. There is at least one offering."""

    type: InstanceType
    offerings: tuple[Offering, ...]

    @property
    def price(self) -> float:
        return min(o.price for o in self.offerings)


def options(claim: NodeClaim, types: Mapping[str, InstanceType]) -> tuple[str, tuple[Override, ...]]:
    """Return how to buy for a claim, spot where it is left and else on demand, and what to choose from.

    A claim on reserved capacity is bought as that and in no other way; how much of it is left was counted
    when its node was planned.
    The types that are on offer and hold the claim, but for exotic ones where there are others, and for spot
    that costs more than the cheapest on demand; of these the cheapest. With minValues nothing is left out
    for its kind or price, and where the types left have too few values, there is nothing to choose from.
    """
    if _wants_reserved(claim):
        return labels.RESERVED, tuple(_reserved(_on_offer(claim, types)))
    picky = any(r.min_values for r in claim.requirements.in_order())
    offered = _on_offer(claim, types)
    if not picky:
        offered = _plain(offered)
        offered = _without_dear_spot(offered)
    kept = _cheapest(offered, claim)
    if picky and not _varied(kept, claim.requirements):
        kept = []
    spot = any(o.capacity_type == labels.SPOT for one in kept for o in one.offerings)
    capacity_type = labels.SPOT if spot else labels.ON_DEMAND
    return capacity_type, tuple(_overrides(kept, capacity_type))[:_MOST_OVERRIDES]


def _wants_reserved(claim: NodeClaim) -> bool:
    way = claim.requirements.get(labels.CAPACITY_TYPE)
    return way is not None and way.single == labels.RESERVED


def _reserved(offered: list[_Offered]) -> Iterator[Override]:
    """Yield the reservation that costs least, and of these the one with the most left."""
    found = [
        (o.price, -o.left, o.reservation, one.type.name, o.zone)
        for one in offered
        for o in one.offerings
        if o.reservation is not None
    ]
    for price, _, reservation, name, zone in sorted(found)[:1]:
        yield Override(name, zone, price, reservation)


def _on_offer(claim: NodeClaim, types: Mapping[str, InstanceType]) -> list[_Offered]:
    there = (types[name] for name in claim.instance_types if name in types)
    reserved = _wants_reserved(claim)
    return _having(
        [_Offered(one, one.offerings) for one in there if claim.requests.fits(one.allocatable)],
        lambda o: (
            o.available
            and (o.reservation is not None) == reserved
            and claim.requirements.intersects(o.requirements())
        ),
    )


def _having(offered: Sequence[_Offered], good: Callable[[Offering], bool]) -> list[_Offered]:
    """Return the types with those of their offerings that are good, where there are any."""
    found = (_Offered(one.type, tuple(o for o in one.offerings if good(o))) for one in offered)
    return [one for one in found if one.offerings]


def _plain(offered: list[_Offered]) -> list[_Offered]:
    """Leave out what is exotic, unless there is nothing else."""
    return [one for one in offered if not one.type.exotic] or offered


def _without_dear_spot(offered: list[_Offered]) -> list[_Offered]:
    """Leave out spot that costs more than the cheapest on demand: it is nobody's bargain."""
    on_demand = [o.price for one in offered for o in one.offerings if o.capacity_type == labels.ON_DEMAND]
    ceiling = min(on_demand, default=None)
    if ceiling is None:
        return offered
    return _having(offered, lambda o: o.capacity_type != labels.SPOT or o.price <= ceiling)


def _cheapest(offered: list[_Offered], claim: NodeClaim) -> list[_Offered]:
    """Return the cheapest types, those first that minValues need."""
    most = _MOST_TYPES_V1ALPHA5 if claim.generation is Generation.V1ALPHA5 else _MOST_TYPES
    by_price = sorted(offered, key=lambda one: (one.price, one.type.name))
    needed = _needed([one.type for one in by_price], claim.requirements)
    rest = (number for number in range(len(by_price)) if number not in needed)
    return [by_price[number] for number in sorted([*needed, *rest][:most])]


def _needed(types: Sequence[InstanceType], requirements: Requirements) -> dict[int, None]:
    """Return, by number, the first of `types` that together have the values that are asked for."""
    needed: dict[int, None] = {}
    for requirement in requirements.in_order():
        seen: set[str] = set()
        for number, one in enumerate(types):
            if len(seen) >= (requirement.min_values or 0):
                break
            new = one.values(requirement.key) - seen
            if new:
                seen |= new
                needed[number] = None
    return needed


def _varied(kept: Sequence[_Offered], requirements: Requirements) -> bool:
    """Tell whether the types have as many values as `requirements` ask for."""
    return all(
        len(frozenset().union(*(one.type.values(r.key) for one in kept))) >= (r.min_values or 0)
        for r in requirements.in_order()
    )


def _overrides(kept: Sequence[_Offered], capacity_type: str) -> list[Override]:
    """Return the offerings of one capacity type, the type that costs least as such first."""
    bought = _having(kept, lambda o: o.capacity_type == capacity_type)
    bought.sort(key=lambda one: (one.price, one.type.name))
    return [Override(one.type.name, o.zone, o.price) for one in bought for o in sorted(one.offerings)]
