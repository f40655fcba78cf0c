"""The fakes in real time, on a thread of their own, for controllers that run on threads."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from threading import Condition
from typing import Any, Final

from treenail.actors.runtime.ports import Ports
from treenail.adapters.controller.ground import Ground, Outside
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.embed.machines import NodeMachines
from treenail.adapters.fake.cluster import ClusterSettings, FakeCluster
from treenail.adapters.fake.ec2 import EC2Settings, FakeEC2
from treenail.adapters.fake.queue import FakeQueue, QueueSettings
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.model.pods import Phase
from treenail.domain.ports import Solver

QUICK: Final = (0.0, 0.01)


class RealTimeAgenda:
    """The port `Agenda` in real time. What is due is called on its thread, under `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._changed = Condition(self.lock)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._open = True
        self._thread = threading.Thread(target=self._work, name="outside", daemon=True)
        self._thread.start()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (at, next(self._order), call))
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        with self._changed:
            while self._open:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                else:
                    heapq.heappop(self._due)[2]()


class Locked:
    """A fake whose methods are called by one thread at a time."""

    def __init__(self, fake: object, lock: threading.RLock) -> None:
        self._fake, self._lock = fake, lock

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._fake, name)

        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                return method(*args, **kwargs)

        return locked


class Lab:
    """A cluster, EC2 and its queue that are quick, for a controller of the same process."""

    def __init__(self, *, solver: Solver | None = None) -> None:
        self.agenda = RealTimeAgenda()
        dice = random.Random(1)
        self.queue = FakeQueue(self.agenda, dice, settings=QueueSettings(delay=QUICK))
        self.cluster = FakeCluster(
            agenda=self.agenda,
            dice=dice,
            settings=ClusterSettings(
                latency=QUICK,
                watch=QUICK,
                control=QUICK,
                schedule=QUICK,
                collect=QUICK,
                ready=(0.1, 0.2),
                start=QUICK,
                stop=QUICK,
                lost=QUICK,
                removed=(0.1, 0.2),
            ),
        )
        self.ec2 = FakeEC2(
            agenda=self.agenda,
            dice=dice,
            catalogue=Catalogue.shipped(),
            cluster_name="demo",
            queue=self.queue,
            settings=EC2Settings(
                latency=QUICK,
                fleet_latency=QUICK,
                visible=QUICK,
                pending=QUICK,
                boot=(0.1, 0.2),
                shutdown=QUICK,
            ),
        )
        NodeMachines(self.cluster, self.ec2)
        self.solver = solver or InlineSolver()
        self.closed = threading.Event()
        self.ground: Ground | None = None

    def open(self, ground: Ground) -> Outside:
        """Open the fakes as the outside of a controller."""
        self.ground = ground
        lock = self.agenda.lock
        cluster: Any = Locked(self.cluster, lock)
        cloud: Any = Locked(self.ec2, lock)
        queue: Any = Locked(self.queue, lock)
        ports = Ports(reader=cluster, writer=cluster, cloud=cloud, queue=queue, solver=self.solver)
        lease: Any = Locked(self.cluster.lease("karpenter-leader-election"), lock)
        return Outside(ports, self.closed.set, lease)

    def running(self) -> int:
        """Return how many pods run that are not of DaemonSets."""
        with self.agenda.lock:
            return sum(p.phase is Phase.RUNNING and p.ready and not p.daemon for p in self.cluster.pods())

    def instances(self) -> int:
        """Return how many instances there are that are not terminated."""
        with self.agenda.lock:
            return len(self.ec2.instances())
