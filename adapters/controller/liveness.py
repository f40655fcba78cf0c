"""Liveness of the process: a timer that fires every second and asks every actor whether it keeps up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from treenail.actors.runtime.threads import Inbox, Threads
from treenail.domain.model.runtime import Timers
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics

_EVERY_SECONDS: Final = 1.0
# Deciding for tens of thousands of pods takes an actor some seconds: what takes so long is stuck.
STUCK_SECONDS: Final = 60.0


class _Tasks(Protocol):
    def depths(self) -> Mapping[str, int]: ...


class Liveness:
    """Rings by a timer of its own, and writes how deep inboxes and queues are and how soon turns come.

    `look` is called each time.
    """

    def __init__(
        self,
        timers: Timers,
        threads: Threads,
        tasks: _Tasks,
        telemetry: Telemetry,
        *,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self._timers = timers
        self._threads = threads
        self._tasks = tasks
        self._telemetry = telemetry
        self._look = look
        self._rang_at = timers.monotonic()

    def start(self) -> None:
        """Begin to ring."""
        self.tell("beat")

    def tell(self, message: str, /) -> None:
        """Ring once, and again in a second."""
        self._rang_at = self._timers.monotonic()
        self._look()
        self._write(self._threads.inboxes())
        self._threads.beat()
        self._timers.arm("liveness", self, message, at=self._rang_at + _EVERY_SECONDS)

    def troubles(self) -> list[str]:
        """Return what is stuck, if anything is."""
        late = self._timers.monotonic() - self._rang_at
        troubles = [f"timers have not rung for {late:.0f} s"] if late > STUCK_SECONDS else []
        troubles += [
            f"{inbox.actor} has not answered for {inbox.silent:.0f} s"
            for inbox in self._threads.inboxes()
            if inbox.silent > STUCK_SECONDS
        ]
        return troubles

    def _write(self, inboxes: tuple[Inbox, ...]) -> None:
        depths: Counter[str] = Counter()
        for inbox in inboxes:
            depths[inbox.actor] += inbox.depth
            delay = max(inbox.delay, inbox.silent)
            self._telemetry.observe(metrics.INBOX_DELAY.name, delay, actor=inbox.actor)
        for actor, depth in depths.items():
            self._telemetry.gauge(metrics.INBOX_DEPTH.name, depth, actor=actor)
        for port, depth in self._tasks.depths().items():
            self._telemetry.gauge(metrics.TASK_QUEUE_DEPTH.name, depth, port=port)
