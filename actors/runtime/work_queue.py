"""WorkQueue: one call at a time for each key, retried with backoff, and a time to look again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from treenail.actors.runtime.base import DomainActor
from treenail.domain.model.backoff import CALLS, Backoff

KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Look:
    """Private timer tick of an actor: see what one claim, node or instance needs now."""

    name: str


class WorkQueue(Generic[KeyT]):
    """The work of one actor by key, as controller-runtime's work queue has it. Owned by that actor.

    `look` makes the message by which the actor looks at a key again; it is sent by a timer under that key.
    An actor looks at a key whenever there is news of it, and begins a call where none is under way. A call
    that came back is ended, and then has succeeded or is retried. Whatever fails while a retry is waited for
    is part of the same attempt.
    """

    def __init__(
        self, actor: DomainActor[Any], look: Callable[[KeyT], object], backoff: Backoff = CALLS
    ) -> None:
        self._actor = actor
        self._look = look
        self._backoff = backoff
        self._busy: dict[KeyT, None] = {}
        self._failures: dict[KeyT, int] = {}
        # When the next attempt is made, in monotonic seconds.
        self._retry_at: dict[KeyT, float] = {}

    def busy(self, key: KeyT) -> bool:
        """Return whether a call is under way."""
        return key in self._busy

    def waiting(self, key: KeyT) -> bool:
        """Return whether a retry is due later."""
        return self._actor.monotonic() < self._retry_at.get(key, 0.0)

    def failures(self, key: KeyT) -> int:
        """Return how many attempts failed since the last success."""
        return self._failures.get(key, 0)

    def begin(self, key: KeyT) -> None:
        """Note that a call is under way."""
        self._busy[key] = None

    def end(self, key: KeyT) -> None:
        """Note that the call came back, or is not made after all."""
        self._busy.pop(key, None)

    def succeeded(self, key: KeyT) -> None:
        """Forget what failed before."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)

    def retry(self, key: KeyT) -> None:
        """Count a failed attempt, and look again after the backoff."""
        if not self.waiting(key):
            failures = self._failures[key] = self.failures(key) + 1
            pause = self._backoff.after(failures, self._actor.chance())
            self._retry_at[key] = self._actor.monotonic() + pause
        self.again(key, self._retry_at[key] - self._actor.monotonic())

    def again(self, key: KeyT, seconds: float) -> None:
        """Look again in `seconds`, and not when it was meant to be before."""
        self._actor.later(key, self._look(key), seconds=seconds)

    def rest(self, key: KeyT) -> None:
        """Look again only when there is news."""
        self._actor.never(key)

    def forget(self, key: KeyT) -> None:
        """Do nothing more for a key. A call that is under way still ends."""
        self.succeeded(key)
        self.rest(key)
