from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.steady_time import ClockStepped, SteadyTime

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_clock_that_is_not_set_is_read_as_it_is() -> None:
    time = SteadyTime(START, 100.0)

    assert [time.read(at(s), 100.0 + s) for s in (0.5, 7, 3600)] == [
        (at(0.5), None),
        (at(7), None),
        (at(3600), None),
    ]


@pytest.mark.parametrize("step", [-3600, 3600, -5, 5])
def test_a_step_is_told_of_once_and_time_goes_on(step: float) -> None:
    time = SteadyTime(START, 0.0)
    time.read(at(10), 10.0)

    before, stepped = time.read(at(10 + step), 10.0)
    after, again = time.read(at(11 + step), 11.0)

    assert stepped == ClockStepped(seconds=step)
    assert again is None
    assert before == at(10)
    assert abs((after - before).total_seconds() - 1) <= 0.101


def test_a_clock_that_was_set_right_is_followed_at_a_tenth() -> None:
    time = SteadyTime(START, 0.0)

    time.read(at(60), 0.0)

    assert time.read(at(60 + 300), 300.0)[0] == at(330)
    assert time.read(at(60 + 700), 700.0)[0] == at(760)


def test_the_first_answer_of_the_api_server_sets_a_wrong_clock_right() -> None:
    time = SteadyTime(START, 0.0)

    assert time.hear(at(-3600), 0.0) == -3600

    assert time.read(START, 0.0)[0] == at(-3600)
    assert time.read(at(5), 5.0)[0] == at(-3595)


def test_the_machines_clock_no_longer_matters_once_the_api_server_told_the_time() -> None:
    time = SteadyTime(START, 0.0)
    time.hear(at(0.4), 0.0)

    time.read(at(3601), 1.0)
    time.hear(at(600), 600.0)

    assert time.read(at(7200), 3600.0)[0] == at(3600)


Readings = st.lists(
    st.tuples(st.floats(0, 100), st.floats(-4000, 4000), st.one_of(st.none(), st.floats(-4000, 4000))),
    max_size=30,
)


@given(Readings)
def test_time_never_goes_back_and_durations_are_right_to_a_tenth(readings: list[tuple[float, ...]]) -> None:
    time = SteadyTime(START, 0.0)
    time.hear(START, 0.0)
    monotonic, last = 0.0, START
    for elapsed, wall_off, heard_off in readings:
        monotonic += elapsed
        now, _ = time.read(at(monotonic + wall_off), monotonic)
        took = (now - last).total_seconds()
        assert 0.9 * elapsed - 0.002 <= took <= 1.1 * elapsed + 0.002
        last = now
        if heard_off is not None:
            time.hear(at(monotonic + heard_off), monotonic)
