"""Deal pods to places."""

from __future__ import annotations

from math import inf
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats

# To so many places it is quicker to deal without arrays.
_FEW: Final = 32


def fewest_first(held: Floats, fits: Floats, pods: float) -> Floats:
    """Return how many of `pods` pods each place (D) gets: each pod goes to the place with the fewest.

    `held` (D) is how many each place has, `fits` (D) how many more it can take.
    """
    if len(fits) <= _FEW:
        return _few(held.tolist(), fits.tolist(), pods)
    if np.add.reduce(fits) <= pods:
        return fits
    # Water-filling: a binary search for the level up to which all places are filled, O(D log P) instead of
    # O(P D).
    low, high = int(held.min(initial=0.0)), int((held + np.minimum(fits, pods)).max())
    while low < high:
        level = (low + high + 1) // 2
        low, high = (level, high) if np.add.reduce(_within(level - held, fits)) <= pods else (low, level - 1)
    dealt: Floats = _within(low - held, fits)
    # What is left is less than one for each place: the first ones get it, so that the result is always the
    # same.
    over = np.flatnonzero((held + dealt <= low) & (dealt < fits))
    dealt[over[: int(pods) - int(dealt.sum())]] += 1
    return dealt


def _few(held: list[float], fits: list[float], pods: float) -> Floats:
    """Deal like `fewest_first` to a few places: arrays would take longer to be asked than it takes."""
    left = int(min(pods, sum(min(each, pods) for each in fits)))
    dealt = [0.0] * len(fits)
    while left > 0:
        taking = [at for at, most in enumerate(fits) if dealt[at] < most]
        low = min(held[at] + dealt[at] for at in taking)
        lowest = [at for at in taking if held[at] + dealt[at] == low]
        # Up to the next level, or until one is full, they rise together.
        higher = [held[at] + dealt[at] for at in taking if held[at] + dealt[at] > low]
        rise = min(*(fits[at] - dealt[at] for at in lowest), min(higher, default=inf) - low)
        each = int(min(rise, left // len(lowest)))
        if not each:
            for at in lowest[:left]:
                dealt[at] += 1.0
            break
        for at in lowest:
            dealt[at] += each
        left -= each * len(lowest)
    return np.array(dealt)


def first_of(fits: Floats, pods: float) -> Floats:
    """Return how many of `pods` pods each place (D) gets: each pod goes to the first place that fits.

    `fits` (D) is how many each place can take.
    """
    within = np.minimum(fits, pods)
    # By place, what the places before it take; the rest remains for it.
    before = within.cumsum() - within
    dealt: Floats = np.minimum(within, np.maximum(pods - before, 0))
    return dealt


def evenly(held: Floats, fits: Floats, pods: float, skew: float, elsewhere: float) -> Floats:
    """Return how many of `pods` pods each place (D) gets, like `fewest_first`, within a skew.

    No place gets more than `skew` above the emptiest. `held` (D) is how many each place has, `fits` (D) how
    many more it can take; `elsewhere` is the lowest count of places that get none.
    """
    # A place that fills up keeps the others down.
    lowest = min(float((held + fits).min(initial=np.inf)), elsewhere)
    return fewest_first(held, _within(skew + lowest - held, fits), pods)


def _within(wanted: Floats, fits: Floats) -> Floats:
    """Return what is `wanted` of each place as far as it fits, and nothing where less than that is wanted."""
    return np.minimum(np.maximum(wanted, 0.0), fits)
