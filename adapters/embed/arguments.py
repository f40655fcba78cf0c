"""Arguments of a rehearsal's calls: refused where nothing could come of them, with what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TypeVar

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.fake.ec2.spells import Spell
from treenail.domain.model.durations import parse_duration

P = TypeVar("P")


def seconds_of(called: str, duration: float | str, *, back: bool = False) -> float:
    """Return the seconds of a duration: a number of them, or text such as "90s".

    `called` names the argument in errors; with `back` it may be negative.

    Raises:
        ValueError: it is no duration.
    """
    if isinstance(duration, str):
        span = parse_duration(duration)
        if span is None:
            raise ValueError(f"{called}: {duration!r} is not a duration, such as 90s or 5m")
        seconds = span.total_seconds()
    elif isinstance(duration, bool) or not isinstance(duration, int | float) or not isfinite(duration):
        raise ValueError(f"{called}: {duration!r} is not a number of seconds, nor a duration such as 90s")
    else:
        seconds = float(duration)
    if seconds < 0 and not back:
        raise ValueError(f"{called}: {duration!r} is negative: time does not go back")
    return seconds


def one_of(called: str, word: str, known: Iterable[str]) -> str:
    """Return `word`, which must be one of `known`.

    Raises:
        ValueError: it is none of them; the nearest is named, or where none is near all of them.
    """
    words = sorted(known)
    if word in words:
        return word
    hint = meant(str(word), words) or f": there are {', '.join(words) or 'none'}"
    raise ValueError(f"{called}: there is no {word!r}{hint}")


def spell_of(spell: Spell | str) -> Spell:
    """Return a spell by itself or by its value ("throttled"); ValueError names the nearest one."""
    return Spell(one_of("ec2_under", str(spell), [one.value for one in Spell]))


def implements(port: P, kind: type, called: str) -> P:
    """Return `port`, which must have all methods of the protocol `kind`.

    Raises:
        TypeError: some are missing; they are named.
    """
    wanted: frozenset[str] = getattr(kind, "__abstractmethods__", frozenset())
    missing = [name for name in sorted(wanted) if not callable(getattr(port, name, None))]
    if missing:
        name = type(port).__name__
        raise TypeError(f"{called}: {name} does not implement {kind.__name__}: it lacks {', '.join(missing)}")
    return port
