"""Which cron schedules are taken: by us, and by the patterns that the API server is given."""

from __future__ import annotations

import random
import re

import pytest

from treenail.adapters.api.karpenter.cron import CRON, LONGEST, NEVER, cron_problem
from treenail.domain.budget_windows import schedule_problem

TAKEN = (
    "0 9 * * 1-5",
    "@daily",
    "*/5 * * * *",
    "5/10 * * * *",
    "1-5/2,7 * * * *",
    "0 9 * jan-mar mon-fri",
    "0 9 ? * SUN,2-4,7",
    "00 09 01 12 *",
    "0  9 * *   *",
    "0 0 29 2 *",
    "0 0 31 4,5 *",
    "0 0 30 2 1",
    "0 0 * * SUN-SAT",
)
REFUSED = (
    "",
    "@every 1h",
    "@Daily",
    "* * * *",
    "0 0 0 * * *",
    "99 * * * *",
    "60 * * * *",
    "0 24 * * *",
    "0 0 0 * *",
    "0 0 32 * *",
    "0 0 * 13 *",
    "0 0 * 0 *",
    "0 0 * * 8",
    "0 0 * * FRI-MON",
    "0 17-9 * * *",
    "*/0 * * * *",
    "*-5 * * * *",
    "0 0 30 2 *",
    "0 0 30,31 FEB ?",
    "0 0 31 2,apr-11 *",
    "0 0 31 4,6,SEP *",
    "0 0 L * *",
    "0 0 * * 1#2",
    "0 0 * * 1-FRI",
    " 0 9 * * *",
    "0 9 * * * ",
    "TZ=UTC 0 9 * * *",
    "0 9 * * 1\n",
    f"{'0,' * LONGEST}0 9 * * *",
)


@pytest.mark.parametrize("schedule", TAKEN)
def test_a_schedule_that_can_be_followed_is_taken(schedule: str) -> None:
    assert cron_problem(schedule) is None


@pytest.mark.parametrize("schedule", REFUSED)
def test_a_schedule_that_cannot_is_refused(schedule: str) -> None:
    assert cron_problem(schedule) is not None


@pytest.mark.parametrize("first", range(60))
def test_a_range_may_not_end_before_it_begins(first: int) -> None:
    told = [last for last in range(60) for zero in ("", "0") if cron_problem(f"{first}-{zero}{last} * * * *")]

    assert told == [last for last in range(first) for _ in range(2)]


def drawn(dice: random.Random) -> str:
    """Return something much like a schedule."""
    numbers = [str(n) for n in (0, 1, 2, 5, 7, 9, 12, 23, 28, 30, 31, 32, 59, 60)]
    names = ["*", "?", "MON", "fri", "FEB", "nov", "L"]

    def item() -> str:
        one = dice.choice(numbers * 2 + names)
        ended = f"{one}-{dice.choice(numbers + names)}" if dice.random() < 0.2 else one
        return f"{ended}/{dice.choice(('0', '2', '15'))}" if dice.random() < 0.15 else ended

    plain = ["*", *numbers[:5]]
    fields = [item() if dice.random() < 0.5 else dice.choice(plain) for _ in range(5)]
    return " ".join(f"{f},{item()}" if dice.random() < 0.15 else f for f in fields)


def test_what_the_patterns_take_can_nearly_always_be_followed() -> None:
    dice = random.Random(7)
    taken = 0
    for _ in range(20_000):
        schedule = drawn(dice)
        backwards = any(int(a) > int(b) for a, b in re.findall("([0-9]+)-([0-9]+)", schedule))
        if re.fullmatch(CRON, schedule) and not re.fullmatch(NEVER, schedule) and not backwards:
            taken += 1
            days, months = schedule.split()[2:4]
            # Left to the controller alone are days that no month has and that are written by steps or ranges.
            assert schedule_problem(schedule) is None or "/" in days or "-" in months, schedule
    assert taken > 500
