"""Reserved offers: what pools may buy of reserved capacity, and what beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import OfferingKey, mark_unavailable
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import overlaid, overlay_key
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.reserved_claims import InReservations
from treenail.domain.model.resources import Resources
from treenail.domain.packing.identity import Same
from treenail.domain.packing.problem import PoolOffer

# What is left for pods that wait, what there is where nothing ran out, and what consolidation may use, for
# which more has run out.
_KEPT: Final = 3
# Overlays change rarely, and pools that they tell apart are few.
_MOST_VIEWS: Final = 64
# As many catalogues as are in use at a time.
_CATALOGUES: Final = 16


@dataclass(slots=True)
class Stock:
    """The types that a node class can launch: in `types` nothing reserved is available, in `reserved` it is.

    Of `reserved`, each is an instance type as one reservation has it, in the order to be tried. Mutable:
    what is left when something has run out is remembered. Packing prepares each tuple of types anew, so
    that one for each pool, in each decision, would cost it more than all else.
    """

    types: tuple[InstanceType, ...]
    reserved: tuple[InstanceType, ...] = ()
    _left: dict[frozenset[OfferingKey], tuple[InstanceType, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, types: tuple[InstanceType, ...]) -> Stock:
        """Part a catalogue."""
        found = [
            (o, one) for one in types for o in one.offerings if o.reservation is not None and o.available
        ]
        if not found:
            return cls(types)
        found.sort(key=lambda pair: (pair[0].price, pair[1].name, pair[0].reservation, pair[0].zone))
        return cls(tuple(map(_unreserved, types)), tuple(_as_reserved(one, o) for o, one in found))

    def offers(
        self,
        pool: NodePool,
        limits_left: Resources | None,
        *,
        ran_out: frozenset[OfferingKey] = frozenset(),
        taken: InReservations,
        volume_cost: float = 0.0,
    ) -> tuple[PoolOffer, ...]:
        """Return what a pool may buy now: first, one by one, what is reserved and left, then all else.

        Types are the very same tuple for all pools, until something else runs out or is back. The volumes of
        each node cost `volume_cost` ($/h).
        """
        reserved = self._reserved_offers(pool, limits_left, ran_out, taken)
        others = PoolOffer(pool=pool, instance_types=self._without(ran_out), limits_left=limits_left)
        return tuple(replace(offer, volume_cost=volume_cost) for offer in (*reserved, others))

    def ordinary(
        self,
        offers: tuple[PoolOffer, ...],
        closed: frozenset[OfferingKey],
        limits_left: Resources | None,
    ) -> tuple[PoolOffer, ...]:
        """Return what `offers` would be, had nothing run out but what is `closed` and what is reserved.

        And were so much left of the limits.
        """
        others = replace(offers[-1], instance_types=self._without(closed))
        return tuple(replace(offer, limits_left=limits_left) for offer in (*offers[:-1], others))

    def _without(self, ran_out: frozenset[OfferingKey]) -> tuple[InstanceType, ...]:
        left = self._left.pop(ran_out, None)
        self._left[ran_out] = mark_unavailable(self.types, ran_out) if left is None else left
        if len(self._left) > _KEPT:
            del self._left[next(iter(self._left))]
        return self._left[ran_out]

    def _reserved_offers(
        self,
        pool: NodePool,
        limits_left: Resources | None,
        ran_out: frozenset[OfferingKey],
        taken: InReservations,
    ) -> Iterator[PoolOffer]:
        for one in mark_unavailable(self.reserved, ran_out):
            (offering,) = one.offerings
            reservation = offering.reservation
            left = left_of(offering, taken)
            if reservation is None or left <= 0 or not offering.available:
                continue
            narrowed = _narrowed(pool, reservation)
            if narrowed is not None:
                yield PoolOffer(
                    pool=narrowed,
                    instance_types=(one,),
                    limits_left=limits_left,
                    reservation=reservation.id,
                    reserved_left=left,
                )


@dataclass(slots=True)
class PoolStocks:
    """The `types` that a node class can launch, as each pool sees it by its node overlays. Mutable.

    Pools that see the same share it, for the reason that `Stock` gives.
    """

    types: tuple[InstanceType, ...]
    _seen: dict[tuple[object, ...], Stock] = field(default_factory=dict)

    @property
    def reserved(self) -> bool:
        """True if something of it is reserved."""
        return _any_reserved(Same(self.types))

    def of(self, pool: NodePool) -> Stock:
        """Return what a pool can launch."""
        key = overlay_key(pool)
        if key not in self._seen:
            if len(self._seen) >= _MOST_VIEWS:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = Stock.of(overlaid(self.types, pool).types)
        return self._seen[key]


@lru_cache(maxsize=_CATALOGUES)
def _any_reserved(types: Same[tuple[InstanceType, ...]]) -> bool:
    """Return whether anything is reserved of a catalogue: mostly the very same is read again and again."""
    return any(o.reservation is not None and o.available for one in types.one for o in one.offerings)


def left_of(offering: Offering, taken: InReservations) -> int:
    """Return for how many more a reservation has room: as was counted, less those that came since."""
    if offering.reservation is None:
        return 0
    counted_at = offering.counted_at
    times = taken.get(offering.reservation.id, ())
    return offering.left - sum(at is None or counted_at is None or at >= counted_at for at in times)


def _unreserved(instance_type: InstanceType) -> InstanceType:
    if all(o.reservation is None for o in instance_type.offerings):
        return instance_type
    offerings = tuple(
        o if o.reservation is None else replace(o, available=False) for o in instance_type.offerings
    )
    return replace(instance_type, offerings=offerings)


def _as_reserved(instance_type: InstanceType, offering: Offering) -> InstanceType:
    known = {labels.ZONE: offering.zone, labels.CAPACITY_TYPE: offering.capacity_type}
    own = instance_type.requirements
    return replace(
        instance_type, offerings=(offering,), requirements=own.with_(Requirements.from_labels(known))
    )


def _narrowed(pool: NodePool, reservation: Reservation) -> NodePool | None:
    """Return the pool as it buys in a reservation; None where it does not."""
    wanted = Requirements.from_labels({labels.CAPACITY_TYPE: labels.RESERVED, **reservation.labels})
    own = pool.template_requirements()
    # A label that the pool says nothing of may be any.
    if not own.compatible(wanted, may_be_undefined=labels.WELL_KNOWN):
        return None
    return replace(pool, requirements=pool.requirements.with_(wanted))
