"""Runs of pods that a controller makes for an owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from treenail.adapters.fake.cluster.control_plane import DelayedWork
from treenail.adapters.fake.cluster.objects import Address
from treenail.adapters.fake.cluster.slow_start import SlowStart


class PodRuns:
    """Makes the pods of each owner in runs: all at once, or at a pace, `slow`, where what is begun is ended.

    Where a pod cannot be made, `queue` has the owner again after a pause that grows; after a run at a pace it
    has it soon, as its size may have changed meanwhile. `ended` is called with whether all were made.
    """

    def __init__(
        self,
        queue: DelayedWork[Address],
        slow: SlowStart | None,
        ended: Callable[[Address, bool], None] | None = None,
    ) -> None:
        self._queue = queue
        self._slow = slow
        self._ended = ended
        self._going: set[Address] = set()

    def going(self, where: Address) -> bool:
        """Return whether a run of this owner has not ended yet."""
        return where in self._going

    def start(self, where: Address, pods: Sequence[Callable[[], bool]]) -> None:
        """Make each of `pods`; none after one that fails, at a pace none after its batch."""
        if self._slow is None:
            self._end(where, all(make() for make in pods))
            return
        self._going.add(where)
        self._slow.run(pods, partial(self._end, where))

    def _end(self, where: Address, well: bool) -> None:  # noqa: FBT001 (what is called back with)
        if not well:
            self._queue.retry(where)
        else:
            self._queue.succeed(where)
            if where in self._going:
                self._queue.add(where)
        self._going.discard(where)
        if self._ended is not None:
            self._ended(where, well)
