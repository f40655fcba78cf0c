"""Delays: what held up a span, why, for how long and how often it was tried, told by its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from treenail.domain.model.errors import ConflictError, NoPermitError, TooManyRequestsError, UnavailableError
from treenail.domain.telemetry.bounded_values import bounded_text
from treenail.domain.telemetry.log_facts import shortened
from treenail.domain.telemetry.tracing import Attribute, SpanEvent

DELAY: Final = "delay"
CAUSE_OF_DELAY: Final = "treenail.delay.cause"
DELAYED_BY: Final = "treenail.delay.of"
DELAY_SECONDS: Final = "treenail.delay.seconds"
DELAY_ATTEMPTS: Final = "treenail.delay.attempts"
DELAY_WHY: Final = "treenail.delay.why"
_MOST_EVENTS: Final = 20
_MOST_NAMES: Final = 1_000
_LONGEST_WHY: Final = 500
_MOST_FAILING: Final = 10_000


class DelayCause(StrEnum):
    """Causes of a delay: of calls how they fail, of nodes and pods what holds them."""

    NO_ANSWER = "no_answer"
    THROTTLED = "throttled"
    RATE_LIMIT = "rate_limit"
    SLOW_ANSWER = "slow_answer"
    CONFLICT = "conflict"
    REFUSED = "refused"
    CIRCUIT_BREAKER = "circuit_breaker"
    RESTART = "restart"
    TRACE_EXPORT = "trace_export"
    NO_CAPACITY = "no_capacity"
    INSTANCE_HIDDEN = "instance_hidden"
    OTHER_DECISION = "other_decision"
    POD_REFUSED = "pod_refused"
    CLAIM_FAILED = "claim_failed"
    NODE_JOINS = "node_joins"
    NODE_NOT_USABLE = "node_not_usable"
    DISRUPTION_BUDGET = "disruption_budget"
    DO_NOT_DISRUPT = "do_not_disrupt"
    REPLACEMENT = "replacement"
    POD_STOPS = "pod_stops"
    VOLUMES = "volumes"
    INSTANCE_STOPS = "instance_stops"
    QUEUE = "queue"


_NO_LIMIT: Final[Mapping[DelayCause, timedelta]] = {}


def cause_of_error(error: Exception) -> DelayCause:
    """Return what a call that failed with `error` waits for when it is tried again."""
    match error:
        case UnavailableError():
            return DelayCause.NO_ANSWER
        case NoPermitError():
            return DelayCause.RATE_LIMIT
        case TooManyRequestsError():
            return DelayCause.THROTTLED
        case ConflictError():
            return DelayCause.CONFLICT
        case _:
            return DelayCause.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """A time in which something waited, and for `what`: "EC2/CreateFleet", pods, a node.

    `attempts` is how often it was tried in vain, 0 where nothing was tried.
    """

    cause: DelayCause
    what: str
    since: datetime
    until: datetime
    attempts: int = 0
    why: str = ""

    @property
    def lasted(self) -> timedelta:
        """The duration, 0 for one that ends before it begins."""
        return max(self.until - self.since, timedelta(0))

    def event(self) -> SpanEvent:
        """Return it as an event, at the time when it began."""
        attributes: dict[str, Attribute] = {
            CAUSE_OF_DELAY: self.cause.value,
            DELAYED_BY: self.what,
            DELAY_SECONDS: round(self.lasted.total_seconds(), 3),
        }
        if self.attempts:
            attributes[DELAY_ATTEMPTS] = self.attempts
        if self.why:
            attributes[DELAY_WHY] = bounded_text(self.why, _LONGEST_WHY)
        return SpanEvent(DELAY, self.since, attributes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelay:
    """A delay within a call, as whoever makes the attempts knows it: in seconds, by its cause."""

    cause: DelayCause
    what: str
    seconds: float
    attempts: int = 0
    why: str = ""


def placed(within: Iterable[CallDelay], since: datetime) -> tuple[Delay, ...]:
    """Return the delays within a call that began at `since`, one after the other."""
    found: list[Delay] = []
    at = since
    for one in within:
        began, at = at, at + timedelta(seconds=max(0.0, one.seconds))
        found.append(
            Delay(cause=one.cause, what=one.what, since=began, until=at, attempts=one.attempts, why=one.why)
        )
    return tuple(found)


def delay_events(delays: Iterable[Delay]) -> tuple[SpanEvent, ...]:
    """Return the events of delays in the order they began: of many the longest, and how many are left out."""
    known = sorted(delays, key=lambda one: (-one.lasted, one.since, one.cause, one.what))
    shown = sorted(known[:_MOST_EVENTS], key=lambda one: (one.since, one.cause, one.what))
    events = tuple(one.event() for one in shown)
    left_out = known[_MOST_EVENTS:]
    if not left_out:
        return events
    first = min(one.since for one in left_out)
    return (*events, SpanEvent("delays left out", first, {"treenail.delays.left_out": len(left_out)}))


@dataclass(slots=True)
class _Hold:
    since: datetime
    until: datetime
    why: str
    names: dict[str, None] = field(default_factory=dict)
    attempts: int = 0


class DelayLog:
    """The delays of one span that is under way. Mutable.

    Delays of one cause by one call are merged, from the first to the last. A cause that `holds` a span is
    reported again and again: it counts from the first report until it is not reported any more.
    """

    def __init__(self) -> None:
        self._delays: dict[tuple[DelayCause, str], Delay] = {}
        self._holds: dict[DelayCause, _Hold] = {}
        self._now: dict[DelayCause, None] = {}

    def add(self, delay: Delay) -> None:
        """Take in a delay that is over, or goes on."""
        key = (delay.cause, delay.what)
        known = self._delays.get(key)
        if known is not None:
            delay = replace(
                delay,
                since=min(known.since, delay.since),
                until=max(known.until, delay.until),
                attempts=known.attempts + delay.attempts,
                why=delay.why or known.why,
            )
        self._delays[key] = delay

    def extend(self, cause: DelayCause, what: str, until: datetime) -> None:
        """Let a delay that was told last until then; nothing where none was."""
        known = self._delays.get((cause, what))
        if known is not None:
            self._delays[cause, what] = replace(known, until=max(known.until, until))

    def refused(self, cause: DelayCause, name: str, why: str, now: datetime) -> None:
        """Take in that what is called `name` was tried in vain."""
        hold = self._holds.setdefault(cause, _Hold(now, now, why))
        hold.until, hold.why = now, why
        hold.attempts += 1
        if len(hold.names) < _MOST_NAMES:
            hold.names[name] = None

    def let_go(self, cause: DelayCause, name: str, now: datetime) -> None:
        """Take in that what is called `name` went at last; nothing where it was not refused before."""
        hold = self._holds.get(cause)
        if hold is not None and name in hold.names:
            hold.until = max(hold.until, now)

    def hold(self, holding: Mapping[DelayCause, tuple[Iterable[str], str]], now: datetime) -> None:
        """Take in all that holds the span now: by cause, the names of what holds it, and a sentence."""
        for cause in (*self._now, *holding):
            if cause in self._holds:
                self._holds[cause].until = now
        for cause, (names, why) in holding.items():
            hold = self._holds.setdefault(cause, _Hold(now, now, why))
            hold.why = why
            for name in names:
                if len(hold.names) < _MOST_NAMES:
                    hold.names[name] = None
        self._now = dict.fromkeys(holding)

    def take(
        self, now: datetime, *, shortest: Mapping[DelayCause, timedelta] = _NO_LIMIT
    ) -> tuple[SpanEvent, ...]:
        """Return the events of the span that ends now, and forget them.

        What held it for less than the `shortest` time of its cause is none, unless it was tried in vain.
        """
        self.hold({}, now)
        holds = [
            Delay(
                cause=cause,
                what=shortened(tuple(hold.names)),
                since=hold.since,
                until=hold.until,
                attempts=hold.attempts,
                why=hold.why,
            )
            for cause, hold in self._holds.items()
            if hold.attempts or hold.until - hold.since >= shortest.get(cause, timedelta(0))
        ]
        events = delay_events((*self._delays.values(), *holds))
        self._delays, self._holds = {}, {}
        return events


@dataclass(slots=True)
class FailingCalls:
    """Calls that failed and are tried again, by what they are told apart by: the latest 10,000. Mutable.

    Nobody says of a call that it is given up, so the oldest make room.
    """

    _since: dict[object, tuple[datetime, DelayCause]] = field(default_factory=dict)

    def failed(
        self,
        key: object,
        what: str,
        error: Exception,
        noted: Iterable[Delay],
        *,
        since: datetime,
        now: datetime,
    ) -> tuple[Delay, ...]:
        """Take in that a call, begun at `since`, failed; return its delays, and those `noted` within it."""
        cause = cause_of_error(error)
        within = tuple(noted)
        attempts = sum(one.attempts for one in within if one.cause is cause and one.what == what)
        began = min(since, self._since.pop(key, (since, cause))[0])
        self._since[key] = (began, cause)
        if len(self._since) > _MOST_FAILING:
            del self._since[next(iter(self._since))]
        own = Delay(cause=cause, what=what, since=began, until=now, attempts=max(1, attempts), why=str(error))
        return (own, *(one for one in within if (one.cause, one.what) != (cause, what)))

    def answered(
        self, key: object, what: str, noted: Iterable[Delay], *, since: datetime, now: datetime, usual: float
    ) -> tuple[Delay, ...]:
        """Take in that a call, begun at `since`, was answered; return the delays that this is known by.

        One that takes more than the `usual` seconds, and not because of what was `noted` within, was slow.
        """
        within = tuple(noted)
        found = []
        before = self._since.pop(key, None)
        if before is not None:
            began, cause = before
            found.append(Delay(cause=cause, what=what, since=began, until=max(began, since)))
        took = (now - since).total_seconds()
        waited = [one for one in within if one.cause is DelayCause.RATE_LIMIT]
        if waited:
            # Others waited for permits, too, before this one's turn to wait came.
            within = tuple(
                replace(one, since=since, until=now) if one is waited[0] else one for one in within
            )
        elif took - sum(one.lasted.total_seconds() for one in within) > usual:
            found.append(Delay(cause=DelayCause.SLOW_ANSWER, what=what, since=since, until=now))
        return (*found, *within)
