"""Permits for calls, as EC2 counts them: token buckets by class of actions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Limit(NamedTuple):
    """How many tokens come back in a second, and how many there can be at a time."""

    per_second: float
    burst: float


READING: Final = "reading"
CHANGING: Final = "changing"

# What EC2 grants an account in a region; other services grant more to the few calls we make there.
LIMITS: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        READING: Limit(20, 100),
        CHANGING: Limit(5, 50),
        "CreateTags": Limit(10, 100),
        "RunInstances": Limit(2, 5),
        "TerminateInstances": Limit(5, 100),
    }
)
_READING_VERBS: Final = ("Describe", "Get", "List")


def is_reading(action: str) -> bool:
    """Tell whether an action changes nothing."""
    return action.startswith(_READING_VERBS)


def class_of(action: str) -> str:
    """Return the key of `LIMITS` that an action counts under."""
    if action in LIMITS:
        return action
    return READING if is_reading(action) else CHANGING


class TokenBucket:
    """Tokens that come back with time. Whoever finds none may reserve one to come; nobody overtakes.

    All times are monotonic seconds. Not safe for threads by itself.
    """

    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._left = limit.burst
        self._at = now

    def reserve(self, now: float, *, most_wait: float) -> float | None:
        """Take a token, and return in how many seconds it is there.

        None, and nothing is taken, where that would be more than `most_wait`.
        """
        self._refill(now)
        wait = max(0.0, (1 - self._left) / self._limit.per_second)
        if wait > most_wait:
            return None
        self._left -= 1
        return wait

    def drain(self, now: float) -> None:
        """Have no tokens left: the other side counts fewer than we do."""
        self._refill(now)
        self._left = min(self._left, 0.0)

    def _refill(self, now: float) -> None:
        self._left = min(self._limit.burst, self._left + (now - self._at) * self._limit.per_second)
        self._at = now
