"""Retries after a conflict: read the object again, and write again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from treenail.domain.model.backoff import Backoff
from treenail.domain.model.errors import ConflictError
from treenail.domain.model.runtime import Dice

R = TypeVar("R")

# Over a second in all: a busy writer is done with one object by then.
_ATTEMPTS: Final = 7
_BACKOFF: Final = Backoff(first=0.02, longest=1.28)


class ConflictRetries:
    """Repeats changes that another writer came before, after pauses of 10 to 640 ms."""

    def __init__(self, dice: Dice, pause: Callable[[float], None] = time.sleep) -> None:
        self._dice = dice
        self._pause = pause

    def run(self, change: Callable[[], R]) -> R:
        """Return the result of `change`, which reads the object anew each time; seven attempts at most.

        Raises:
            ConflictError: another writer came before each of them.
        """
        for attempt in range(1, _ATTEMPTS):
            try:
                return change()
            except ConflictError:
                self._pause(self._dice.uniform(*_BACKOFF.bounds(attempt)))
        return change()
