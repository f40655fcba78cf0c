"""Token buckets for calls, at a rate that falls where the other side refuses."""

from __future__ import annotations

from typing import Final, NamedTuple

# Having been refused, go on at half the rate, but never below this share of what is granted...
_LEAST_SHARE: Final = 0.1
# ... and dare this share of it more with every second. Refusals within a second are one.
_RISE_PER_SECOND: Final = 0.02
_ONE_REFUSAL_SECONDS: Final = 1.0
_NEARLY: Final = 1e-9


class Limit(NamedTuple):
    """The number of tokens that come back in a second, and the most there can be at a time."""

    per_second: float
    burst: float


class TokenBucket:
    """Tokens that come back with time.

    Others may take from the same bucket unseen: so the rate falls where a call is refused (`slow_down`), and
    rises slowly again. All times are monotonic seconds. Not safe for threads by itself.
    """

    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._rate = limit.per_second
        self._left = limit.burst
        self._at = now
        self._slowed_at = now - _ONE_REFUSAL_SECONDS

    @property
    def most(self) -> float:
        """The most tokens there can be at a time."""
        return self._limit.burst

    @property
    def rate(self) -> float:
        """Tokens that come back in a second at present."""
        return self._rate

    def wait(self, now: float, amount: float = 1) -> float:
        """Return in how many seconds there are `amount` tokens: more than fit in, as soon as it is full."""
        self._refill(now)
        lacking = min(amount, self._limit.burst) - self._left
        return lacking / self._rate if lacking > _NEARLY else 0.0

    def least_wait(self, now: float, amount: float) -> float:
        """Return how many seconds `amount` tokens, taken one after the other, take at the least."""
        self._refill(now)
        return max(0.0, (amount - self._left) / self._limit.per_second)

    def try_take(self, now: float) -> bool:
        """Take a token where there is one; return whether there was."""
        there = self.wait(now) <= 0
        if there:
            self._left -= 1
        return there

    def take(self, now: float, amount: float = 1) -> None:
        """Take tokens. There must be enough."""
        self._refill(now)
        self._left -= amount

    def slow_down(self, now: float) -> None:
        """Have no tokens left, and fewer come back for a while: the other side counts fewer than we do."""
        self._refill(now)
        self._left = min(self._left, 0.0)
        if now - self._slowed_at >= _ONE_REFUSAL_SECONDS:
            self._slowed_at = now
            self._rate = max(self._rate / 2, self._limit.per_second * _LEAST_SHARE)

    def _refill(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._left = min(self._limit.burst, self._left + passed * self._rate)
        rise = passed * self._limit.per_second * _RISE_PER_SECOND
        self._rate = min(self._limit.per_second, self._rate + rise)
        self._at = max(now, self._at)
