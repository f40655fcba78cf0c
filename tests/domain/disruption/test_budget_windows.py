from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from treenail.domain.disruption.budget_windows import counts, next_change
from treenail.domain.model.node_pools import Budget


def on(text: str) -> datetime:
    """A time in January 2026, whose first day is a Thursday: "5 09:00"."""
    day, clock = text.split()
    return datetime.fromisoformat(f"2026-01-{int(day):02} {clock}").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "hours", "during", "beside"),
    [
        pytest.param("0 9 * * 1-5", 8, ("5 09:00", "5 16:59", "9 12:00"), ("5 08:59", "5 17:00", "3 12:00")),
        pytest.param("0 9 * * MON-FRI", 8, ("5 09:00",), ("4 09:00",), id="days by name"),
        pytest.param("0 22 * * *", 4, ("5 23:59", "6 01:59"), ("6 02:00", "6 21:59"), id="over midnight"),
        pytest.param("*/30 * * * *", 1, ("5 00:00", "5 00:29", "5 12:59"), (), id="again before it is over"),
        pytest.param("@daily", 1, ("5 00:00", "5 00:59"), ("5 01:00",), id="@daily"),
        pytest.param("@weekly", 1, ("4 00:30",), ("5 00:30",), id="@weekly"),
        pytest.param("@monthly", 24, ("1 23:59",), ("2 00:00",), id="@monthly"),
        pytest.param("@yearly", 24, ("1 23:59",), ("2 00:00",), id="@yearly"),
        pytest.param("@annually", 24, ("1 23:59",), ("2 00:00",), id="@annually"),
        pytest.param("@midnight", 1, ("5 00:59",), ("5 01:00",), id="@midnight"),
        pytest.param("@hourly", 1, ("5 00:00", "5 13:13"), (), id="@hourly"),
        pytest.param("0 0 13 * 5", 24, ("13 10:00", "9 10:00"), ("12 10:00",), id="either kind of day"),
        pytest.param("0 9 ? * 1", 1, ("5 09:30",), ("6 09:30",), id="any day by a question mark"),
        pytest.param(
            "0 9 */2 * 1",
            1,
            ("5 09:30", "7 09:30", "12 09:30"),
            ("6 09:30",),
            id="each second day, or Mondays",
        ),
        pytest.param("0 9 1,* * 1", 1, ("5 09:30",), ("1 09:30",), id="any day among others"),
        pytest.param("0 9 , * 1", 1, ("5 09:30",), ("6 09:30",), id="no day of the month"),
    ],
)
def test_a_budget_counts_from_each_time_of_its_schedule_until_its_duration_is_over(
    schedule: str, hours: int, during: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    budget = Budget(nodes=0, schedule=schedule, duration=timedelta(hours=hours))

    assert [when for when in during if not counts(budget, on(when))] == []
    assert [when for when in beside if counts(budget, on(when))] == []


def test_a_budget_without_a_schedule_always_counts() -> None:
    assert counts(Budget(nodes=0), on("5 09:00"))


@pytest.mark.parametrize("schedule", ["0 0 30 2 *", "0 0 , * *", ", * * * *"])
def test_a_budget_whose_schedule_never_comes_always_counts(schedule: str) -> None:
    assert counts(Budget(nodes=0, schedule=schedule, duration=timedelta(hours=1)), on("5 09:00"))


@pytest.mark.parametrize(
    ("schedule", "hours", "now", "until"),
    [
        pytest.param("0 9 * * 1-5", 8, "5 08:59", "5 09:00", id="it begins"),
        pytest.param("0 9 * * 1-5", 8, "5 09:00", "5 17:00", id="it is over"),
        pytest.param("0 9 * * 1-5", 8, "9 17:00", "12 09:00", id="it begins after the weekend"),
        pytest.param("*/30 * * * *", 1, "5 00:10", "5 00:30", id="a time of it is over, others are not"),
    ],
)
def test_what_a_budget_says_is_known_until_it_may_change(
    schedule: str, hours: int, now: str, until: str
) -> None:
    budget = Budget(nodes=0, schedule=schedule, duration=timedelta(hours=hours))

    assert next_change(budget, on(now)) == on(until)


def test_a_budget_that_always_counts_never_changes() -> None:
    never = Budget(nodes=0, schedule="0 0 30 2 *", duration=timedelta(hours=1))

    assert [next_change(budget, on("5 09:00")) for budget in (Budget(nodes=0), never)] == [None, None]
