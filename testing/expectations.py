"""Messages that a test waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from treenail.actors.runtime.base import DomainActor
from treenail.adapters.embed.arguments import one_of

M = TypeVar("M")
_MOST_NAMED: Final = 8


def check_message(kind: object) -> None:
    """Raise TypeError unless this is a class, as those of messages are."""
    if not isinstance(kind, type):
        raise TypeError(f"{kind!r} is no class of messages")


class Expectation(Generic[M]):
    """The first message of one kind that holds, if any came; and which kinds came, for errors."""

    def __init__(self, kind: type[M], where: Callable[[M], bool], to: str) -> None:
        check_message(kind)
        if to:
            one_of("to", to, [actor.__name__ for actor in DomainActor.__subclasses__()])
        self.found: list[M] = []
        self._kind, self._where, self._to = kind, where, to
        self._came: dict[str, None] = {}

    def __call__(self, actor: str, message: object) -> None:
        """Note a message."""
        self._came[type(message).__name__] = None
        if isinstance(message, self._kind) and self._to in ("", actor) and self._where(message):
            self.found.append(message)

    @property
    def instead(self) -> str:
        """Which kinds of messages came."""
        return ", ".join(list(self._came)[:_MOST_NAMED]) or "no message at all"
