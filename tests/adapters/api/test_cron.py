"""Which cron schedules are taken: by us, and by the patterns that the API server is given.

What is in cron-schedules.json was asked of robfig/cron v3.0.1, which Kubernetes and Karpenter read schedules
with, and of the pattern of Karpenter's definition: the first time in 2026 of those that both take.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from treenail.adapters.api.karpenter.cron import BACKWARDS, LONGEST, NOT_CRON, cron_problem
from treenail.domain.disruption.budget_windows import counts
from treenail.domain.model.node_pools import Budget

NEVER: Final = "never"
NEW_YEAR: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FILE: Final = Path(__file__).with_name("cron-schedules.json")
SCHEDULES: Final[list[tuple[str, str | None]]] = [
    (schedule, first) for schedule, first in json.loads(_FILE.read_text(encoding="utf-8"))
]
TAKEN: Final = [(schedule, first) for schedule, first in SCHEDULES if first is not None]


def test_the_schedules_that_karpenter_follows_are_taken_and_no_others() -> None:
    ours = {schedule for schedule, _ in SCHEDULES if cron_problem(schedule) is None}

    assert ours == {schedule for schedule, _ in TAKEN}
    assert len(TAKEN) > 100 < len(SCHEDULES) - len(TAKEN)


@pytest.mark.parametrize(("schedule", "first"), TAKEN)
def test_they_come_when_they_come_in_karpenter(schedule: str, first: str) -> None:
    came = NEW_YEAR + timedelta(days=1) if first == NEVER else datetime.fromisoformat(first)
    second = timedelta(seconds=1)
    budget = Budget(nodes=0, schedule=schedule, duration=came - NEW_YEAR - second)

    assert counts(budget, came)
    assert counts(budget, came - second) == (first == NEVER)


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("0 0 * * 7", NOT_CRON),
        ("@every 1h", NOT_CRON),
        ("0 0 0 * * *", NOT_CRON),
        ("TZ=UTC 0 9 * * *", NOT_CRON),
        ("0 0 * * FRI-MON", BACKWARDS),
        ("0 0 * * 5-MON", BACKWARDS),
        ("0 0 * * wed-2/2", BACKWARDS),
        ("0 0 * DEC-11 *", BACKWARDS),
        ("0 +17-09 * * *", BACKWARDS),
        (f"{'0,' * LONGEST}0 9 * * *", f"has {2 * LONGEST + 9} characters, {LONGEST} at most are allowed"),
    ],
)
def test_of_one_that_is_not_it_is_said_what_is_wrong(schedule: str, problem: str) -> None:
    assert cron_problem(schedule) == problem


@pytest.mark.parametrize("first", range(60))
def test_a_range_may_not_end_before_it_begins(first: int) -> None:
    told = [last for last in range(60) for zero in ("", "0") if cron_problem(f"{first}-{zero}{last} * * * *")]

    assert told == [last for last in range(first) for _ in range(2)]
