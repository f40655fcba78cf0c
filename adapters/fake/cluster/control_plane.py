"""The control plane that every controller works with: agenda, store, settings, event log."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from treenail.adapters.fake.cluster.event_log import EventLog
from treenail.adapters.fake.cluster.settings import ClusterSettings
from treenail.adapters.fake.cluster.store import Store
from treenail.adapters.fake.luck import Span, draw, fork
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Agenda

K = TypeVar("K")
# The pauses of the work queues of kube-controller-manager.
_AFTER_FAILURE: Final = Backoff(first=0.005, longest=1000.0, jitter=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The time, the objects, the settings and where events go; dice are each controller's own."""

    agenda: Agenda
    store: Store
    settings: ClusterSettings
    log: EventLog
    dice: random.Random

    def fork(self) -> random.Random:
        """Return dice for one concern, so that more draws for it change no other concern."""
        return fork(self.dice)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call `call` in `seconds`."""
        self.agenda.call_at(self.agenda.monotonic() + seconds, call)

    def warn(self, pod: Pod, reason: str, message: str, *, source: str) -> None:
        """Publish a warning about a pod."""
        self.log.publish(ClusterEvent(of_pod(pod), reason, message, warning=True), source)


class DelayedWork(Generic[K]):
    """Work to be done on each key a little after it was last needed; once, however often it was asked."""

    def __init__(self, plane: ControlPlane, span: Span, work: Callable[[K], None]) -> None:
        self._plane = plane
        self._dice = plane.fork()
        self._span = span
        self._work = work
        self._due: dict[K, float] = {}
        # Due keys that wait after a failure, and the failures in a row.
        self._retried: dict[K, None] = {}
        self._failures: dict[K, int] = {}

    def add(self, key: K, *, after: float | None = None) -> None:
        """Ask for work on `key`, in `after` seconds or whatever the span gives; not later where it is due."""
        if key in self._due and key not in self._retried:
            return
        self._retried.pop(key, None)
        self._wait(key, draw(self._dice, self._span) if after is None else after)

    def retry(self, key: K) -> None:
        """Ask for work on `key` that has failed, after a pause that grows with each failure in a row."""
        self._failures[key] = self._failures.get(key, 0) + 1
        if key not in self._due:
            self._retried[key] = None
            self._wait(key, _AFTER_FAILURE.after(self._failures[key]))

    def succeed(self, key: K) -> None:
        """Let the pauses of `key` begin anew."""
        self._failures.pop(key, None)

    def _wait(self, key: K, seconds: float) -> None:
        at = self._due[key] = self._plane.agenda.monotonic() + seconds
        self._plane.later(seconds, partial(self._do, key, at))

    def _do(self, key: K, at: float) -> None:
        if self._due.get(key) == at:
            del self._due[key]
            self._retried.pop(key, None)
            self._work(key)
