"""The queue before a port's worker: each source has its turn, whatever another asks."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """A queue that threads share. Of one source it is in order; sources take turns, one item each."""

    def __init__(self) -> None:
        self._changed = Condition()
        # In the order of their turns.
        self._waiting: dict[str, deque[T]] = {}
        self._open = True

    def put(self, source: str, item: T) -> None:
        """Add an item of `source`."""
        with self._changed:
            self._waiting.setdefault(source, deque()).append(item)
            self._changed.notify()

    def take(self) -> T | None:
        """Wait for an item and return it; None once `close` was called."""
        with self._changed:
            while self._open and not self._waiting:
                self._changed.wait()
            if not self._open:
                return None
            source = next(iter(self._waiting))
            items = self._waiting.pop(source)
            item = items.popleft()
            if items:
                self._waiting[source] = items
            return item

    def close(self) -> None:
        """Give nothing out any more."""
        with self._changed:
            self._open = False
            self._waiting.clear()
            self._changed.notify_all()
