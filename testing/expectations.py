"""Messages that a test waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, ForwardRef, Generic, TypeVar, get_args, get_type_hints

from treenail.actors.runtime.base import DomainActor
from treenail.adapters.api.diagnosis import meant
from treenail.adapters.embed.arguments import one_of

M = TypeVar("M")
_MOST_NAMED: Final = 40
_PACKAGE: Final = __name__.partition(".")[0]


def check_message(called: str, kind: object) -> None:
    """Check that a class is one that actors are told, or of which one that they are told is.

    Raises:
        TypeError: it is no class.
        ValueError: nobody is ever told such a message; the nearest is named. An actor that hears `object`
            may be told any class that is not of this package.
    """
    if not isinstance(kind, type):
        raise TypeError(f"{called}: {kind!r} is no class of messages")
    known = {one for actor in DomainActor.__subclasses__() for one in _heard_or_reported(actor)}
    if kind.__module__.startswith(f"{_PACKAGE}."):
        known.discard(object)
    if not any(issubclass(one, kind) or issubclass(kind, one) for one in known):
        hint = meant(kind.__name__, (one.__name__ for one in known if not one.__name__.startswith("_")))
        raise ValueError(f"{called}: no actor is ever told {kind.__name__}{hint}")


def _heard_or_reported(actor: type[DomainActor[Any]]) -> Iterator[type]:
    """Yield the messages that an actor hears, and those that it tells the observer.

    `object` is among them where that cannot be read: actors of tests may name classes known only there.
    """
    yield from _classes(arg for base in getattr(actor, "__orig_bases__", ()) for arg in get_args(base))
    try:
        observer = get_type_hints(actor.__init__).get("observer")
    except (NameError, AttributeError, TypeError):
        yield object
    else:
        yield from _classes(get_args(observer))


def _classes(hints: Iterable[object]) -> Iterator[type]:
    for hint in hints:
        if isinstance(hint, type):
            yield hint
        elif isinstance(hint, ForwardRef | TypeVar):
            yield object
        yield from _classes(get_args(hint))


class Expectation(Generic[M]):
    """The first message of one kind that holds, if any came; and which kinds came, for errors."""

    def __init__(self, called: str, kind: type[M], where: Callable[[M], bool], to: str) -> None:
        check_message(called, kind)
        if to:
            one_of("to", to, [actor.__name__ for actor in DomainActor.__subclasses__()])
        self.found: list[M] = []
        self._kind, self._where, self._to = kind, where, to
        # By actor: the kinds that it was told, in order.
        self._came: dict[str, dict[str, None]] = {}
        # The actors that were told one of the kind.
        self._went: dict[str, None] = {}

    def __call__(self, actor: str, message: object) -> None:
        """Note a message."""
        self._came.setdefault(actor, {})[type(message).__name__] = None
        if not isinstance(message, self._kind):
            return
        self._went[actor] = None
        if self._to in ("", actor) and self._where(message):
            self.found.append(message)

    @property
    def instead(self) -> str:
        """The messages that came in place of it: whom such ones went to, and which kinds came."""
        return "; ".join((*self._elsewhere(), f"{self._to or 'all'} heard {_named(self._kinds())}"))

    def _elsewhere(self) -> Iterator[str]:
        if any(self._to in ("", actor) for actor in self._went):
            yield f"{self._kind.__name__} came, for which `where` does not hold"
        elif self._went:
            others = ", ".join(sorted(actor or "the observer" for actor in self._went))
            yield f"{self._kind.__name__} went to {others}, not to {self._to}"

    def _kinds(self) -> list[str]:
        told = (kinds for actor, kinds in self._came.items() if self._to in ("", actor))
        return sorted({kind for kinds in told for kind in kinds if not kind.startswith("_")})


def _named(kinds: list[str]) -> str:
    more = f" and {len(kinds) - _MOST_NAMED} more kinds" if len(kinds) > _MOST_NAMED else ""
    return ", ".join(kinds[:_MOST_NAMED]) + more if kinds else "nothing"
