"""How fast we may write."""

from __future__ import annotations

import threading
from collections.abc import Callable

from treenail.domain.model.errors import TooManyRequestsError


class RateLimit:
    """A token bucket: `qps` requests a second, after a burst of `burst`. Any number of threads may wait.

    Those who wait go in the order they came.
    """

    def __init__(
        self, *, qps: float, burst: int, clock: Callable[[], float], pause: Callable[[float], None]
    ) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("qps must be above 0 and burst at least 1")
        self._qps = qps
        self._burst = burst
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._tokens = float(burst)
        self._counted_at = clock()

    def take(self, *, within: float) -> None:
        """Wait for a permit.

        Raises:
            TooManyRequestsError: there will be none within so many seconds; none was taken.
        """
        with self._lock:
            now = self._clock()
            self._tokens = min(self._burst, self._tokens + (now - self._counted_at) * self._qps)
            self._counted_at = now
            wait = max(0.0, (1 - self._tokens) / self._qps)
            if wait > within:
                raise TooManyRequestsError(
                    f"no permit within {within:g} s: our own limit is {self._qps:g} a second"
                )
            self._tokens -= 1
        if wait:
            self._pause(wait)
