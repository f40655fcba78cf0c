"""A Deployment that somebody cannot stop scaling."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle

import urllib3

from tests.real.system.cluster import Cluster


class Swings:
    """Scales a Deployment up and down, in a thread, for as long as its context lasts.

    Where the API server does not take a change, the next one is tried. `upwards` is by how many replicas
    it was scaled up in all.
    """

    def __init__(self, cluster: Cluster, deployment: str, sizes: Sequence[int], *, every: float) -> None:
        self.upwards = 0
        self.taken = 0
        self.now = sizes[-1]
        self._cluster = cluster
        self._deployment = deployment
        self._sizes = sizes
        self._every = every
        self._over = threading.Event()

    @contextmanager
    def going(self) -> Iterator[None]:
        """Begin and end at the last of the sizes."""
        thread = threading.Thread(target=self._run, name="swings", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
        while self.now != self._sizes[-1]:
            self._try(self._sizes[-1])

    def _run(self) -> None:
        for size in cycle(self._sizes):
            self._try(size)
            if self._over.wait(self._every):
                return

    def _try(self, size: int) -> None:
        try:
            self._cluster.scale(self._deployment, size)
        except (AssertionError, urllib3.exceptions.HTTPError):
            self._over.wait(0.2)
            return
        self.taken += 1
        self.upwards += max(0, size - self.now)
        self.now = size
