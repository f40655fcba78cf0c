"""Launch options of a claim: its types after Karpenter's filters, in their order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.fleets import Override
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirements

_MOST_TYPES: Final = 60
# EC2 takes no more in one fleet: 60 types in six zones would be too many.
_MOST_OVERRIDES: Final = 300
# The walkthroughs of the old API offer up to 20 types to one fleet.
_MOST_TYPES_V1ALPHA5: Final = 20


@dataclass(frozen=True, slots=True)
class _Offered:
    """A type, and where it can be bought for a claim. There is at least one offering.

    `price` is that of the cheapest; `spot` the least and the highest as spot, in reverse order where it is
    not sold so; `others` are the offerings but for spot.
    """

    type: InstanceType
    offerings: tuple[Offering, ...]
    others: tuple[Offering, ...]
    price: float
    spot: tuple[float, float]

    @classmethod
    def of(cls, one: InstanceType, offerings: tuple[Offering, ...]) -> _Offered:
        spot = [o.price for o in offerings if o.capacity_type == labels.SPOT]
        least, most = min(spot, default=math.inf), max(spot, default=-math.inf)
        others = tuple(o for o in offerings if o.capacity_type != labels.SPOT)
        return cls(one, offerings, others, min(o.price for o in offerings), (least, most))

    def without_spot_over(self, ceiling: float) -> _Offered | None:
        """Return what is left without spot that costs more than `ceiling`; None where nothing is."""
        if self.spot[1] <= ceiling:
            return self
        left = tuple(o for o in self.offerings if o.capacity_type != labels.SPOT or o.price <= ceiling)
        return _Offered.of(self.type, left) if left else None


_Choice: TypeAlias = tuple[str, tuple[Override, ...]]
# A choice before a partition is drawn, with its types: claims that differ in their names alone share it.
_Draft: TypeAlias = tuple[str, Sequence[_Offered], Sequence[Override]]


class LaunchOptions:
    """The launch options of claims: offers and ways to buy, computed once for claims that ask for the same.

    Each different claim takes milliseconds, so many are not computed in an actor. Not for concurrent use;
    another thread may continue after one ended.
    """

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._types = {one.name: one for one in types}
        self._places = tuple({_place(o): o for one in self._types.values() for o in one.offerings}.values())
        # By the places that suit a claim, the types offered there. There are few combinations of places.
        self._offered: dict[tuple[object, ...], dict[str, _Offered]] = {}
        self._drafts: dict[tuple[object, ...], _Draft] = {}
        self._chosen: dict[str, _Choice] = {}

    def choose(self, claim: NodeClaim) -> _Choice:
        """Return how to buy for a claim, and from what, as `options` says."""
        if claim.name not in self._chosen:
            self._chosen[claim.name] = options(claim, self)
        return self._chosen[claim.name]

    def draft(self, claim: NodeClaim) -> _Draft:
        """Return what is chosen for all claims that ask for the same as this one."""
        key = claim.requirements, claim.requests, claim.instance_types, claim.generation
        if key not in self._drafts:
            self._drafts[key] = _draft(claim, self)
        return self._drafts[key]

    def offered(self, claim: NodeClaim) -> list[_Offered]:
        """Return the claim's types that hold it and are offered where it may be, each with its places.

        A claim that lists no types was not planned for pods: any type that it does not rule out may do.
        """
        reserved = _wants_reserved(claim)
        suited = {
            _place(o): None
            for o in self._places
            if (o.reservation is not None) == reserved and claim.requirements.intersects(o.requirements())
        }
        key = tuple(suited)
        if key not in self._offered:
            found = ((one, _in(one, suited)) for one in self._types.values())
            self._offered[key] = {one.name: _Offered.of(one, there) for one, there in found if there}
        offered = self._offered[key]
        if claim.instance_types:
            there = [offered[name] for name in claim.instance_types if name in offered]
        else:
            there = _open_choice(claim, offered.values())
        return [one for one in there if claim.requests.fits(one.type.allocatable)]


def _open_choice(claim: NodeClaim, offered: Iterable[_Offered]) -> list[_Offered]:
    """Return the types that suit a claim without a list; specialised types only if no other suits."""
    suited = [one for one in offered if claim.requirements.intersects(one.type.requirements)]
    return [one for one in suited if not one.type.specialised] or suited


def _place(offering: Offering) -> tuple[object, ...]:
    """Return where and how an offering is sold: what claims ask about, and few differ in."""
    return offering.zone, offering.zone_id, offering.capacity_type, offering.reservation


def _in(one: InstanceType, places: Container[tuple[object, ...]]) -> tuple[Offering, ...]:
    return tuple(o for o in one.offerings if o.available and _place(o) in places)


def options(claim: NodeClaim, buyable: LaunchOptions) -> _Choice:
    """Return how to buy for a claim, spot where it is left and else on demand, and what to choose from.

    A claim on reserved capacity is bought as that and in no other way; how much of it is left was counted
    when its node was planned.
    The types that are on offer and hold the claim, but for exotic ones where there are others, and for spot
    that costs more than the cheapest on demand; of these the cheapest. With minValues nothing is left out
    for its kind or price, and where the types left have too few values, there is nothing to choose from.
    """
    capacity_type, kept, overrides = buyable.draft(claim)
    return capacity_type, _in_partition(claim, kept, overrides)


def _draft(claim: NodeClaim, buyable: LaunchOptions) -> _Draft:
    """Return what `options` does, before a partition is chosen. Reads of a claim only what it asks for."""
    if _wants_reserved(claim):
        there = buyable.offered(claim)
        return labels.RESERVED, there, list(_reserved(there))
    picky = any(r.min_values for r in claim.requirements.in_order())
    offered = buyable.offered(claim)
    if not picky:
        offered = _plain(offered)
        offered = _without_dear_spot(offered)
    kept = _cheapest(offered, claim)
    if picky and not _varied(kept, claim.requirements):
        kept = []
    spot = any(o.capacity_type == labels.SPOT for one in kept for o in one.offerings)
    capacity_type = labels.SPOT if spot else labels.ON_DEMAND
    return capacity_type, kept, _overrides(kept, capacity_type)[:_MOST_OVERRIDES]


def _wants_reserved(claim: NodeClaim) -> bool:
    way = claim.requirements.get(labels.CAPACITY_TYPE)
    return way is not None and way.single == labels.RESERVED


def _reserved(offered: list[_Offered]) -> Iterator[Override]:
    """Yield the reservation that costs least, and of these the one with the most left."""
    found = [
        (o.price, -o.left, o.reservation, one.type.name, o.zone, o.group)
        for one in offered
        for o in one.offerings
        if o.reservation is not None
    ]
    for price, _, reservation, name, zone, group in sorted(found)[:1]:
        yield Override(name, zone, price, reservation, group)


def _having(offered: Sequence[_Offered], good: Callable[[Offering], bool]) -> list[_Offered]:
    """Return the types with those of their offerings that are good, where there are any."""
    found = ((one.type, tuple(o for o in one.offerings if good(o))) for one in offered)
    return [_Offered.of(one, offerings) for one, offerings in found if offerings]


def _plain(offered: list[_Offered]) -> list[_Offered]:
    """Leave out what is exotic, unless there is nothing else."""
    return [one for one in offered if not one.type.exotic] or offered


def _without_dear_spot(offered: list[_Offered]) -> list[_Offered]:
    """Leave out spot offerings that cost more than the cheapest on demand."""
    on_demand = (o.price for one in offered for o in one.others if o.capacity_type == labels.ON_DEMAND)
    ceiling = min(on_demand, default=math.inf)
    left = (one.without_spot_over(ceiling) for one in offered)
    return [one for one in left if one is not None]


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
    """Return whether the types have as many values as `requirements` ask for."""
    return all(
        len(frozenset().union(*(one.type.values(r.key) for one in kept))) >= (r.min_values or 0)
        for r in requirements.in_order()
    )


def _overrides(kept: Sequence[_Offered], capacity_type: str) -> list[Override]:
    """Return the offerings of one capacity type, the type that costs least as such first."""
    bought = _having(kept, lambda o: o.capacity_type == capacity_type)
    bought.sort(key=lambda one: (one.price, one.type.name))
    return [
        Override(one.type.name, o.zone, o.price, group=o.group)
        for one in bought
        for o in sorted(one.offerings)
    ]


def _in_partition(
    claim: NodeClaim, kept: Sequence[_Offered], overrides: Sequence[Override]
) -> tuple[Override, ...]:
    """Return overrides in one partition of their placement group, where it has any that the claim admits.

    By its name, so that claims are in all of them, and each in the same when it is looked at again: EC2
    would choose one too, but tell it only later.
    """
    own = claim.requirements.get(labels.PARTITION)
    known = frozenset[str]().union(*(one.type.values(labels.PARTITION) for one in kept))
    numbers = sorted(int(value) for value in known if own is None or own.has(value))
    if not numbers:
        return tuple(overrides)
    lot = int.from_bytes(hashlib.blake2b(claim.name.encode(), digest_size=8).digest(), "big")
    partition = numbers[lot % len(numbers)]
    return tuple(replace(one, partition=partition) for one in overrides)
