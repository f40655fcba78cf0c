"""Arguments of a rehearsal's calls: refused where nothing could come of them, with what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.fake.ec2.spells import Spell
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.runtime import Ref

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


def check_types(of: Any) -> None:  # noqa: ANN401
    """Check that the fields of a dataclass are of the classes that it declares, as far as it names classes.

    Raises:
        TypeError: one is not.
    """
    for name, hint in get_type_hints(type(of)).items():
        choices = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kinds = [get_origin(one) or one for one in choices]
        if all(isinstance(kind, type) and not getattr(kind, "_is_protocol", False) for kind in kinds):
            allowed = (*kinds, *((int,) if float in kinds else ()))
            value = getattr(of, name)
            if not isinstance(value, allowed):
                wanted = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)
                raise TypeError(f"{type(of).__name__}: {name}: {value!r} is no {wanted}")


def check_ref(called: str, ref: Ref[Any]) -> Ref[Any]:
    """Return `ref`, which must have the method `tell`.

    Raises:
        TypeError: it has not.
    """
    if not callable(getattr(ref, "tell", None)):
        raise TypeError(f"{called}: {ref!r} is no Ref: it has no method tell")
    return ref


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
