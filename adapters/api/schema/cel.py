"""Writing expressions of CEL, the language of a definition's rules."""

from __future__ import annotations

from collections.abc import Iterable


def text(value: str) -> str:
    """Write `value` as a raw literal: what it holds of backslashes stands for itself.

    Raises:
        ValueError: it holds a quotation mark, which no raw literal can.
    """
    if "'" in value:
        raise ValueError(f"{value!r} holds a quotation mark")
    return f"r'{value}'" if "\\" in value else f"'{value}'"


def texts(values: Iterable[str]) -> str:
    """Write `values` as a list of literals, in their order."""
    return f"[{', '.join(text(v) for v in values)}]"


def given(*fields: str, of: str = "self") -> str:
    """Return the expression that one of the text, list or mapping `fields` is there and not empty."""
    several = " || ".join(f"has({of}.{field}) && size({of}.{field}) > 0" for field in fields)
    return f"({several})"


def within(domain: str, key: str) -> str:
    """Return the expression that the label `key` is of `domain`, or of one below it."""
    pattern = domain.replace(".", "[.]")
    return f"{key}.matches({text(f'^([^/]*[.])?{pattern}/')})"
