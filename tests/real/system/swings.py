"""A Deployment that somebody cannot stop scaling."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Final

import urllib3

from tests.real.system.cluster import Cluster

_AGAIN_SECONDS: Final = 0.2


class Swings:
    """Scales a Deployment from size to size, in a thread, for as long as its context lasts.

    It ends at the last one. A change that the API server does not take is left out. `most_new` is how many
    pods were wanted anew in all, at most: what is not answered may have been done.
    """

    def __init__(
        self, cluster: Cluster, deployment: str, sizes: Sequence[int], *, at_first: int, every: float
    ) -> None:
        self.most_new = 0
        self.taken = 0
        self._cluster = cluster
        self._deployment = deployment
        self._sizes = sizes
        self._every = every
        self._over = threading.Event()
        self._low = at_first

    @contextmanager
    def going(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, name="swings", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
        while not self._takes(self._sizes[-1]):
            self._over.wait(_AGAIN_SECONDS)

    def _run(self) -> None:
        for size in cycle(self._sizes):
            self._takes(size)
            if self._over.wait(self._every):
                return

    def _takes(self, size: int) -> bool:
        self.most_new += max(0, size - self._low)
        try:
            self._cluster.scale(self._deployment, size)
        except (AssertionError, urllib3.exceptions.HTTPError):
            self._low = min(self._low, size)
            return False
        self.taken += 1
        self._low = size
        return True
