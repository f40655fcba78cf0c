"""A reader before a scripted server, and what it tells."""

from __future__ import annotations

import queue
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from kubernetes.client import Configuration

from tests.adapters.kubernetes.scripted import ScriptedServer
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import watched
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
)

F = TypeVar("F", ObjectSeen, ObjectGone, ObjectSetAside, Resynced)

SOON = 5.0
# As production's, but that nothing is waited for.
FAST = Pace(
    look_again=(0.01, 0.01),
    withheld=(0.01, 0.01),
    first_pause=0.001,
    longest_pause=0.01,
    congested=0.001,
    idle=30.0,
    page=500,
)


def middle(low: float, high: float) -> float:
    return (low + high) / 2


class Heard:
    """Remembers what it is told, and waits for more."""

    def __init__(self) -> None:
        self.facts: queue.SimpleQueue[ClusterFact] = queue.SimpleQueue()

    def tell(self, message: ClusterFact, /) -> None:
        self.facts.put(message)

    def next(self, kind: type[F]) -> F:
        """The next fact, which must be of that kind."""
        fact = self.facts.get(timeout=SOON)
        assert isinstance(fact, kind), fact
        return fact

    def next_full_list(self) -> Resynced:
        """The next full list, whatever comes before it."""
        while not isinstance(fact := self.facts.get(timeout=SOON), Resynced):
            continue
        return fact

    @property
    def quiet(self) -> bool:
        return self.facts.empty()


def a_connection(url: str, **options: Any) -> Connection:
    configuration = Configuration(host=url)
    return Connection(configuration, **{"qps": 1000.0, "burst": 1000, "pause": _do_not, **options})


def _do_not(_: float) -> None:
    """Wait for nothing."""


class Rig:
    def __init__(
        self,
        pace: Pace = FAST,
        congested: Callable[[], bool] = lambda: False,
        uniform: Callable[[float, float], float] = middle,
        *,
        workloads: bool = True,
        overlays: bool = False,
    ) -> None:
        self.server = ScriptedServer()
        self.heard = Heard()
        self.defects: list[BaseException] = []
        self.log: list[tuple[str, dict[str, object]]] = []
        self._pace = pace
        self._congested = congested
        self._uniform = uniform
        self._watched = watched(workloads=workloads, gates={"NodeOverlay": overlays})

    def __enter__(self) -> Self:
        self.server.__enter__()
        self.connection = a_connection(self.server.url)
        self.reader = KubernetesReader(
            self.connection,
            congested=self._congested,
            failed=self.defects.append,
            log=self._note,
            uniform=self._uniform,
            pace=self._pace,
            watched=self._watched,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reader.stop()
        self.connection.close()
        self.server.__exit__()
        if error is None:
            assert self.defects == []

    def start(self) -> Resynced:
        """Have the reader tell, and return the full list that it begins with."""
        self.reader.feed(self.heard)
        return self.heard.next(Resynced)

    def _note(self, message: str, /, **fields: object) -> None:
        self.log.append((message, fields))


class RelistOnce:
    """The dice: so many times all of a resource is read anew at once. Pauses are in the middle."""

    def __init__(self, times: int = 1) -> None:
        self._left = times

    def __call__(self, low: float, high: float) -> float:
        if (low, high) != FAST.relist:
            return middle(low, high)
        self._left -= 1
        return 0.0 if self._left >= 0 else high


def keys(listed: Resynced) -> list[str]:
    return [key_of(thing) for thing in listed.objects]
