"""The one way to AWS: every call waits for its permit here, is repeated here, and fails as the ports say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from treenail.adapters.ec2.call_errors import port_error, worth_repeating
from treenail.adapters.ec2.token_buckets import LIMITS, TokenBucket, class_of
from treenail.domain.ports import PortError, TooManyRequestsError, UnavailableError
from treenail.domain.runtime import Clock, Dice

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_MOST_ATTEMPTS: Final = 4
# No attempt begins later than so many seconds after the call was asked for, waiting for permits included.
_MOST_SECONDS: Final = 30.0
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Passed(Generic[R_co]):
    """What a call gave, how many seconds it waited for permits, and how often it was made."""

    value: R_co
    waited_seconds: float
    attempts: int


class Gate:
    """Lets calls to AWS through at the rate EC2 grants them. To be shared by all threads.

    Every call that goes through must be safe to be made twice: by its nature, by its token or by its name.
    What must hold for all calls, or for all that change something, is checked here and nowhere else.
    """

    def __init__(self, clock: Clock, dice: Dice, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._clock = clock
        self._dice = dice
        self._sleep = sleep
        self._lock = Lock()
        self._buckets: dict[tuple[str, str], TokenBucket] = {}

    def call(self, service: str, action: str, call: Callable[[], R]) -> R:
        """Make a call, such as ("ec2", "DescribeSubnets"), and return what it gives. Blocks.

        Raises:
            TooManyRequestsError: throttled, again and again, or no permit within 30 s. Nothing was done.
            UnavailableError: no answer, again and again, or credentials that are not accepted.
            NotFoundError, AlreadyExistsError: as the code of the refusal says.
            InvalidError: refused otherwise, for want of permission too.
        """
        return self.ask(service, action, call).value

    def ask(self, service: str, action: str, call: Callable[[], R]) -> Passed[R]:
        """Make a call like `call`, and tell too what it took."""
        began = self._clock.monotonic()
        waited = 0.0
        attempt = 0
        unanswered: UnavailableError | None = None
        while True:
            attempt += 1
            wait = self._wait_for_permit(service, action, began)
            if wait is None:
                # Too many requests means that nothing was done: not so where an attempt got no answer.
                raise unanswered or TooManyRequestsError(
                    f"no permit for {service}:{action} within {_MOST_SECONDS:g} s"
                )
            waited += wait
            try:
                return Passed(call(), waited, attempt)
            except (ClientError, BotoCoreError, ResponseParserError) as error:
                failure = port_error(error, service=service, action=action)
                if failure is None:
                    raise
            self._note(service, action, failure)
            if isinstance(failure, UnavailableError):
                unanswered = failure
            pause = self._pause(attempt)
            late = self._clock.monotonic() + pause - began > _MOST_SECONDS
            if not worth_repeating(failure) or attempt >= _MOST_ATTEMPTS or late:
                # Its cause is what AWS said, less secrets; botocore's own error would tell all of it.
                raise unanswered or failure if isinstance(failure, TooManyRequestsError) else failure
            self._sleep(pause)

    def _wait_for_permit(self, service: str, action: str, began: float) -> float | None:
        """Wait, and return for how many seconds; None where it would take too long."""
        with self._lock:
            now = self._clock.monotonic()
            wait = self._bucket(service, action, now).reserve(now, most_wait=began + _MOST_SECONDS - now)
        if wait is not None and wait > 0:
            self._sleep(wait)
        return wait

    def _note(self, service: str, action: str, failure: PortError) -> None:
        """Where AWS has no tokens left for us, count none either: others of the account take them too."""
        if isinstance(failure, TooManyRequestsError):
            with self._lock:
                now = self._clock.monotonic()
                self._bucket(service, action, now).drain(now)

    def _bucket(self, service: str, action: str, now: float) -> TokenBucket:
        name = class_of(action)
        return self._buckets.setdefault((service, name), TokenBucket(LIMITS[name], now))

    def _pause(self, attempt: int) -> float:
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 4.0 ** (attempt - 1))
        return self._dice.uniform(longest / 2, longest)
