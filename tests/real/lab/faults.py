"""What goes wrong between a client and AWS: rules, token buckets and outages."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

from tests.real.lab.wire import Call

_THROTTLED: Final = {
    "ec2": ("RequestLimitExceeded", 503),
    "sqs": ("RequestThrottled", 400),
    "iam": ("Throttling", 400),
}


@dataclass(slots=True, kw_only=True)
class Fault:
    """What happens to calls of one action, or of all, of one service or of all.

    The first `skip` matching calls pass, then `times` (None: all) are hit, each with probability `prob`.
    A call that is hit takes `delay` seconds longer. With `code` it is answered by that error, and is not
    carried out, unless `after` is set: then it is, and only its answer is lost. With `cut` the connection
    is closed instead of an answer. `match` must stand somewhere in the request's body.
    """

    service: str | None = None
    action: str | None = None
    match: str = ""
    code: str = ""
    status: int = 400
    message: str = ""
    times: int | None = 1
    skip: int = 0
    prob: float = 1.0
    delay: float = 0.0
    after: bool = False
    cut: bool = False

    def about(self, call: Call) -> bool:
        """Return whether it concerns a call."""
        return (
            self.service in (None, call.service)
            and self.action in (None, call.action)
            and self.match.encode() in call.body
        )

    def hit(self, dice: random.Random) -> bool:
        """Return whether a call it concerns is hit, and count it."""
        if self.times == 0 or dice.random() >= self.prob:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(slots=True)
class _Bucket:
    rate: float
    burst: float
    tokens: float
    at: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Faults:
    """The faults in force. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Fault] = []
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._outage: Fault | None = None
        self._dice = random.Random(1)

    def reset(self) -> None:
        """Have no faults."""
        with self._lock:
            self._rules.clear()
            self._buckets.clear()
            self._outage = None
            self._dice = random.Random(1)

    def add(self, **rule: Any) -> None:
        """Add a rule; the first that hits a call counts."""
        with self._lock:
            self._rules.append(Fault(**rule))

    def clear(self) -> None:
        """End all rules; throttles and outages stay."""
        with self._lock:
            self._rules.clear()

    def throttle(self, service: str, action: str, rate: float, burst: float) -> None:
        """Let `rate` calls per second of an action pass, and at most `burst` at once."""
        with self._lock:
            self._buckets[service, action] = _Bucket(rate, burst, burst)

    def outage(self, *, on: bool, status: int = 503, service: str | None = None) -> None:
        """Answer every call with an error, or stop doing so."""
        error = Fault(service=service, code="ServiceUnavailable", status=status, times=None)
        with self._lock:
            self._outage = error if on else None

    def of(self, call: Call) -> Fault | None:
        """Return what happens to a call, None where it just passes."""
        with self._lock:
            if self._outage is not None and self._outage.about(call):
                return self._outage
            bucket = self._buckets.get((call.service, call.action))
            if bucket is not None and not bucket.take():
                code, status = _THROTTLED.get(call.service, ("ThrottlingException", 400))
                return Fault(code=code, status=status, message="Request limit exceeded.")
            return next((r for r in self._rules if r.about(call) and r.hit(self._dice)), None)
