from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import at
from treenail.domain.model.errors import (
    ConflictError,
    InvalidError,
    NoPermitError,
    TooManyRequestsError,
    UnavailableError,
)
from treenail.domain.telemetry.call_delays import note_delay, noting_delays
from treenail.domain.telemetry.delays import (
    CallDelay,
    Delay,
    DelayCause,
    DelayLog,
    FailingCalls,
    cause_of_error,
    delay_events,
    placed,
)

AWAY = DelayCause.NO_ANSWER
CALL = "EC2/CreateFleet"


def away(since: float, until: float, what: str = CALL) -> Delay:
    return Delay(cause=AWAY, what=what, since=at(since), until=at(until), attempts=1, why="no answer")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (UnavailableError("x"), DelayCause.NO_ANSWER),
        (TooManyRequestsError("x"), DelayCause.THROTTLED),
        (NoPermitError("x"), DelayCause.RATE_LIMIT),
        (ConflictError("x"), DelayCause.CONFLICT),
        (InvalidError("x"), DelayCause.REFUSED),
    ],
)
def test_a_failed_call_waits_for_what_its_error_says(error: Exception, cause: DelayCause) -> None:
    assert cause_of_error(error) is cause


def test_an_event_says_what_waited_for_what_how_long_and_how_often() -> None:
    event = away(1, 41.5).event()

    assert (event.name, event.at) == ("delay", at(1))
    assert event.attributes == {
        "treenail.delay.cause": "no_answer",
        "treenail.delay.of": CALL,
        "treenail.delay.seconds": 40.5,
        "treenail.delay.attempts": 1,
        "treenail.delay.why": "no answer",
    }


def test_of_many_delays_the_longest_are_told_and_the_others_counted() -> None:
    events = delay_events(away(0, n, f"call {n}") for n in range(1, 31))

    assert len(events) == 21
    assert {e.attributes["treenail.delay.seconds"] for e in events[:-1]} == set(range(11, 31))
    assert events[-1].attributes == {"treenail.delays.left_out": 10}


def test_delays_of_one_cause_by_one_call_are_one() -> None:
    log = DelayLog()
    for since in (5, 0, 10):
        log.add(away(since, since + 2))

    (event,) = log.take(at(20))

    assert (event.at, event.attributes["treenail.delay.seconds"]) == (at(0), 12)
    assert event.attributes["treenail.delay.attempts"] == 3
    assert log.take(at(20)) == ()


def test_what_holds_a_span_counts_until_it_is_not_told_any_more() -> None:
    log = DelayLog()
    log.hold({DelayCause.VOLUMES: (("pv-1",), "attached")}, at(0))
    log.hold({DelayCause.VOLUMES: (("pv-2",), "attached")}, at(7))
    log.hold({}, at(9))
    log.hold({}, at(30))

    (event,) = log.take(at(40), shortest={DelayCause.VOLUMES: timedelta(seconds=9)})

    assert event.attributes["treenail.delay.of"] == "pv-1, pv-2"
    assert event.attributes["treenail.delay.seconds"] == 9


def test_what_holds_a_span_for_a_moment_is_no_delay_unless_it_was_tried_in_vain() -> None:
    shortest = dict.fromkeys(DelayCause, timedelta(seconds=5))
    log = DelayLog()
    log.hold({DelayCause.VOLUMES: (("pv-1",), "")}, at(0))
    log.refused(DelayCause.DISRUPTION_BUDGET, "web", "the budget", at(1))

    (event,) = log.take(at(2), shortest=shortest)

    assert event.attributes["treenail.delay.cause"] == "disruption_budget"
    assert event.attributes["treenail.delay.attempts"] == 1


def test_a_call_that_is_answered_at_last_was_delayed_from_its_first_attempt_to_its_last() -> None:
    calls = FailingCalls()
    for n in (0, 10, 20):
        calls.failed("fleet", CALL, UnavailableError("x"), (), since=at(n), now=at(n + 5))

    (delay,) = calls.answered("fleet", CALL, (), since=at(30), now=at(31), usual=2)

    assert (delay.cause, delay.since, delay.until) == (AWAY, at(0), at(30))
    assert calls.answered("fleet", CALL, (), since=at(40), now=at(41), usual=2) == ()


def test_calls_that_are_given_up_are_forgotten_when_ten_thousand_others_have_failed_since() -> None:
    calls = FailingCalls()
    for n in range(10_001):
        calls.failed(n, CALL, UnavailableError("x"), (), since=at(0), now=at(1))

    assert calls.answered(0, CALL, (), since=at(8), now=at(9), usual=2) == ()
    assert len(calls.answered(1, CALL, (), since=at(8), now=at(9), usual=2)) == 1


def test_an_answer_is_slow_where_nothing_within_the_call_explains_its_time() -> None:
    calls = FailingCalls()
    within = placed([CallDelay(cause=DelayCause.THROTTLED, what=CALL, seconds=8, attempts=2)], at(0))

    (slow,) = calls.answered("a", CALL, (), since=at(0), now=at(10), usual=5)
    (throttled,) = calls.answered("b", CALL, within, since=at(0), now=at(10), usual=5)

    assert (slow.cause, slow.lasted) == (DelayCause.SLOW_ANSWER, timedelta(seconds=10))
    assert (throttled.cause, throttled.lasted) == (DelayCause.THROTTLED, timedelta(seconds=8))


def test_a_call_behind_others_that_wait_for_permits_was_delayed_by_the_rate_limit_all_the_time() -> None:
    within = placed([CallDelay(cause=DelayCause.RATE_LIMIT, what=CALL, seconds=1)], at(0))

    (delay,) = FailingCalls().answered("a", CALL, within, since=at(0), now=at(50), usual=5)

    assert (delay.cause, delay.lasted) == (DelayCause.RATE_LIMIT, timedelta(seconds=50))


def test_delays_within_a_call_are_heard_of_by_who_asked_for_it_and_by_nobody_else() -> None:
    one = CallDelay(cause=DelayCause.RATE_LIMIT, what=CALL, seconds=1)
    heard: list[CallDelay] = []

    def call() -> str:
        note_delay(one)
        return "answer"

    assert noting_delays(call, heard)() == "answer"
    call()

    assert heard == [one]
