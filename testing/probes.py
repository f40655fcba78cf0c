"""Stand-ins for those an actor tells, and for its luck."""

from __future__ import annotations

from typing import Any, TypeVar

from treenail.testing.brief import brief

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

    def expect(self, kind: type[M]) -> M:
        """Return the only message of one kind.

        Raises:
            AssertionError: there is none, or more than one.
        """
        found = self.of(kind)
        if len(found) != 1:
            heard = ", ".join(type(message).__name__ for message in self.received) or "nothing"
            raise AssertionError(f"{len(found)} messages are {kind.__name__}; it was told {heard}")
        return found[0]

    def expect_none(self, *kinds: type) -> None:
        """Check that no message is of these kinds; without one, that there is none at all.

        Raises:
            AssertionError: there is one; the first is named.
        """
        for message in self.received:
            if not kinds or isinstance(message, kinds):
                raise AssertionError(f"it was told {brief(message)}")


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
