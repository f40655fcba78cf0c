"""Attributes of bounded size: lists and texts are cut, and say how much is left out; counts stay exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treenail.domain.telemetry.tracing import Attribute

_MOST_VALUES: Final = 100
# In characters, of all values of a list together.
_LONGEST_LIST: Final = 3_000


def bounded_list(name: str, values: Sequence[str], most: int = _MOST_VALUES) -> dict[str, Attribute]:
    """Return a list under `name`, and under `name.count` how many values there are.

    The list has `most` values and 3,000 characters at most; where it is cut, `name.left_out` says by how
    many.
    """
    shown: list[str] = []
    room = _LONGEST_LIST
    for value in values[:most]:
        room -= len(value)
        if room < 0:
            break
        shown.append(value)
    left_out = len(values) - len(shown)
    cut: dict[str, Attribute] = {f"{name}.left_out": left_out} if left_out else {}
    return {name: tuple(shown), f"{name}.count": len(values), **cut}


def bounded_text(text: str, most: int = 1_000) -> str:
    """Return a text of `most` characters at most; one that is cut ends with how many are left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}... ({len(text) - most} more characters)"
