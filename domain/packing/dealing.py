"""Deal pods to places."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays import Floats


def fewest_first(held: Floats, fits: Floats, pods: float) -> Floats:
    """Deal up to `pods` pods, each to the place that holds the fewest and can take one: how many to which."""
    if fits.sum() <= pods:
        return fits
    low, high = int(held.min(initial=0.0)), int((held + np.minimum(fits, pods)).max())
    while low < high:
        level = (low + high + 1) // 2
        low, high = (level, high) if np.clip(level - held, 0, fits).sum() <= pods else (low, level - 1)
    dealt: Floats = np.clip(low - held, 0, fits)
    over = np.flatnonzero((held + dealt <= low) & (dealt < fits))
    dealt[over[: int(pods) - int(dealt.sum())]] += 1
    return dealt


def first_of(fits: Floats, pods: float) -> Floats:
    """Deal up to `pods` pods, each to the first place that can take one: how many to which."""
    within = np.minimum(fits, pods)
    before = np.cumsum(within) - within
    dealt: Floats = np.minimum(within, np.maximum(pods - before, 0))
    return dealt


def evenly(held: Floats, fits: Floats, pods: float, skew: float, elsewhere: float) -> Floats:
    """Deal up to `pods` pods like `fewest_first`, never to have any place `skew` above the emptiest.

    `elsewhere` is the least that places hold which get none.
    """
    # A place that fills up keeps the others down.
    lowest = min(float((held + fits).min(initial=np.inf)), elsewhere)
    return fewest_first(held, np.clip(skew + lowest - held, 0.0, fits), pods)
