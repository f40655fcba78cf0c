"""Messages in errors: the kind and each field, of which long ones are cut."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Final

_LONGEST: Final = 80


def brief(message: object) -> str:
    """Return a message as text, with at most 80 characters of each field."""
    if not is_dataclass(message):
        return _cut(message)
    told = ", ".join(f"{field.name}={_cut(getattr(message, field.name))}" for field in fields(message))
    return f"{type(message).__name__}({told})"


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
