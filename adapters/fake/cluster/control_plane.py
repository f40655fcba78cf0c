"""The control plane that every controller works with: agenda, store, settings, event log."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from treenail.adapters.fake.cluster.event_log import EventLog
from treenail.adapters.fake.cluster.settings import ClusterSettings
from treenail.adapters.fake.cluster.store import Store
from treenail.adapters.fake.luck import Span, draw, fork
from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Agenda

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The time, the objects, the settings and where events go; dice are each controller's own."""

    agenda: Agenda
    store: Store
    settings: ClusterSettings
    log: EventLog
    dice: random.Random

    def fork(self) -> random.Random:
        """Return dice for one concern, so that more luck taken there changes no other."""
        return fork(self.dice)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call `call` in `seconds`."""
        self.agenda.call_at(self.agenda.monotonic() + seconds, call)

    def warn(self, pod: Pod, reason: str, message: str) -> None:
        """Publish a warning about a pod."""
        self.log.publish(ClusterEvent(of_pod(pod), reason, message, warning=True))


class DelayedWork(Generic[K]):
    """Work to be done on each key a little after it was last needed; once, however often it was asked."""

    def __init__(self, plane: ControlPlane, span: Span, work: Callable[[K], None]) -> None:
        self._plane = plane
        self._dice = plane.fork()
        self._span = span
        self._work = work
        self._due: dict[K, None] = {}

    def add(self, key: K, *, after: float | None = None) -> None:
        """Ask for work on `key`, in `after` seconds or whatever the span gives."""
        if key not in self._due:
            self._due[key] = None
            seconds = draw(self._dice, self._span) if after is None else after
            self._plane.later(seconds, partial(self._do, key))

    def _do(self, key: K) -> None:
        del self._due[key]
        self._work(key)
