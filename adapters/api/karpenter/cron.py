"""Cron schedules of budgets: how they are written, which the API server can tell as well as we can."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from treenail.domain.budget_windows import schedule_problem

_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_SHORT_MONTHS: Final = "0*(2|4|6|9|11)|FEB|APR|JUN|SEP|NOV"


def _field(number: str, names: Sequence[str] = (), *, other: str = "") -> str:
    """Return the pattern of a field: a list of numbers, names and ranges, each with a step if it has one."""
    own = f"0*({number})"
    ranges = [r"\*", f"{own}(-{own})?"]
    ranges += [f"{name}(-({'|'.join(names[place:])}))?" for place, name in enumerate(names)]
    one = f"({'|'.join(ranges)})(/0*[1-9][0-9]{{0,3}})?"
    return f"({one}(,{one})*{other})"


_FIELDS: Final = (
    _field("[1-5]?[0-9]"),
    _field("1?[0-9]|2[0-3]"),
    _field("[1-9]|[12][0-9]|3[01]", other=r"|\?"),
    _field("[1-9]|1[0-2]", _MONTHS),
    _field("[0-7]", _DAYS, other=r"|\?"),
)
_SPACE: Final = r"\s+"
_NICKNAMES: Final = "@(annually|yearly|monthly|weekly|daily|midnight|hourly)"


def _descending() -> str:
    """Return the pattern of two numbers below 60, joined by a hyphen, the first of which is larger."""
    same_ten = [f"{ten}{digit}-0*{ten}[0-{digit - 1}]" for ten in ("", *"12345") for digit in range(1, 10)]
    lower_ten = [f"{ten}[0-9]-0*[1-{ten - 1}][0-9]" for ten in range(2, 6)]
    return "|".join((*same_ten, *lower_ten, "[1-9][0-9]-0*[0-9]"))


def _listed(one: str) -> str:
    return f"({one})(,({one}))*"


# Patterns that Python and the API server (in Go) read alike. Schedules that never come ask for days that none
# of their months has, where no day of the week will do.
CRON: Final = f"^({_NICKNAMES}|(?i:{_SPACE.join(_FIELDS)}))$"
NEVER: Final = (
    r"^(?i:\S+\s+\S+\s+"
    f"({_listed('0*3[01](-0*3[01])?')}\\s+{_listed('0*2|FEB')}"
    f"|{_listed('0*31(-0*31)?')}\\s+{_listed(_SHORT_MONTHS)})"
    r"\s+[*?])$"
)
DESCENDING: Final = f"(^|[^0-9])0*({_descending()})([^0-9]|$)"
LONGEST: Final = 255

NOT_CRON: Final = "is not a cron schedule (such as '0 9 * * 1-5' or @daily)"
BACKWARDS: Final = "is a cron schedule with a range that ends before it begins"
NEVER_COMES: Final = "is a cron schedule that never comes"

_CRON: Final = re.compile(CRON)
_NEVER: Final = re.compile(NEVER)
_DESCENDING: Final = re.compile(DESCENDING)


def cron_problem(schedule: str) -> str | None:
    """Return what is wrong with a schedule, None where it can be followed."""
    if len(schedule) > LONGEST:
        return f"has {len(schedule)} characters, {LONGEST} at most are allowed"
    if _CRON.fullmatch(schedule) is None:
        return NOT_CRON
    if _DESCENDING.search(schedule) is not None:
        return BACKWARDS
    if _NEVER.fullmatch(schedule) is not None:
        return NEVER_COMES
    problem = schedule_problem(schedule)
    return None if problem is None else f"is a cron schedule that cannot be followed: {problem}"
