"""Put pods into what is left on nodes planned already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays import Floats
from treenail.domain.packing.classes import PodClass
from treenail.domain.packing.compatibility.families import Families, Family
from treenail.domain.packing.drafts import Draft, added
from treenail.domain.packing.filling import fill


def fill_holes(
    drafts: Sequence[Draft], family: Family, classes: Sequence[PodClass], left: Floats, families: Families
) -> list[Draft]:
    """Return `drafts` with pods of `classes`, which ask for `family`, added where that costs nothing.

    `left` (I) is how many pods of each class there are; those that found a place are taken off.
    """
    requests = np.array([one.requests for one in classes])
    filled: list[Draft] = []
    for draft in drafts:
        now = _same_node(draft, family, families)
        copies = draft.copies
        while now is not None and copies and left.any():
            counts = fill(draft.free[np.newaxis], requests, left[np.newaxis], np.zeros((1, len(left))))[0]
            held = counts > 0
            if not held.any():
                break
            alike = int(min(copies, (left[held] // counts[held]).min()))
            left -= alike * counts
            copies -= alike
            more = {one.index: int(count) for one, count in zip(classes, counts, strict=True) if count}
            parts = added(draft.parts, more)
            filled.append(Draft(*now, draft.load + counts @ requests, parts, alike))
        if copies:
            filled.append(replace(draft, copies=copies))
    return filled


def _same_node(draft: Draft, family: Family, families: Families) -> tuple[Family, int] | None:
    """Return what the node becomes as one of `family` too, if it stays of its type and costs no more."""
    narrowed = families.meet(draft.family, family)
    if narrowed is None:
        return None
    rows = np.flatnonzero(narrowed.types == draft.family.types[draft.row])
    if not len(rows) or narrowed.prices[rows[0]] > draft.price:
        return None
    return narrowed, int(rows[0])
