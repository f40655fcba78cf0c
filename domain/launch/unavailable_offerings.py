"""Offerings that EC2 had no capacity in, kept from use for three minutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from treenail.domain.model.catalogue_keys import OfferingKey

UNAVAILABLE_SECONDS: Final = 180.0
_MOST: Final = 100_000


def unavailable_offerings(clock: Callable[[], float]) -> TTLCache[OfferingKey, bool]:
    """Return an empty cache whose entries last three minutes, as Karpenter's do. `clock` gives seconds."""
    return TTLCache(_MOST, UNAVAILABLE_SECONDS, timer=clock)
