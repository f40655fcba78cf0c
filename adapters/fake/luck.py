"""Random draws of the fakes: durations, chances, and separate dice for each concern."""

from __future__ import annotations

import random
from typing import TypeAlias

# Between how many seconds something takes.
Span: TypeAlias = tuple[float, float]


def draw(dice: random.Random, span: Span) -> float:
    """Return a number of seconds within `span`."""
    low, high = span
    return low + (high - low) * dice.random()


def chance(dice: random.Random, probability: float) -> bool:
    """Return whether something of this probability happens. What never happens takes no luck."""
    return probability > 0 and dice.random() < probability


def fork(dice: random.Random) -> random.Random:
    """Return dice for one concern, so that more draws for it change no other concern."""
    return random.Random(dice.getrandbits(64))  # noqa: S311


def uuid(dice: random.Random) -> str:
    """Return a drawn identifier in the form of a UUID."""
    digits = f"{dice.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
