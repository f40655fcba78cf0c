from __future__ import annotations

import random
from typing import Any, TypeVar

from tests.agenda import HeapAgenda
from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings, FakeCluster
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen, ObjectSetAside, Resynced
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Pod

F = TypeVar("F", ObjectSeen, ObjectGone, ObjectSetAside, Resynced)


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
