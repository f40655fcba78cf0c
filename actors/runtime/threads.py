"""The threaded host: each actor on a thread of its own, for the controller."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, cast

import pykka

from treenail.actors.runtime.base import Beat, Delivery, DomainActor, Wired
from treenail.domain.model.runtime import Clock, Ref

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Inbox:
    """The load of one actor: messages that wait, and seconds since it was last asked in vain.

    `silent` is 0 where it has answered, `delay` how long its last answer took.
    """

    actor: str
    depth: int
    silent: float
    delay: float


class Threads:
    """Starts every actor it hosts, and watches whether it keeps up. Threads may share it.

    `beat` asks every actor for a sign of life; what `inboxes` tells follows from the answers.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._hosted: list[_Hosted] = []

    def host(self, make: Callable[P, DomainActor[Any]], *args: P.args, **kwargs: P.kwargs) -> Wired[Any]:
        """Start an actor of the class `make`, and return where to reach it."""
        ref = cast("type[DomainActor[Any]]", make).start(*args, **kwargs)
        hosted = _Hosted(ref, self._clock)
        with self._lock:
            self._hosted.append(hosted)
        return hosted.wired

    def end(self, ref: Ref[Any]) -> None:
        """End an actor with its thread after its waiting messages. Does not wait for that."""
        with self._lock:
            ending = [hosted for hosted in self._hosted if hosted.wired == ref]
            self._hosted = [hosted for hosted in self._hosted if hosted.wired != ref]
        for hosted in ending:
            hosted.end()

    def depth(self, *actors: type[DomainActor[Any]]) -> int:
        """Return how many messages wait for actors of these kinds; for all, where none is named."""
        return sum(h.depth for h in self._all() if not actors or h.ref.actor_class in actors)

    def inboxes(self) -> tuple[Inbox, ...]:
        """Return how every actor keeps up, in the order they were hosted."""
        return tuple(h.inbox() for h in self._all())

    def beat(self) -> None:
        """Ask every actor for a sign of life that does not owe one yet."""
        for hosted in self._all():
            hosted.ask()

    def stop(self, seconds: float) -> bool:
        """Let every actor handle its waiting messages and end; return False where one does not in time.

        Actors end in the reverse order of hosting. A receiver is hosted before its senders, so most of what
        is sent is still received.
        """
        deadline = self._clock.monotonic() + seconds
        ended = True
        for hosted in reversed(self._all()):
            ended &= hosted.stop(max(0.0, deadline - self._clock.monotonic()))
        return ended

    def _all(self) -> tuple[_Hosted, ...]:
        with self._lock:
            return tuple(self._hosted)


class _Hosted:
    """One actor that was started."""

    def __init__(self, ref: pykka.ActorRef[Any], clock: Clock) -> None:
        self.ref = ref
        self.wired: Wired[Any] = Wired(self._put, ref.actor_urn)
        self._clock = clock
        self._asked_at: float | None = None
        self._delay = 0.0

    @property
    def depth(self) -> int:
        # Pykka promises no more of an inbox than that it can be put to and got from: a test guards this.
        inbox: Any = self.ref.actor_inbox
        return int(inbox.qsize())

    def _put(self, delivery: Delivery[Any]) -> None:
        # Whoever tells a dead actor has done nothing wrong, and its end was reported already.
        with contextlib.suppress(pykka.ActorDeadError):
            self.ref.tell(delivery)

    def ask(self) -> None:
        if self._asked_at is None:
            at = self._asked_at = self._clock.monotonic()
            self._put(Delivery(Beat(partial(self._answer, at))))

    def _answer(self, asked_at: float) -> None:
        self._delay = self._clock.monotonic() - asked_at
        self._asked_at = None

    def end(self) -> None:
        with contextlib.suppress(pykka.ActorDeadError):
            self.ref.stop(block=False)

    def inbox(self) -> Inbox:
        asked_at = self._asked_at
        silent = 0.0 if asked_at is None else self._clock.monotonic() - asked_at
        return Inbox(self.ref.actor_class.__name__, self.depth, silent, self._delay)

    def stop(self, seconds: float) -> bool:
        try:
            return bool(self.ref.stop(timeout=seconds)) or not self.ref.is_alive()
        except pykka.Timeout:
            return False
