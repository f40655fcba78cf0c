"""Checks of what users set on the fakes: probabilities, spans of time, rates and counts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from math import isfinite
from typing import Any


def check_faults(faults: Any, *, rates: Collection[str] = (), counts: Collection[str] = ()) -> None:  # noqa: ANN401
    """Check the fields of a frozen dataclass of faults: probabilities, but for those named otherwise.

    `rates` may be any number from 0 on, `counts` whole ones or None. A field that ends with `_seconds` is
    checked as `check_spans` does.

    Raises:
        ValueError: a field says what cannot be; it is named.
    """
    for name, value in _fields(faults):
        where = f"{type(faults).__name__}: {name}"
        if name in counts:
            _check_count(where, value)
        elif name in rates or name.endswith("_seconds"):
            _check_span(where, value)
        elif not 0 <= _number(where, value) <= 1:
            raise ValueError(f"{where}: {value} is no probability, which is from 0 to 1")


def check_spans(settings: Any) -> None:  # noqa: ANN401
    """Check the numbers and pairs of numbers of a frozen dataclass: from 0 on, the lesser first.

    Raises:
        ValueError: a field says what cannot be; it is named.
    """
    for name, value in _fields(settings):
        if isinstance(value, tuple) and not all(isinstance(one, int | float) for one in value):
            continue
        if isinstance(value, int | float | tuple) and not isinstance(value, bool) and value != ():
            _check_span(f"{type(settings).__name__}: {name}", value)


def _fields(of: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    return [(field.name, getattr(of, field.name)) for field in fields(of)]


def _check_span(where: str, value: object) -> None:
    """Check a number, or the least and the largest of a pair."""
    numbers = [_number(where, one) for one in (value if isinstance(value, tuple) else (value,))]
    if min(numbers) < 0:
        raise ValueError(f"{where}: {value} must not be negative")
    if numbers != sorted(numbers):
        raise ValueError(f"{where}: {value} has the larger number first")


def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{where}: {value!r} is no number")
    return value


def _check_count(where: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ValueError(f"{where}: {value!r} is no count, which is a whole number from 0 on")
