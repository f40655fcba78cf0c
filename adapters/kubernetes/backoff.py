"""How long to wait after one failure after the other."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """Pauses in seconds: each up to twice as long as the one before, and at most `longest`.

    Half of each is left to chance, so that those who failed together do not come back together.
    """

    def __init__(self, *, first: float, longest: float, uniform: Callable[[float, float], float]) -> None:
        self._first = first
        self._longest = longest
        self._uniform = uniform
        self._next = first

    def reset(self) -> None:
        """Note that all is well: the next pause is a first one."""
        self._next = self._first

    def pause(self, at_least: float | None = None) -> float:
        """Return how long to wait now; longer than `at_least`, where somebody asked for that."""
        longest = self._next
        self._next = min(self._longest, 2 * longest)
        return (at_least or 0.0) + self._uniform(longest / 2, longest)
