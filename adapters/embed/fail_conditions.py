"""Conditions on the numbers of a rehearsal, such as `pending>0`: NAME OP NUMBER."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from treenail.adapters.embed.seed_results import DOLLARS, MEASURES, SECONDS, SeedResult

_Operators = Mapping[str, Callable[[float, float], bool]]
_OPERATORS: Final[_Operators] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM: Final = re.compile(r"\s*(\w+)\s*([<>=!]+)\s*(\S+)\s*")
_UNITS: Final = {DOLLARS: "in dollars", SECONDS: "in seconds", "": "a count"}


@dataclass(frozen=True, slots=True)
class FailCondition:
    """A measure, an operator and a number; `str` is as it was written."""

    name: str
    operator: str
    number: float
    written: str

    def __str__(self) -> str:
        return self.written

    def holds(self, result: SeedResult) -> bool:
        """Return whether it holds; never for a wait where no pod waited."""
        value = result.value(self.name)
        return value is not None and _OPERATORS[self.operator](value, self.number)


def fail_condition(text: str) -> FailCondition:
    """Read a condition such as `pending>0` or `p99Wait >= 120`.

    Raises:
        ValueError: it is not of that form, or there is no such measure or operator.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError("is not NAME OP NUMBER, such as pending>0")
    name, sign, number = found.groups()
    if name not in MEASURES:
        near = get_close_matches(name.lower(), {one.lower(): one for one in MEASURES}, n=1)
        meant = [one for one in MEASURES if one.lower() in near]
        raise ValueError(
            f"there is no measure {name}"
            + (f"; did you mean {meant[0]}?" if meant else f": there are {', '.join(MEASURES)}")
        )
    if sign not in _OPERATORS:
        raise ValueError(f"{sign} is none of {' '.join(sorted(_OPERATORS))}")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a number: {name} is {_UNITS[MEASURES[name].unit]}")
    return FailCondition(name, sign, value, text.strip())
