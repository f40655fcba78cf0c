"""Exponential backoff: the pauses between attempts at what failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Enough steps to be at the limit; more would only make large numbers.
_MOST_STEPS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Seconds to wait after each failure in a row.

    The first pause is `first`, each other one `factor` times the one before, and at most `longest`. Up to the
    share `jitter` of a pause, from 0 to 1, is left to chance: those who failed together do not come back
    together.
    """

    first: float
    longest: float
    factor: float = 2.0
    jitter: float = 0.5

    def bounds(self, failures: int) -> tuple[float, float]:
        """Return the shortest and the longest pause after so many failures in a row (1, 2...), in seconds."""
        grown = self.first * self.factor ** min(max(failures - 1, 0), _MOST_STEPS)
        high = min(self.longest, grown)
        return high * (1 - self.jitter), high

    def after(self, failures: int, chance: float = 0.0) -> float:
        """Return the pause after so many failures in a row, in seconds: the longest at a `chance` of 0."""
        low, high = self.bounds(failures)
        return high - (high - low) * chance


# Of calls to the API server and to EC2, whose adapters have tried each some times already.
CALLS: Final = Backoff(first=1.0, longest=20.0)
# Launches of a claim without a pool, with the pauses that Karpenter makes.
RELAUNCHES: Final = Backoff(first=2.0, longest=60.0)


class Retries:
    """The failures since the last success, and how long to wait after each. Mutable."""

    def __init__(self, backoff: Backoff, uniform: Callable[[float, float], float]) -> None:
        self._backoff = backoff
        self._uniform = uniform
        self.failures = 0

    def failed(self, at_least: float | None = None) -> float:
        """Count a failure; return the seconds to wait, beyond `at_least` where somebody asked for that."""
        self.failures += 1
        return (at_least or 0.0) + self._uniform(*self._backoff.bounds(self.failures))

    def succeeded(self) -> None:
        """Count a success: the next pause is a first one."""
        self.failures = 0
