"""Overlaid types: the instance types of a pool with the prices and the capacity that node overlays say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_overlays import NodeOverlay, heaviest_overlays_first
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import Resources

# Which of them a type is sold in its offerings tell.
_LEFT_TO_OFFERINGS: Final = frozenset(labels.OF_RESERVATIONS)
_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True, slots=True, order=True)
class OverlayConflict:
    """Two overlays of one weight that say different things of the same: what `overlay` says does not count.

    It is about the price of `instance_type` bought as `capacity_type` in `zone`, or about its `resource`.
    """

    overlay: str
    other: str
    instance_type: str
    zone: str = ""
    capacity_type: str = ""
    resource: str = ""

    def __str__(self) -> str:
        what = self.resource or f"price as {self.capacity_type} in {self.zone}"
        return f"{self.instance_type} ({what}) with {self.other}"


@dataclass(frozen=True, slots=True)
class OverlaidTypes:
    """Instance types as overlays make them, and where overlays conflict, sorted."""

    types: tuple[InstanceType, ...]
    conflicts: tuple[OverlayConflict, ...] = ()


def overlaid(types: tuple[InstanceType, ...], pool: NodePool) -> OverlaidTypes:
    """Return the instance types of a pool with what its overlays say; those not concerned are the very same.

    Of each price, and of each added resource, the overlay of the largest weight counts. Between equal weights
    the one whose name comes last counts, which is a conflict: there alone the other does not.
    """
    own = Requirements.from_labels(_own_labels(pool))
    about = tuple(
        one
        for one in heaviest_overlays_first(pool.overlays)
        if (one.price is not None or one.capacity) and own.intersects(one.requirements)
    )
    if not about:
        return OverlaidTypes(types)
    places = _Places(about)
    conflicts: list[OverlayConflict] = []
    made = tuple(_overlaid(one, own, places, conflicts) for one in types)
    same = all(new is old for new, old in zip(made, types, strict=True))
    return OverlaidTypes(types if same else made, tuple(sorted(conflicts)))


def overlay_key(pool: NodePool) -> tuple[object, ...]:
    """Return what decides on what overlays do to a pool's types: where it is equal, they do the same."""
    told = tuple((one.name, one.uid, one.resource_version) for one in pool.overlays)
    return *told, *sorted(_own_labels(pool).items())


def _own_labels(pool: NodePool) -> dict[str, str]:
    """Return those of the labels that every node of a pool has of which its overlays say something."""
    asked = {key for one in pool.overlays for key in one.requirements}
    return {key: value for key, value in pool.node_labels.items() if key in asked}


class _Places:
    """The overlays that are about what is sold in a place, looked at once for each."""

    def __init__(self, overlays: tuple[NodeOverlay, ...]) -> None:
        self.overlays = overlays
        self._about: dict[tuple[object, ...], frozenset[str]] = {}

    def about(self, offering: Offering) -> frozenset[str]:
        """Return the names of the overlays that an offering meets, its type aside."""
        key = offering.zone, offering.zone_id, offering.capacity_type, offering.reservation
        if key not in self._about:
            told = offering.requirements()
            self._about[key] = frozenset(
                one.name
                for one in self.overlays
                if one.requirements.compatible(told, may_be_undefined=labels.WELL_KNOWN)
            )
        return self._about[key]


@dataclass(slots=True)
class _Effect:
    """The effect of overlays on one thing: the `first` overlay counts; `last` is the last one looked at."""

    first: NodeOverlay
    last: NodeOverlay


@dataclass(slots=True)
class _Changes:
    """The changes that overlays, told heaviest first, make to one instance type. Mutable."""

    type: InstanceType
    conflicts: list[OverlayConflict]
    prices: dict[int, _Effect] = field(default_factory=dict)
    amounts: dict[str, _Effect] = field(default_factory=dict)

    def take(self, overlay: NodeOverlay, offerings: Iterable[int]) -> None:
        """Take in an overlay that is about these offerings, by number."""
        for number in offerings if overlay.price is not None else ():
            offering = self.type.offerings[number]
            where = {"zone": offering.zone, "capacity_type": offering.capacity_type}
            self._note(self.prices.get(number), overlay, **where)
            self._put(self.prices, number, overlay)
        for resource in overlay.capacity:
            self._note(self.amounts.get(resource), overlay, resource=resource)
            self._put(self.amounts, resource, overlay)

    def _note(self, effect: _Effect | None, overlay: NodeOverlay, **about: str) -> None:
        if effect is not None and effect.last.weight == overlay.weight:
            conflict = OverlayConflict(overlay.name, effect.last.name, self.type.name, **about)
            self.conflicts.append(conflict)

    def _put(self, effects: dict[_Key, _Effect], key: _Key, overlay: NodeOverlay) -> None:
        effect = effects.setdefault(key, _Effect(overlay, overlay))
        if effect.last.weight != overlay.weight:
            effect.last = overlay

    def applied(self) -> InstanceType:
        """Return the type with all of it."""
        if not self.prices and not self.amounts:
            return self.type
        added = {name: effect.first.capacity[name] for name, effect in sorted(self.amounts.items())}
        offerings = (self._priced(number, one) for number, one in enumerate(self.type.offerings))
        return replace(
            self.type,
            offerings=tuple(offerings),
            capacity=Resources({**self.type.capacity, **added}) if added else self.type.capacity,
            overlays=tuple(sorted({effect.first.name for effect in self.amounts.values()})),
        )

    def _priced(self, number: int, offering: Offering) -> Offering:
        effect = self.prices.get(number)
        # Without a public price it may not be sold at all.
        if effect is None or effect.first.price is None or not math.isfinite(offering.price):
            return offering
        return replace(offering, price=effect.first.price.of(offering.price), overlay=effect.first.name)


def _overlaid(
    one: InstanceType, own: Requirements, places: _Places, conflicts: list[OverlayConflict]
) -> InstanceType:
    described = own.with_(one.requirements)
    changes = _Changes(one, conflicts)
    for overlay in places.overlays:
        if not described.compatible(overlay.requirements, may_be_undefined=_LEFT_TO_OFFERINGS):
            continue
        about = [n for n, offering in enumerate(one.offerings) if overlay.name in places.about(offering)]
        if about:
            changes.take(overlay, about)
    return changes.applied()
