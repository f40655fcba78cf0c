"""How long to wait after a failure: longer each time, up to a limit, and never in step with others."""

from __future__ import annotations

from typing import Final

from treenail.domain.model.runtime import Dice

_FIRST_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 30.0
# Enough doublings to be at the limit; more would only make large numbers.
_MOST_DOUBLINGS: Final = 10


class Backoff:
    """Counts the failures since the last success, and says how long to wait after each."""

    def __init__(self, dice: Dice, *, first: float = _FIRST_SECONDS, most: float = _MOST_SECONDS) -> None:
        self._dice = dice
        self._first = first
        self._most = most
        self.failures = 0

    def next(self) -> float:
        """Count a failure and return how many seconds to wait: half of the bound, or up to all of it."""
        bound = min(self._most, self._first * 2.0 ** min(self.failures, _MOST_DOUBLINGS))
        self.failures += 1
        return self._dice.uniform(bound / 2, bound)

    def reset(self) -> None:
        """Count a success."""
        self.failures = 0
