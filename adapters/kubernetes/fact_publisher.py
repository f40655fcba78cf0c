"""The publisher of watched facts to one listener, no faster than that one handles them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.domain.cluster.cluster_facts import ClusterFact
from treenail.domain.model.runtime import Ref

# How many facts are told before the listener's inbox is looked at again.
_AT_ONCE: Final = 100


class FactPublisher:
    """A publisher of facts to one listener: all objects, once every resource was read, then the changes.

    It runs on a thread of its own. While the listener is congested nothing is sent; an object that changes
    meanwhile is sent once, in its last state. After a quiet time a fact is sent at once; those that come in
    the next moment are sent together, as each sending wakes this thread and the listener's.
    """

    def __init__(
        self,
        store: WatchStore,
        to: Ref[ClusterFact],
        *,
        pace: Pace,
        uniform: Callable[[float, float], float],
        congested: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._to = to
        self._pace = pace
        self._uniform = uniform
        self._congested = congested
        self._clock = clock
        self._stopped = threading.Event()
        self._resync_at: float | None = None

    def run(self) -> None:
        """Send facts until stopped."""
        while self._something_to_tell():
            if self._congested():
                self._stopped.wait(self._pace.congested)
            elif self._tell() < _AT_ONCE:
                self._stopped.wait(self._pace.gather)

    def stop(self) -> None:
        """Send nothing any more."""
        with self._store.wake:
            self._stopped.set()
            self._store.wake.notify_all()

    def _something_to_tell(self) -> bool:
        """Wait until there is something to tell; False where nothing is any more."""
        with self._store.wake:
            while not self._stopped.is_set() and not self._due():
                self._store.wake.wait(self._until_resync())
            return not self._stopped.is_set()

    def _due(self) -> bool:
        if self._resync_at is None:
            return self._store.complete
        return self._store.waiting > 0 or self._resync_due()

    def _resync_due(self) -> bool:
        return self._resync_at is None or self._store.renewed or self._clock() >= self._resync_at

    def _until_resync(self) -> float | None:
        return None if self._resync_at is None else max(0.0, self._resync_at - self._clock())

    def _tell(self) -> int:
        """Send what is to be told next; return how many facts that were."""
        facts: tuple[ClusterFact, ...]
        with self._store.wake:
            resync = self._resync_due()
        if resync:
            self._resync_at = self._clock() + self._uniform(*self._pace.resync)
            facts = (self._store.resynced(),)
        else:
            facts = self._store.take(_AT_ONCE)
        for fact in facts:
            if self._stopped.is_set():
                break
            self._to.tell(fact)
        return len(facts)
