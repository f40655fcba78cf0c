"""Exotic, specialised and burstable types: for ordinary pods only where no ordinary type has as much room.

Exotic types (bare metal, GPUs, accelerators) are left out, as at launch, and specialised ones unless they are
listed. Those that are both (GPUs beside arm64) are left out for other exotic types, too. Burstable types
count with their baseline of CPU: a pod may use what it requests all the time, and what goes beyond the
baseline costs surplus credits or is throttled. Whoever lists types, families or categories gets those that
are listed, and in full.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.requirements import Requirements
from treenail.domain.packing.arrays.arrays import TINY, Bools, Indices, holds
from treenail.domain.packing.offers.templates import NodeTemplate
from treenail.domain.packing.offers.types_left_out import NOTHING_ASIDE, SetAside

# Whoever lists values of these knows which types come.
_NAMING: Final = (labels.INSTANCE_TYPE, labels.INSTANCE_FAMILY, labels.INSTANCE_CATEGORY)
# What the other resources weigh where types have about as much of one.
_OF_OTHERS: Final = 1e-3
# So many answers are kept of each template: for most pods, and for them in each zone.
_KEPT: Final = 64


def set_aside(template: NodeTemplate, requirements: Requirements, types: Indices) -> SetAside:
    """Return which of `types` (U, rows that meet `requirements`) are set aside."""
    table = template.table
    ordinary = table.ordinary[types]
    twofold = (table.exotic & table.specialised)[types].any()
    # Without others to go to, all there is counts: nothing becomes impossible to buy.
    if ordinary.all() or not (ordinary.any() or twofold):
        return NOTHING_ASIDE
    within = table.offers.within(requirements)
    # minValues may need exotic types for their number: the launch keeps them then, too.
    picky = any(one.min_values is not None for one in requirements.values())
    named = bool(template.offer.reservation) or any(_lists(requirements, key) for key in _NAMING)
    key = types.tobytes(), within.tobytes(), picky, named
    # Pools and pods ask for the same places in each decision, and the catalogue stays.
    known = template.asides.get(key)
    if known is None:
        if len(template.asides) >= _KEPT:
            template.asides.clear()
        replaceable = types[~ordinary][_replaceable(template, within, types)]
        known = _aside(template, replaceable, picky=picky, named=named)
        if twofold and not (picky or named):
            known = known.joined(SetAside(_rows(_unwanted(template, within, types))))
        template.asides[key] = known
    return known


def _aside(template: NodeTemplate, replaceable: Indices, *, picky: bool, named: bool) -> SetAside:
    table = template.table
    left_out: Bools = table.exotic[replaceable] & (not picky)
    if named:
        return SetAside(_rows(replaceable[left_out]))
    left_out |= table.specialised[replaceable]
    burstable = table.burstable[replaceable]
    # Daemons alone take more than the baseline.
    left_out |= burstable & (template.steady_room[replaceable] < 0).any(axis=1)
    return SetAside(_rows(replaceable[left_out]), _rows(replaceable[burstable & ~left_out]))


def _replaceable(template: NodeTemplate, within: Bools, types: Indices) -> Bools:
    """Return which of the exotic or specialised `types` have an ordinary type of at least their size.

    The ordinary type must be sold in each of the places `within` (K) where the other one is: so the result
    holds however the places are narrowed.
    """
    ordinary = template.table.ordinary[types]
    room = template.room[types]
    sold = template.table.offers.prices[types][:, within] < np.inf
    others = room[~ordinary]
    found: Bools = np.zeros((len(others), sold.shape[1]), dtype=np.bool_)
    usual = sold & ordinary[:, np.newaxis]
    share = room / np.maximum(np.maximum.reduce(room), TINY)
    for score in (share + _OF_OTHERS * np.add.reduce(share, axis=1)[:, np.newaxis]).T:
        # By place, the ordinary type with the most of a resource, and of equal ones with the most of the
        # others: most types are smaller in all.
        most = np.where(usual, score[:, np.newaxis], -np.inf).argmax(axis=0)
        found |= holds(room[most], others[:, np.newaxis])
    found &= usual.any(axis=0)
    everywhere: Bools = np.logical_and.reduce(found | ~sold[~ordinary], axis=1)
    return everywhere


def _unwanted(template: NodeTemplate, within: Bools, types: Indices) -> Indices:
    """Return the specialised ones of exotic `types` beside which another exotic one has as much room.

    In each place, of those `within` (K), where they are sold, as with ordinary ones.
    """
    table, prices = template.table, template.table.offers.prices
    exotic, special = types[table.exotic[types]], types[(table.exotic & table.specialised)[types]]
    usual = exotic[~table.specialised[exotic]]
    sold, there = prices[special][:, within] < np.inf, prices[usual][:, within] < np.inf
    roomier: Bools = holds(template.room[usual], template.room[special][:, np.newaxis])
    found = np.logical_or.reduce(roomier[:, :, np.newaxis] & there, axis=1)
    unwanted: Indices = special[np.logical_and.reduce(found | ~sold, axis=1)]
    return unwanted


def _lists(requirements: Requirements, key: str) -> bool:
    requirement = requirements.get(key)
    return requirement is not None and not requirement.complement and bool(requirement.values)


def _rows(types: Indices) -> frozenset[int]:
    return frozenset(types.tolist())
