"""Requirements as masks over instance types and over nodes, computed once for each requirement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices


class TypeMasks:
    """Masks of what the labels of T instance types allow."""

    def __init__(self, types: Sequence[Requirements]) -> None:
        self._types = types
        self._by_key: dict[str, tuple[list[Requirement | None], Indices]] = {}
        self._known: dict[Requirement, Bools] = {}
        # What a catalogue knows is looked up when it is new, not when the first pod asks for a label.
        for key in sorted({key for one in types for key in one}):
            self._kinds(key)

    def admitting(self, requirement: Requirement) -> Bools:
        """Return which types (T) may have a label that `requirement` allows.

        A type that does not define the label admits everything, as two negatives admit each other.
        """
        mask = self._known.get(requirement)
        if mask is None:
            kinds, codes = self._kinds(requirement.key)
            mask = np.array([_admits(kind, requirement) for kind in kinds], dtype=np.bool_)[codes]
            self._known[requirement] = mask
        return mask

    def values(self, key: str, among: Bools | None = None) -> list[str]:
        """Return, sorted, the values the types have for the label `key`: all types, or those `among` (T)."""
        kinds, codes = self._kinds(key)
        if among is not None:
            # Few different kinds: the types are looked at as numbers, not one by one.
            kinds = [kinds[code] for code in np.unique(codes[among])]
        return sorted({value for kind in kinds if kind and not kind.complement for value in kind.values})

    def _kinds(self, key: str) -> tuple[list[Requirement | None], Indices]:
        """Return the different requirements the types have on `key`, and which of them each type has."""
        known = self._by_key.get(key)
        if known is None:
            # Types share few different requirements on a label: each is judged once, and the verdicts are
            # spread by code.
            codes: dict[Requirement | None, int] = {}
            column = [codes.setdefault(one.get(key), len(codes)) for one in self._types]
            known = self._by_key[key] = (list(codes), np.array(column, dtype=np.intp))
        return known


def _admits(own: Requirement | None, wanted: Requirement) -> bool:
    # As in Karpenter: a type that says nothing of a label may have any value, and two negatives never
    # conflict.
    return own is None or own.intersects(wanted) or (own.negative and wanted.negative)


# What tells places apart: the values of these labels, "" for none.
OfferPlace: TypeAlias = tuple[str, str, str, str, str, str]
OF_PLACES: Final = (labels.ZONE, labels.CAPACITY_TYPE, labels.ZONE_ID, *labels.OF_RESERVATIONS)
_NO_RESERVATION: Final = ("", "", "")


@dataclass(frozen=True, slots=True, eq=False)
class CheapestOfferings:
    """The price of the cheapest offering of each of T types, infinite where there is none, and how many (T).

    `order` are the types that have any, the cheapest first, and by name where prices are equal.
    """

    prices: Floats
    counts: Indices
    order: Indices


class Offers:
    """The places and ways in which the T types are sold: K different places, and prices (T, K).

    A place is a zone, a capacity type and, where there is one, a reservation.

    `prices` is infinite where nothing is available; `listed` (T, K) counts what has run out as well.
    """

    def __init__(self, types: Sequence[InstanceType]) -> None:
        codes: dict[OfferPlace, int] = {}
        rows, columns, prices = [], [], []
        for row, instance_type in enumerate(types):
            for offering in instance_type.offerings:
                place = (offering.zone, offering.capacity_type, offering.zone_id, *_reservation(offering))
                rows.append(row)
                columns.append(codes.setdefault(place, len(codes)))
                # What ran out stays listed, so that refusals can say that it ran out.
                prices.append(offering.price if offering.available else np.inf)
        self.places: tuple[OfferPlace, ...] = tuple(codes)
        self.prices: Floats = np.full((len(types), len(codes)), np.inf)
        self.listed: Bools = np.zeros(self.prices.shape, dtype=np.bool_)
        at = (np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp))
        # A type may list one place twice: the cheaper offering counts.
        np.minimum.at(self.prices, at, np.array(prices, dtype=np.float64))
        self.listed[at] = True
        self._known: dict[tuple[Requirement | None, ...], Bools] = {}
        # By name where prices are equal: the order of a catalogue means nothing.
        names = np.array([t.name for t in types], dtype=np.str_)
        self._by_name: Indices = np.argsort(np.argsort(names, kind="stable"), kind="stable")
        self._cheapest: dict[bytes, CheapestOfferings] = {}
        # What most pods ask for is looked up when the catalogue is new: one zone or any, in one way or any.
        zones, ways = ({place[at] for place in self.places} for at in (0, 1))
        for zone, way in product(sorted(zones), sorted(ways)):
            for where in ((zone, way), (zone, None), (None, way), (None, None)):
                self._cheapest_of(np.array([_is_at(place, where) for place in self.places], dtype=np.bool_))

    def cheapest(self, requirements: Requirements) -> CheapestOfferings:
        """Return the cheapest offerings that `requirements` allow."""
        return self._cheapest_of(self.within(requirements))

    def _cheapest_of(self, within: Bools) -> CheapestOfferings:
        # Different requirements often allow the same places: zones a, b and c of three are any zone.
        key = within.tobytes()
        known = self._cheapest.get(key)
        if known is None:
            # The price in the places that are allowed, and not the lowest anywhere: a pod of one zone pays
            # that zone's.
            offered = self.prices[:, within]
            prices = offered.min(axis=1, initial=np.inf)
            # By name where prices are equal, so that plans do not depend on the order of a catalogue.
            order = np.lexsort((self._by_name, prices))
            there = np.count_nonzero(prices < np.inf)
            counts = np.add.reduce(offered < np.inf, axis=1, dtype=np.intp)
            known = self._cheapest[key] = CheapestOfferings(prices, counts, order[:there])
        return known

    def within(self, requirements: Requirements) -> Bools:
        """Return a mask (K) of the places that `requirements` allow."""
        # Only these labels tell places apart, so requirements that differ in others share a mask.
        asked = _of_offers(requirements)
        mask = self._known.get(asked)
        if mask is None:
            looked_at = [(at, r) for at, r in enumerate(asked) if r is not None]
            allowed = [all(_may_be(r, place[at]) for at, r in looked_at) for place in self.places]
            mask = self._known[asked] = np.array(allowed, dtype=np.bool_)
        return mask


def _is_at(place: OfferPlace, where: tuple[str | None, str | None]) -> bool:
    return all(asked is None or asked == own for own, asked in zip(place[:2], where, strict=True))


def _of_offers(requirements: Requirements) -> tuple[Requirement | None, ...]:
    return requirements.on(OF_PLACES)


def _reservation(offering: Offering) -> tuple[str, str, str]:
    own = offering.reservation
    if own is None:
        return _NO_RESERVATION
    named, kind, interruptible = (own.labels[key] for key in labels.OF_RESERVATIONS)
    return named, kind, interruptible


def _may_be(requirement: Requirement, value: str) -> bool:
    """Return whether a label may have `value`; without any, whether it may be missing."""
    return requirement.has(value) if value else requirement.negative


class NodeMasks:
    """Masks of what the labels of N real nodes allow: here a label that is missing is missing."""

    def __init__(self, nodes: Sequence[Mapping[str, str]]) -> None:
        self._nodes = nodes
        self._by_key: dict[str, tuple[list[str | None], Indices]] = {}

    def meeting(self, requirements: Iterable[Requirement]) -> Bools:
        """Return which nodes (N) meet all of `requirements`."""
        mask = np.ones(len(self._nodes), dtype=np.bool_)
        for requirement in requirements:
            values, codes = self.values(requirement.key)
            # On a real node a missing label is missing: only NotIn and DoesNotExist are met by it.
            met = [requirement.negative if v is None else requirement.has(v) for v in values]
            mask &= np.array(met, dtype=np.bool_)[codes]
        return mask

    def values(self, key: str) -> tuple[list[str | None], Indices]:
        """Return the different values of the label `key`, None for none, and the index of each node's (N)."""
        known = self._by_key.get(key)
        if known is None:
            codes: dict[str | None, int] = {}
            column = [codes.setdefault(node.get(key), len(codes)) for node in self._nodes]
            known = self._by_key[key] = (list(codes), np.array(column, dtype=np.intp))
        return known
