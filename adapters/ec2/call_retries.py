"""Calls to AWS: each waits for a permit, is retried with backoff, and fails as the ports say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from treenail.adapters.ec2.call_errors import port_error, worth_repeating
from treenail.adapters.ec2.call_limits import LIMITS, RESOURCES, class_of, purpose_of
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.errors import NoPermitError, PortError, TooManyRequestsError, UnavailableError
from treenail.domain.model.permits import Permits, Ticket
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.rate_limits import Limit, TokenBucket
from treenail.domain.model.runtime import Clock, Dice
from treenail.domain.telemetry.call_delays import note_delay
from treenail.domain.telemetry.delays import CallDelay, DelayCause, cause_of_error

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# How the actions are called that change nothing.
_LOOK_UPS: Final = ("Describe", "Get", "List")
_MOST_ATTEMPTS: Final = 4
# No attempt begins later than so many seconds after the call was asked for, waiting for permits included.
_MOST_SECONDS: Final = 30.0
# Clocks are not finer than that for sure.
_SHORTEST_WAIT: Final = 0.001
_BACKOFF: Final = Backoff(first=0.2, longest=5.0, factor=4.0)
# Whoever waits for a permit for less is not delayed to speak of.
_WORTH_TELLING_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Passed(Generic[R_co]):
    """The answer to a call, the seconds it waited for permits, and the number of attempts."""

    value: R_co
    waited_seconds: float
    attempts: int


def is_look_up(action: str) -> bool:
    """Return whether an action, such as "DescribeSubnets", changes nothing."""
    return action.startswith(_LOOK_UPS)


class CallRetries:
    """Makes calls to AWS at the rate EC2 grants, and retries them. To be shared by all threads.

    Every call made by it must be safe to be made twice: by its nature, by its token or by its name.
    What must hold for all calls, or for all that change something, is checked here and nowhere else:
    `may_change` is asked just before each attempt at a call that is no look-up, and raises a PortError where
    it may not be sent. `limits` are those of EC2's classes of actions.
    """

    def __init__(
        self,
        clock: Clock,
        dice: Dice,
        *,
        sleep: Callable[[float], None] = time.sleep,
        limits: Mapping[str, Limit] = LIMITS,
        may_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._dice = dice
        self._sleep = sleep
        self._limits = limits
        self._may_change = may_change
        self._lock = Lock()
        self._permits: dict[tuple[str, str], Permits] = {}

    def call(
        self,
        service: str,
        action: str,
        call: Callable[[], R],
        *,
        purpose: Purpose | None = None,
        resources: int = 1,
    ) -> R:
        """Make a call, such as ("ec2", "DescribeSubnets"), and return what it gives. Blocks.

        It is about so many `resources`, and for what is usual unless `purpose` says something else.

        Raises:
            TooManyRequestsError: throttled, again and again, or no permit within 30 s. Nothing was done.
            UnavailableError: no answer, again and again, or credentials that are not accepted.
            NotFoundError, AlreadyExistsError: as the code of the refusal says.
            InvalidError: refused otherwise, for want of permission too.
        """
        return self.ask(service, action, call, purpose=purpose, resources=resources).value

    def ask(
        self,
        service: str,
        action: str,
        call: Callable[[], R],
        *,
        purpose: Purpose | None = None,
        resources: int = 1,
    ) -> Passed[R]:
        """Make a call like `call`, and tell too what it took."""
        permits = self._permits_of(service, action)
        purpose = purpose_of(action) if purpose is None else purpose
        began = self._clock.monotonic()
        waited = 0.0
        attempt = 0
        unanswered: UnavailableError | None = None
        while True:
            attempt += 1
            asked = self._clock.monotonic()
            wait = self._wait_for_permit(permits, purpose, resources, began)
            if wait is None:
                _waited(service, action, self._clock.monotonic() - asked)
                # Too many requests means that nothing was done: not so where an attempt got no answer.
                raise unanswered or NoPermitError(
                    f"no permit for {service}:{action} within {_MOST_SECONDS:g} s"
                )
            waited += wait
            _waited(service, action, wait)
            sent = self._clock.monotonic()
            if not is_look_up(action):
                self._may_change()
            try:
                return Passed(call(), waited, attempt)
            except (ClientError, BotoCoreError, ResponseParserError) as error:
                failure = port_error(error, service=service, action=action)
                if failure is None:
                    raise
            self._note(permits, failure)
            if isinstance(failure, UnavailableError):
                unanswered = failure
            pause = self._dice.uniform(*_BACKOFF.bounds(attempt))
            late = self._clock.monotonic() + pause - began > _MOST_SECONDS
            if not worth_repeating(failure) or attempt >= _MOST_ATTEMPTS or late:
                self._failed(service, action, failure, sent)
                # Its cause is what AWS said, less secrets; botocore's own error would tell all of it.
                raise unanswered or failure if isinstance(failure, TooManyRequestsError) else failure
            self._sleep(pause)
            self._failed(service, action, failure, sent)

    def wait(self, seconds: float) -> None:
        """Wait for what AWS has done to be seen by all of AWS. Blocks."""
        self._sleep(seconds)

    def _wait_for_permit(
        self, permits: Permits, purpose: Purpose, resources: int, began: float
    ) -> float | None:
        """Wait, and return for how many seconds; None where it would take too long."""
        with self._lock:
            asked_at = self._clock.monotonic()
            ticket = permits.ask(purpose, resources)
        try:
            while (pause := self._turn(permits, ticket, began)) is not None:
                if ticket.granted:
                    return self._clock.monotonic() - asked_at
                self._sleep(pause)
            return None
        finally:
            if not ticket.granted:
                with self._lock:
                    permits.withdraw(ticket)

    def _turn(self, permits: Permits, ticket: Ticket, began: float) -> float | None:
        """Grant what there is, and return how long to wait for more; None where it would be too long."""
        with self._lock:
            now = self._clock.monotonic()
            permits.grant(now)
            if ticket.granted:
                return 0.0
            if now + permits.least_wait(ticket, now) - began > _MOST_SECONDS:
                return None
            return max(permits.wait(now), _SHORTEST_WAIT)

    def _failed(self, service: str, action: str, failure: PortError, sent: float) -> None:
        """Note for the caller that an attempt, sent at monotonic second `sent`, failed."""
        note_delay(
            CallDelay(
                cause=cause_of_error(failure),
                what=_called(service, action),
                seconds=self._clock.monotonic() - sent,
                attempts=1,
                why=str(failure),
            )
        )

    def _note(self, permits: Permits, failure: PortError) -> None:
        """Empty our bucket where AWS says its own is empty: others of the account take tokens too."""
        if isinstance(failure, TooManyRequestsError):
            with self._lock:
                permits.slow_down(self._clock.monotonic())

    def _permits_of(self, service: str, action: str) -> Permits:
        name = class_of(action)
        with self._lock:
            known = self._permits.get((service, name))
            if known is None:
                now = self._clock.monotonic()
                about = TokenBucket(RESOURCES[name], now) if name in RESOURCES else None
                known = self._permits[service, name] = Permits(TokenBucket(self._limits[name], now), about)
            return known


def _called(service: str, action: str) -> str:
    return f"{service.upper()}/{action}"


def _waited(service: str, action: str, seconds: float) -> None:
    """Note for the caller that a call waited for a permit."""
    if seconds >= _WORTH_TELLING_SECONDS:
        note_delay(CallDelay(cause=DelayCause.RATE_LIMIT, what=_called(service, action), seconds=seconds))
