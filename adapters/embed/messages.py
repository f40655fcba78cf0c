"""Messages between the actors of a rehearsal, for tests to wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# The class name of the actor that is told, "" for the observer, and what it is told.
Listener: TypeAlias = Callable[[str, object], None]


class Messages:
    """Passes each message on to those who listen, in the order they began, when it is sent."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def note(self, actor: str, message: object) -> None:
        """Take in that `actor` is told `message`."""
        for listener in tuple(self._listeners):
            listener(actor, message)

    def listen(self, listener: Listener) -> None:
        """Pass every message on from now on."""
        self._listeners.append(listener)

    def ignore(self, listener: Listener) -> None:
        """Pass nothing on to a listener any more."""
        self._listeners.remove(listener)
