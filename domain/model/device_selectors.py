"""Selectors of devices (CEL): whether one holds for what is known of a device."""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

from treenail.domain.model.devices import Traits

# The traits a selector looked at (`attributes` or `capacity`, domain, name), and what it found there.
_LookedAt: TypeAlias = dict[tuple[str, str, str], object]
# So many different sets of what was looked at are remembered for each selector.
_REMEMBERED: Final = 64


class Match(Enum):
    """The answer of a selector about a device. `MISSING`: it needs a trait that is not known."""

    YES = auto()
    NO = auto()
    MISSING = auto()


class SelectorError(Exception):
    """A selector cannot be evaluated; the message says why."""


class Seen:
    """The attributes of one device that a selector looked at, or all of them, and whether any was missing."""

    def __init__(self) -> None:
        self.looked_at: _LookedAt = {}
        self.all_of_it = False
        self.missing = False


class _Program(Protocol):
    def run(self, traits: Traits, seen: Seen) -> Match: ...


class Selector:
    """One selector. It remembers its answers, for devices that are equal in all that it looked at."""

    def __init__(self, program: _Program) -> None:
        self._program = program
        self._known: list[tuple[_LookedAt, bool, Match]] = []

    def holds(self, traits: Traits) -> Match:
        """Return whether the selector holds for a device.

        Raises:
            SelectorError: it cannot be evaluated.
        """
        there = flat(traits)
        for looked_at, partly, match in self._known:
            if partly == traits.partly and all(there.get(key) == found for key, found in looked_at.items()):
                return match
        seen = Seen()
        match = self._program.run(traits, seen)
        if not seen.all_of_it and len(self._known) < _REMEMBERED:
            self._known.append((seen.looked_at, traits.partly, match))
        return match


@lru_cache(4096)
def selector_of(expression: str) -> Selector:
    """Return the selector that is written so.

    Raises:
        SelectorError: it cannot be evaluated, or would take too long.
    """
    # The library takes half a second to load, and few clusters need it.
    try:
        from treenail.domain.model.device_cel import Program  # noqa: PLC0415
    except ImportError:
        raise SelectorError("cel-python is not installed, as treenail[controller] has it") from None
    return Selector(Program(expression))


def flat(traits: Traits) -> _LookedAt:
    """Return all that is known of a device by what selectors call it."""
    # Attributes with their type: 1 is not true, though equal to it.
    return {
        ("driver", "", ""): traits.driver,
        **{("attributes", *key): (type(value), value) for key, value in traits.attributes},
        **{("capacity", *key): value for key, value in traits.capacity},
    }
