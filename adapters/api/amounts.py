"""Quantities and durations as manifests write them, read at a field's path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Final, TypeAlias

import msgspec

from treenail.adapters.api.diagnosis import quoted, under
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import WANTED, Quantity
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.resources import (
    EPHEMERAL_STORAGE,
    Resources,
    TooLargeError,
    amount_of,
    format_amount,
)

NEVER: Final = "Never"

Duration: TypeAlias = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^([0-9]+(s|m|h))+$", extra={WANTED: "a duration (such as 30s, 15m, 1h30m or 720h)"}
    ),
]
DurationOrNever: TypeAlias = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(([0-9]+(s|m|h))+|Never)$",
        extra={WANTED: "a duration (such as 30s, 15m, 1h30m or 720h) or Never"},
    ),
]

# An amount is an int64 for the API server. What one pod or node has is kept so far below that a whole
# cluster's sum still is one, and that a float holds it exactly.
MOST_IN_ALL: Final = 2**63 - 1
MOST_OF_ONE: Final = 2**53

# What Go can hold as a duration: about 292 years.
_LONGEST: Final = timedelta(microseconds=(2**63 - 1) // 1000)
_PERCENT: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)%")
_WHOLE: Final = 100
_DOLLARS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_MOST_DOLLARS: Final = 1000.0


def dollars_an_hour(written: str) -> float:
    """Read an amount of US dollars an hour.

    Raises:
        ValueError: it is none, which the text says.
    """
    if not _DOLLARS.fullmatch(written) or float(written) > _MOST_DOLLARS:
        raise ValueError("is not an amount of US dollars an hour between 0 and 1000, such as 0.02")
    return float(written)


@lru_cache(4096)
def _amount(resource: str, text: str, most: int) -> int | str:
    """Return the amount, or what is wrong with the text."""
    try:
        amount = amount_of(resource, text)
    except ValueError as error:
        return f"{quoted(text)} is {str(error).rpartition(' is ')[2]}"
    if amount < 0:
        return f"{quoted(text)} must not be negative"
    if amount > most:
        return f"{quoted(text)} is absurdly large: the limit is {format_amount(resource, most)}"
    return amount


def amount(resource: str, quantity: Quantity, at: str, *, most: int = MOST_OF_ONE) -> int:
    """Read the quantity of `resource` at the path `at`, in the unit `Resources` counts it in.

    Raises:
        FieldError: it is no quantity, is negative, or beyond `most`.
    """
    read = _amount(resource, str(quantity), most)
    if isinstance(read, str):
        raise FieldError(at, read)
    return read


def resources(quantities: Mapping[str, Quantity], at: str, *, most: int = MOST_OF_ONE) -> Resources:
    """Read quantities by resource name at the path `at`; see `amount`."""
    return Resources(
        {name: amount(name, text, under(at, name), most=most) for name, text in quantities.items()}
    )


@lru_cache(4096)
def _amount_held(resource: str, text: str) -> int | str:
    """Return the amount within what we count with, or what is wrong with the text."""
    try:
        return max(-MOST_OF_ONE, min(amount_of(resource, text), MOST_OF_ONE))
    except TooLargeError:
        return -MOST_OF_ONE if text.startswith("-") else MOST_OF_ONE
    except ValueError as error:
        return f"{quoted(text)} is {str(error).rpartition(' is ')[2]}"


def asked(quantities: Mapping[str, Quantity], at: str) -> Resources:
    """Read quantities that pods ask for, at the path `at`: what is beyond `MOST_OF_ONE` is so much.

    Raises:
        FieldError: one is no quantity, or negative.
    """
    amounts = _held(quantities, at)
    for name, amount in amounts.items():
        if amount < 0:
            raise FieldError(under(at, name), f"{quoted(str(quantities[name]))} must not be negative")
    return Resources(amounts)


def there_is(quantities: Mapping[str, Quantity], at: str) -> Resources:
    """Read quantities of something that exists: at most `MOST_OF_ONE` each; a negative one counts as 0.

    Raises:
        FieldError: one is no quantity.
    """
    return Resources({name: max(amount, 0) for name, amount in _held(quantities, at).items()})


def _held(quantities: Mapping[str, Quantity], at: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, text in quantities.items():
        read = _amount_held(name, str(text))
        if isinstance(read, str):
            raise FieldError(under(at, name), read)
        amounts[name] = read
    return amounts


def storage_bytes(quantity: Quantity, at: str) -> int:
    """Read an amount of storage in bytes; see `amount`."""
    return amount(EPHEMERAL_STORAGE, quantity, at)


def check_threshold(value: str, at: str) -> None:
    """Raise FieldError unless `value` is a quantity or a percentage from 0 to 100."""
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        amount(EPHEMERAL_STORAGE, value, at)
    elif float(percent[1]) > _WHOLE:
        raise FieldError(at, f"{quoted(value)} is more than 100%")


def duration(text: str, at: str) -> timedelta:
    """Read the duration at the path `at`.

    Raises:
        FieldError: it is none, or longer than 292 years.
    """
    span = parse_duration(text)
    if span is None:
        raise FieldError(at, f"{quoted(text)} is no duration of less than 292 years")
    return span


def time_span(written: str) -> timedelta:
    """Read a duration longer than 0.

    Raises:
        ValueError: it is none, which the text says.
    """
    span = parse_duration(written)
    if span is None or span <= timedelta(0):
        raise ValueError("is not a duration longer than 0, such as 30m or 2h")
    return span


def duration_or_never(text: str, at: str) -> timedelta | None:
    """Read the duration at the path `at`, None being Never; see `duration`."""
    return None if text == NEVER else duration(text, at)


def seconds(number: int, at: str) -> timedelta:
    """Read a number of seconds at the path `at`; see `duration`."""
    if number > _LONGEST.total_seconds():
        raise FieldError(at, f"{number} is more than 292 years")
    return timedelta(seconds=number)
