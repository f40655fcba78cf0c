"""The types of a planned claim that are cheaper than the nodes it replaces, whatever the launch gets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.consolidation.worth import ROUNDING
from treenail.domain.packing.identity import Same
from treenail.domain.packing.offers.min_values import MinValues
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer

NONE_CHEAPER: Final = Block.NONE_CHEAPER.by()

# The order in which a launch prefers capacity types, as in Karpenter.
_PREFERENCE: Final = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)
SPOT_ONLY: Final = Requirement(labels.CAPACITY_TYPE, frozenset((labels.SPOT,)))

# The labels that an offering says something of.
_OF_OFFERINGS: Final = (labels.ZONE, labels.ZONE_ID, labels.CAPACITY_TYPE, *labels.OF_RESERVATIONS)

# As many catalogues as are in use at a time, and of each so many combinations of zones and ways to buy.
_KEPT: Final = 16
_KEPT_BESIDE: Final = 64


@dataclass(frozen=True, slots=True)
class SoldType:
    """An instance type, and its available offerings that may be bought for a claim: there is at least one.

    `cheapest` is the price of the cheapest of these, `worst` what a node of the type costs at most, $/h: the
    dearest of the reserved offerings, else of those on spot, else of those on demand. A launch does not turn
    to a later kind while there is one before it.
    """

    type: InstanceType
    offerings: tuple[Offering, ...]
    cheapest: float
    worst: float

    @classmethod
    def of(cls, one: InstanceType, offerings: tuple[Offering, ...]) -> SoldType:
        """Return a type with these offerings, its lowest price, and the worst one a launch may get."""
        dearest: dict[str, float] = {}
        for o in offerings:
            dearest[o.capacity_type] = max(dearest.get(o.capacity_type, 0.0), o.price)
        worst = next((dearest[way] for way in _PREFERENCE if way in dearest), math.inf)
        return cls(one, offerings, min(o.price for o in offerings), worst)

    def as_spot(self) -> SoldType | None:
        """Return the type as it is sold on spot, None where it is not."""
        spot = tuple(o for o in self.offerings if o.capacity_type == labels.SPOT)
        return SoldType.of(self.type, spot) if spot else None


def cheaper_than(
    claim: PlannedClaim,
    offers: Sequence[PoolOffer],
    most: float,
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> PlannedClaim | Blocker:
    """Return `claim` with only those types that cost less than `most` ($/h) in all, or why none is left.

    A type counts with its worst launch price and the claim's surcharge. What the claim's minValues ask for
    must still be there, or as much as there is where `min_values` is BestEffort. Where both are possible,
    spot and on demand, the claim becomes one for spot only: on demand the same types may be dearer than what
    they replace.
    """
    cheaper = sold_types(claim, offers, most)
    spot = _spot_types(cheaper)
    if spot and any(o.capacity_type == labels.ON_DEMAND for one in cheaper for o in one.offerings):
        # A type that is sold on demand alone can not be had any more.
        return narrowed(with_spot_only(claim), spot, min_values)
    return narrowed(claim, cheaper, min_values)


def sold_types(claim: PlannedClaim, offers: Sequence[PoolOffer], most: float) -> tuple[SoldType, ...]:
    """Return those of the claim's types, cheapest first, whose worst launch costs less than `most` ($/h)."""
    # Less by more than rounding: or sums of the same prices would let a type replace a node of its own price.
    below = most - claim.surcharge - ROUNDING
    cheaper = (one for one in _starting_below(claim, offers, below) if one.worst < below)
    return tuple(sorted(cheaper, key=lambda one: one.cheapest))


def with_spot_only(claim: PlannedClaim) -> PlannedClaim:
    """Return `claim` with spot as the only capacity type that it may have, of those it may have."""
    return replace(claim, requirements=claim.requirements.with_((SPOT_ONLY,)))


def narrowed(
    claim: PlannedClaim,
    types: Sequence[SoldType],
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> PlannedClaim | Blocker:
    """Return `claim` with only these `types`, or why that leaves too few."""
    if not types:
        return NONE_CHEAPER
    requirements = claim.requirements
    if any(requirement.min_values is not None for requirement in requirements.values()):
        choice = MinValues([one.type for one in types], requirements, min_values)
        if not choice.possible:
            lacking = ", ".join(_lacking(types, requirements))
            return Block.MIN_VALUES.by(claim.pool, lacking)
        requirements = choice.requirements
    in_order = sorted(types, key=lambda one: one.cheapest)
    return replace(
        claim,
        requirements=requirements,
        instance_types=tuple(one.type.name for one in in_order),
        largest=_largest(types),
        price=in_order[0].cheapest,
    )


def _spot_types(types: Sequence[SoldType]) -> tuple[SoldType, ...]:
    """Return those that are sold on spot, as they are sold there, in the same order."""
    return tuple(spot for one in types if (spot := one.as_spot()) is not None)


def _starting_below(claim: PlannedClaim, offers: Sequence[PoolOffer], price: float) -> Iterator[SoldType]:
    """Yield the claim's types, cheapest first, whose cheapest offering has a lower price ($/h)."""
    offer = _offer_of(claim, offers)
    if offer is None:
        return
    there = _catalogue(Same(offer.instance_types)).within(claim.requirements)
    for name in claim.instance_types:
        sold = there.sold(name)
        if sold is None:
            continue
        # The rest is dearer still: of a claim that lists hundreds of types, most are not even looked at.
        if sold.cheapest >= price:
            return
        yield sold


def _offer_of(claim: PlannedClaim, offers: Sequence[PoolOffer]) -> PoolOffer | None:
    """Return the offer that a claim was planned from."""
    of_pool = (one for one in offers if one.pool.name == claim.pool)
    return next((one for one in of_pool if one.reservation == claim.reservation), None)


class _Catalogue:
    """Instance types by name, and how they are sold, once for all claims that ask for the same places."""

    def __init__(self, types: tuple[InstanceType, ...]) -> None:
        self._types = {one.name: one for one in types}
        self._within: dict[tuple[Requirement | None, ...], _Places] = {}

    def within(self, requirements: Requirements) -> _Places:
        asked = requirements.on(_OF_OFFERINGS)
        known = self._within.get(asked)
        if known is None:
            if len(self._within) >= _KEPT_BESIDE:
                self._within.clear()
            known = self._within[asked] = _Places(self._types, requirements)
        return known


class _Places:
    """The zones and capacity types that some requirements allow: few answers for thousands of offerings."""

    def __init__(self, types: Mapping[str, InstanceType], requirements: Requirements) -> None:
        way = requirements.get(labels.CAPACITY_TYPE)
        # Reserved capacity is for claims that ask for nothing else: to others it is as if it was not there.
        self._reserved = way is not None and way.single == labels.RESERVED
        self._requirements = requirements
        self._types = types
        self._sold: dict[str, SoldType | None] = {}
        self._suits: dict[tuple[object, ...], bool] = {}

    def sold(self, name: str) -> SoldType | None:
        """Return a type with those of its offerings that may be bought, None without any."""
        if name not in self._sold:
            one = self._types.get(name)
            offerings = one.offerings if one is not None else ()
            there = tuple(o for o in offerings if o.available and self._suited(o))
            self._sold[name] = SoldType.of(one, there) if one is not None and there else None
        return self._sold[name]

    def _suited(self, o: Offering) -> bool:
        place = (o.zone, o.capacity_type, o.zone_id, o.reservation)
        known = self._suits.get(place)
        if known is None:
            known = self._suits[place] = (o.capacity_type == labels.RESERVED) == self._reserved and (
                self._requirements.intersects(o.requirements())
            )
        return known


@lru_cache(maxsize=_KEPT)
def _catalogue(types: Same[tuple[InstanceType, ...]]) -> _Catalogue:
    return _Catalogue(types.one)


def _lacking(types: Sequence[SoldType], requirements: Requirements) -> list[str]:
    """Return the labels of which `types` have fewer values than minValues asks for."""
    return [
        one.key
        for one in requirements.in_order()
        if one.min_values is not None
        and len(frozenset[str]().union(*(each.type.values(one.key) for each in types))) < one.min_values
    ]


def _largest(types: Sequence[SoldType]) -> Resources:
    """Return, by resource, the most capacity that any of the types has."""
    most: dict[str, int] = {}
    for one in types:
        for name, amount in one.type.capacity.items():
            most[name] = max(most.get(name, 0), amount)
    return Resources({name: amount for name, amount in most.items() if amount})
