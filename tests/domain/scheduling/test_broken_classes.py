from __future__ import annotations

import pytest

from tests.builders import DEFAULT_CLASS
from treenail.domain.scheduling.broken_classes import BrokenClasses

WHY = "no such profile"


def left_alone_until(broken: BrokenClasses, now: float) -> float:
    """Return until when the class is left alone that is now, to a tenth of a second."""
    while broken.problem(DEFAULT_CLASS, now):
        now = round(now + 0.1, 1)
    return now


def test_a_class_is_left_alone_the_longer_the_more_often_it_fails_up_to_half_a_minute() -> None:
    broken, now, pauses = BrokenClasses(), 100.0, []

    for _ in range(6):
        broken.failed(DEFAULT_CLASS, WHY, now)
        assert broken.problem(DEFAULT_CLASS, now) == WHY
        until = left_alone_until(broken, now)
        pauses.append(round(until - now, 1))
        now = until + 3

    assert pauses == [5, 10, 20, 30, 30, 30]


def test_what_fails_while_it_is_left_alone_began_before_that() -> None:
    broken = BrokenClasses()

    for now in (100.0, 101.0, 104.9):
        broken.failed(DEFAULT_CLASS, WHY, now)

    assert left_alone_until(broken, 104.9) == 105


@pytest.mark.parametrize(("seconds", "pause"), [(59, 10), (61, 5)])
def test_a_class_of_which_nothing_failed_for_a_minute_begins_anew(seconds: float, pause: float) -> None:
    broken = BrokenClasses()
    broken.failed(DEFAULT_CLASS, WHY, 100.0)
    now = 105.0 + seconds

    broken.failed(DEFAULT_CLASS, WHY, now)

    assert left_alone_until(broken, now) == now + pause


def test_a_class_that_nothing_failed_of_is_not_left_alone() -> None:
    assert not BrokenClasses().problem(DEFAULT_CLASS, 0.0)
