"""A number with its noun, for people: "1 pod", "2,000 pods"."""

from __future__ import annotations


def counted(number: int, one: str, several: str = "") -> str:
    """Return `number` and what is counted: `one` behind 1, else `several`, `one` with an s if not given."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
