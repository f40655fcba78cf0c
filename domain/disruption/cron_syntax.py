"""Cron schedules, in the language of Kubernetes' CronJobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cronsim import CronSim, CronSimError

_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class CronField:
    """The values of a schedule's field: the numbers `least` to `most`, and names of the first of them."""

    least: int
    most: int
    names: tuple[str, ...] = ()

    def number(self, written: str) -> int:
        """Return the number that is written, or has the name; ValueError: it is neither."""
        name = written.upper()
        return self.names.index(name) + self.least if name in self.names else int(written)


MINUTES: Final = CronField(0, 59)
HOURS: Final = CronField(0, 23)
DAYS: Final = CronField(1, 31)
MONTHS: Final = CronField(
    1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
)
WEEKDAYS: Final = CronField(0, 6, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
CRON_FIELDS: Final = (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS)


def plainly(schedule: str) -> str | None:
    """Return a schedule as "*" and lists of numbers alone, None where it never comes.

    "*" stands in the field of a day only where that field leaves days to the other one. Where none of both
    does, a day of either is meant, as cron has it.

    Raises:
        ValueError: it is no schedule.
    """
    written = _NICKNAMES.get(schedule.strip(), schedule).split()
    if len(written) != len(CRON_FIELDS):
        raise ValueError(f"{schedule!r} has {len(written)} fields")
    fields = [_numbers(text, field) for text, field in zip(written, CRON_FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = fields
    if not days and weekdays != _ANY:
        days = _ANY
    elif not weekdays and days != _ANY:
        weekdays = _ANY
    plain = (minutes, hours, days, months, weekdays)
    return " ".join(plain) if all(plain) else None


def first_after(schedule: str, instant: datetime) -> datetime | None:
    """Return the first time of a schedule after an instant, in the zone of that, None where it never comes.

    Raises:
        ValueError: it is no schedule.
    """
    plain = plainly(schedule)
    try:
        return None if plain is None else next(CronSim(plain, instant), None)
    except CronSimError:
        # No month has such a day.
        return None


def _numbers(text: str, field: CronField) -> str:
    """Return the numbers of a field, "*" where it says any; "" where it says none."""
    numbers: set[int] = set()
    for item in filter(None, text.split(",")):
        said = _said(item, field)
        if said is None:
            return _ANY
        numbers.update(said)
    return ",".join(str(n) for n in sorted(numbers))


def _said(item: str, field: CronField) -> range | None:
    """Return the numbers that one of a list says, None where it says any."""
    span, _, written = item.partition("/")
    first, hyphen, last = span.partition("-")
    step = int(written or 1)
    if first in {"*", "?"}:
        # What follows a hyphen here says nothing.
        return range(field.least, field.most + 1, step) if step > 1 else None
    start = field.number(first)
    end = field.number(last) if hyphen else field.most if written else start
    return range(start, end + 1, step)
