"""Numbers as they are given on the command line."""

from __future__ import annotations


def numbers(written: str) -> list[int]:
    """Read whole numbers, as "42", "1-10" or "1-3,7"; ValueError if they are nothing of the kind."""
    found: list[int] = []
    for part in written.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
