"""Ways for a cluster to be too large, and moments of the move that mends it to kill the controller at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.real.system.departures import (
    CLAIM_GOES,
    CORDON,
    FIRST_EVICTION,
    NEW_CLAIM,
    NEW_ID,
    NEW_READY,
    NODE_FREED,
    TERMINATING,
    Moment,
)
from tests.real.system.moments import BUYING


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """So many pods on machines with so many processors, how many are `left`, and on what machines."""

    name: str
    pods: int
    machines: tuple[int, ...]
    left: int
    remains: tuple[int, ...]


MERGED: Final = Way(name="merged", pods=9, machines=(4, 4, 4), left=3, remains=(4,))
REPLACED: Final = Way(name="replaced", pods=3, machines=(4,), left=1, remains=(2,))

# The most telling first, for a run of a few.
_EXACT: Final[tuple[tuple[Way, Moment], ...]] = (
    (REPLACED, NEW_CLAIM[1]),
    (MERGED, CORDON[1]),
    (REPLACED, NEW_READY[1]),
    (REPLACED, CORDON[0]),
    (MERGED, FIRST_EVICTION[1]),
    (REPLACED, BUYING),
    (REPLACED, NEW_ID[1]),
    (REPLACED, FIRST_EVICTION[0]),
    (MERGED, CLAIM_GOES[0]),
    (MERGED, TERMINATING),
    (REPLACED, NODE_FREED[1]),
)


def move_moment(seed: int) -> tuple[Way, Moment]:
    """Return a seed's (from 1 on) way and moment."""
    return _EXACT[(seed - 1) % len(_EXACT)]
