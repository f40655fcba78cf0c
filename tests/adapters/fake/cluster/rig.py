from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings, FakeCluster
from treenail.domain.cluster_facts import ObjectGone, ObjectSeen, ObjectSetAside, Resynced
from treenail.domain.nodes import Node
from treenail.domain.pods import Pod

START = datetime(2026, 1, 1, tzinfo=UTC)
F = TypeVar("F", ObjectSeen, ObjectGone, ObjectSetAside, Resynced)


class HeapAgenda:
    """Virtual time, and the calls due in it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def now(self) -> datetime:
        return START + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (max(at, self._seconds), next(self._order), call))

    def run(self, seconds: float) -> None:
        until = self._seconds + seconds
        while self._due and self._due[0][0] <= until:
            self._seconds, _, call = heapq.heappop(self._due)
            call()
        self._seconds = until


class Listener:
    """Remembers every fact it is told."""

    def __init__(self) -> None:
        self.facts: list[Any] = []

    def tell(self, message: object, /) -> None:
        self.facts.append(message)

    def of(self, kind: type[F]) -> list[F]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


class Rig:
    """A cluster and the time it lives in."""

    def __init__(
        self, *, seed: int = 0, settings: ClusterSettings | None = None, faults: ClusterFaults | None = None
    ) -> None:
        self.agenda = HeapAgenda()
        self.cluster = FakeCluster(
            agenda=self.agenda,
            dice=random.Random(seed),
            settings=settings,
            faults=faults or ClusterFaults(),
        )

    def run(self, seconds: float) -> None:
        self.agenda.run(seconds)

    def watched(self) -> Listener:
        listener = Listener()
        self.cluster.feed(listener)
        return listener

    def pod(self, name: str) -> Pod:
        return next(pod for pod in self.cluster.pods() if pod.name == name)

    def pods_of(self, prefix: str) -> list[Pod]:
        return [pod for pod in self.cluster.pods() if pod.name.startswith(prefix)]

    def node(self, name: str) -> Node:
        return next(node for node in self.cluster.nodes() if node.name == name)

    def reasons(self, pod: str) -> list[tuple[str, str]]:
        """The events about a pod: reason and message."""
        return [(r.event.reason, r.event.message) for r in self.cluster.events() if r.event.about.name == pod]
