"""Stand-ins for those an actor tells, and for its luck."""

from __future__ import annotations

from typing import Any, TypeVar

M = TypeVar("M")


class Probe:
    """A Ref that remembers what it was told."""

    def __init__(self) -> None:
        self.received: list[Any] = []

    def tell(self, message: object, /) -> None:
        """Remember `message`."""
        self.received.append(message)

    def of(self, kind: type[M]) -> list[M]:
        """Return the messages of one kind, in order."""
        return [message for message in self.received if isinstance(message, kind)]


class PlainDice:
    """Dice without luck: the lowest number every time, and tokens that count."""

    def __init__(self) -> None:
        self._tokens = 0

    def uniform(self, low: float, high: float) -> float:
        """Return `low`."""
        del high
        return low

    def token(self) -> str:
        """Return 0000000001, 0000000002..."""
        self._tokens += 1
        return f"{self._tokens:010}"
