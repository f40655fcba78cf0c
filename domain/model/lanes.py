"""Lanes by purpose: the most urgent first, and a share for each of the others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable
from itertools import takewhile
from typing import Final, Generic, TypeVar

from treenail.domain.model.purposes import Purpose

T = TypeVar("T", bound=Hashable)

# Of the turns that are given while somebody waits in an open lane, so many are for each lane at the least.
SHARE: Final = 0.1
_NEARLY: Final = 1e-9
_ALL: Final = tuple(Purpose)


class Lanes(Generic[T]):
    """A queue with a lane for each purpose. Mutable; callers serialize access to it.

    A lane is first in, first out. A lane that is not open now is given no turn, and owed none.
    """

    def __init__(self) -> None:
        self._waiting: dict[Purpose, OrderedDict[T, None]] = {purpose: OrderedDict() for purpose in Purpose}
        # What each lane is owed, in turns.
        self._owed: dict[Purpose, float] = dict.fromkeys(Purpose, 0.0)

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._waiting.values())

    def waiting(self, purpose: Purpose) -> int:
        """Return how many wait in a lane."""
        return len(self._waiting[purpose])

    def join(self, purpose: Purpose, one: T) -> None:
        """Wait, behind all others of the lane."""
        self._waiting[purpose][one] = None

    def leave(self, purpose: Purpose, one: T) -> None:
        """Wait no longer."""
        del self._waiting[purpose][one]
        self._forgive(purpose)

    def up_to(self, purpose: Purpose, one: T) -> list[T]:
        """Return the entries of a lane before `one`, and `one` itself."""
        return [*takewhile(lambda other: other != one, self._waiting[purpose]), one]

    def first(self, among: Collection[Purpose] = _ALL) -> tuple[Purpose, T] | None:
        """Return the next item if only the lanes `among` are open; None if they are empty."""
        waiting = [purpose for purpose in Purpose if purpose in among and self._waiting[purpose]]
        if not waiting:
            return None
        owed = [purpose for purpose in waiting if self._owed[purpose] >= 1 - _NEARLY]
        purpose = max(owed, key=lambda p: (self._owed[p], -p)) if owed else waiting[0]
        return purpose, next(iter(self._waiting[purpose]))

    def take(self, purpose: Purpose, among: Collection[Purpose] = _ALL) -> None:
        """Give its turn to the first of a lane, which waits no longer."""
        for other in among:
            if self._waiting[other]:
                self._owed[other] += SHARE
        self._waiting[purpose].popitem(last=False)
        self._owed[purpose] = max(0.0, self._owed[purpose] - 1)
        self._forgive(purpose)

    def _forgive(self, purpose: Purpose) -> None:
        """Owe nothing to an empty lane."""
        if not self._waiting[purpose]:
            self._owed[purpose] = 0.0
