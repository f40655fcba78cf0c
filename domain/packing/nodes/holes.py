"""Put pods into what is left on nodes planned already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, count_fitting, holds
from treenail.domain.packing.draft.drafts import Draft, added
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import NodeRules
from treenail.domain.packing.nodes.filling import fill
from treenail.domain.packing.offers.families import Families, Family


def fill_holes(
    drafts: Sequence[Draft],
    family: Family,
    lots: Sequence[Lot],
    left: Floats,
    families: Families,
    rules: NodeRules,
) -> list[Draft]:
    """Return `drafts` with units of `lots`, which ask for `family`, added where that costs nothing.

    `left` (I) is how many units of each lot there are; those that found a place are taken off.
    """
    if not drafts:
        return []
    requests = np.array([lot.requests for lot in lots])
    ruled = [i for i, lot in enumerate(lots) if not rules.free(lot)]
    free = np.array([rules.free(lot) for lot in lots], dtype=np.bool_)
    filled: list[Draft] = []
    least = np.minimum.reduce(requests)
    rooms = np.array([draft.family.room[draft.row] for draft in drafts]).reshape(len(drafts), len(least))
    loads = np.array([draft.load for draft in drafts]).reshape(rooms.shape)
    roomy = holds(rooms - loads, least).tolist()
    for at, draft in enumerate(drafts):
        now = _same_node(draft, family, families) if roomy[at] else None
        copies = draft.copies
        while now is not None and copies and np.logical_or.reduce(left):
            counts = _added(draft, lots, requests, left, free, ruled, rules)
            held = counts > 0
            if not np.logical_or.reduce(held):
                break
            alike = int(min(copies, (left[held] // counts[held]).min()))
            left -= alike * counts
            copies -= alike
            more = {lot.index: int(count) for lot, count in zip(lots, counts, strict=True) if count}
            parts = added(draft.parts, more)
            filled.append(Draft(*now, draft.load + counts @ requests, parts, alike))
        if copies:
            filled.append(draft if copies == draft.copies else replace(draft, copies=copies))
    return filled


def _added(
    draft: Draft,
    lots: Sequence[Lot],
    requests: Floats,
    left: Floats,
    free: Bools,
    ruled: Sequence[int],
    rules: NodeRules,
) -> Floats:
    """Return how many units of each lot fit beside what one copy holds: those with rules first."""
    counts, room = np.zeros(len(lots)), draft.free
    able = (left > 0) & holds(room, requests)
    if ruled:
        company = rules.company(draft.parts)
        for i in (able & ~free).nonzero()[0].tolist():
            most = min(rules.most(company, lots[i]), left[i])
            units = min(most, float(count_fitting(room, requests[i]))) if most else 0.0
            if units >= 1:
                counts[i] = units
                room = room - units * requests[i]
                rules.join(company, lots[i], int(units))
    rest = (able & free).nonzero()[0]
    if len(rest):
        none = np.zeros((1, len(rest)))
        counts[rest] = fill(room[np.newaxis], requests[rest], left[np.newaxis, rest], none)[0]
    return counts


def _same_node(draft: Draft, family: Family, families: Families) -> tuple[Family, int] | None:
    """Return what the node becomes as one of `family` too, if it stays of its type and costs no more."""
    narrowed = families.meet(draft.family, family)
    if narrowed is None or (narrowed is not draft.family and narrowed.choice is not None):
        return None
    rows = (narrowed.types == draft.family.types[draft.row]).nonzero()[0]
    if not len(rows) or narrowed.prices[rows[0]] > draft.price:
        return None
    return narrowed, int(rows[0])
