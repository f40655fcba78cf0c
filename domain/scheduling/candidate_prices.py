"""Prices of consolidation candidates: what their own offerings cost now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from treenail.domain.model import labels
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.problem import PackingSettings, PoolOffer


def priced(
    candidates: Iterable[CandidateNode], offers: Iterable[PoolOffer], settings: PackingSettings
) -> tuple[CandidateNode, ...]:
    """Return candidates with what their offerings cost now, and what their pools' nodes cost beside that.

    Where a catalogue does not name an offering any more, on-demand nodes cost what they did at their launch;
    of others nobody knows.
    """
    book = _PriceBook(tuple(candidates), offers, settings)
    return tuple(book.priced(one) for one in book.candidates)


class _PriceBook:
    """The prices of the instance types that candidates are of, by pool."""

    def __init__(
        self, candidates: tuple[CandidateNode, ...], offers: Iterable[PoolOffer], settings: PackingSettings
    ) -> None:
        self.candidates = candidates
        self._types = {one.instance_type for one in candidates}
        self._prices: dict[str, dict[tuple[str, str, str], float]] = {}
        self._surcharges: dict[str, float] = {}
        # Pools share catalogues: each is read once.
        known: dict[int, dict[tuple[str, str, str], float]] = {}
        for offer in offers:
            prices = known.setdefault(id(offer.instance_types), {}) or self._read(offer)
            known[id(offer.instance_types)] = prices
            self._prices.setdefault(offer.pool.name, {}).update(prices)
            self._surcharges[offer.pool.name] = offer.surcharge(settings)

    def _read(self, offer: PoolOffer) -> dict[tuple[str, str, str], float]:
        types = (one for one in offer.instance_types if one.name in self._types)
        return {(one.name, o.zone, o.capacity_type): o.price for one in types for o in one.offerings}

    def priced(self, one: CandidateNode) -> CandidateNode:
        at = one.instance_type, one.zone, one.capacity_type
        launched_for = one.price if one.capacity_type == labels.ON_DEMAND else None
        return replace(
            one,
            price=self._prices.get(one.pool, {}).get(at, launched_for),
            surcharge=self._surcharges.get(one.pool, one.surcharge),
        )
