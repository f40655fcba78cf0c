"""Syntax of the cron schedules of budgets, as a pattern that the API server can check too.

Accepted is what Karpenter accepts: the schedules of Kubernetes' CronJobs, without @every and time zones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from treenail.domain.disruption.cron_syntax import CRON_FIELDS, MONTHS, WEEKDAYS, CronField

# Patterns that Python and the API server (in Go) read alike; they would not if CRON ignored cases.
_BLANKS: Final = r"\t\n\f\r "
_NICKNAMES: Final = "@(annually|yearly|monthly|weekly|daily|midnight|hourly)"
_NUMBER: Final = r"\+?0*"
_STEP: Final = rf"(/{_NUMBER}[1-9][0-9]{{0,17}})?"


def _name(name: str) -> str:
    return "".join(f"[{letter}{letter.lower()}]" for letter in name)


def _either(patterns: Iterable[str]) -> str:
    return f"({'|'.join(patterns)})"


def _up_to(most: int, least: int = 0) -> str:
    """Return the pattern of the numbers `least` (below 10) to `most` (below 100)."""
    tens, ones = divmod(most, 10)
    lower = [f"[{least}-9]", f"[1-{tens - 1}][0-9]"][: min(tens, 2)]
    return _NUMBER + _either([*lower, f"{tens}[0-{ones}]" if tens else f"[{least}-{ones}]"])


def _field(field: CronField) -> str:
    """Return the pattern of a field: a list of numbers, names and ranges, each with a step if it has one."""
    value = _either([_up_to(field.most, field.least), *map(_name, field.names)])
    # Items may be empty, and what stands behind "any" and a hyphen says nothing.
    one = rf"([*?](-[^,/{_BLANKS}]*)?|{value}(-{value})?){_STEP}"
    return f"(,*{one}(,+{one})*,*|,+)"


def _descending() -> str:
    """Return the pattern of two numbers or names, joined by a hyphen, the first of which is larger."""
    ranges = [
        *(f"{ten}{one}-{_NUMBER}{ten}[0-{one - 1}]" for ten in ("", *"12345") for one in range(1, 10)),
        *(f"{ten}[0-9]-{_up_to(10 * ten - 1)}" for ten in range(1, 6)),
    ]
    for field in (MONTHS, WEEKDAYS):
        for number, name in enumerate(field.names, field.least):
            larger = [str(n) for n in range(number + 1, field.most + 1)]
            earlier = [_up_to(number - 1), *field.names[: number - field.least]] if number else []
            ranges += [f"{name}-{_either(earlier)}"] if earlier else []
            ranges += [f"{_either(larger)}-{name}"] if larger else []
    return f"(?i:{_NUMBER}{_either(ranges)})"


_FIELDS: Final = f"[{_BLANKS}]+".join(map(_field, CRON_FIELDS))
CRON: Final = rf"^({_NICKNAMES}[{_BLANKS}]*|[{_BLANKS}]*{_FIELDS}[\t\f\r ]*)$"
DESCENDING: Final = f"(^|[,{_BLANKS}]){_descending()}($|[,/{_BLANKS}])"
LONGEST: Final = 512

NOT_CRON: Final = "is not a cron schedule (such as '0 9 * * 1-5' or @daily)"
BACKWARDS: Final = "is a cron schedule with a range that ends before it begins"

_CRON: Final = re.compile(CRON)
_DESCENDING: Final = re.compile(DESCENDING)


def cron_problem(schedule: str) -> str | None:
    """Return what is wrong with a schedule, None where it can be followed."""
    if len(schedule) > LONGEST:
        return f"has {len(schedule)} characters, {LONGEST} at most are allowed"
    if _CRON.fullmatch(schedule) is None:
        return NOT_CRON
    return BACKWARDS if _DESCENDING.search(schedule) is not None else None
