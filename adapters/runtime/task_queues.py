"""Queues of calls to one port: one for each key, in lanes by purpose."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from treenail.domain.model.lanes import Lanes
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import TaskKey

# The share of a port's workers that calls of this urgency or less may occupy. The others are kept for more
# urgent calls, however long these take.
_SHARES: Final = {
    Purpose.INTERRUPTION: 1.0,
    Purpose.PROVISIONING: 0.75,
    Purpose.DISRUPTION: 0.6,
    Purpose.HOUSEKEEPING: 0.35,
    Purpose.TELLING: 0.125,
}
_LEAST_URGENT_FIRST: Final = tuple(reversed(Purpose))


class Begun(NamedTuple):
    """A call that is begun, what it is for, and the key of its queue."""

    key: TaskKey
    purpose: Purpose
    call: Callable[[], None]


class _Queue:
    """The calls of one key, in order. It is as urgent as its most urgent call, which waits its turn."""

    def __init__(self) -> None:
        self.calls: deque[tuple[Purpose, Callable[[], None]]] = deque()
        self.under_way: Purpose | None = None
        self._of = dict.fromkeys(Purpose, 0)

    @property
    def purpose(self) -> Purpose:
        return next(purpose for purpose in Purpose if self._of[purpose])

    def put(self, purpose: Purpose, call: Callable[[], None]) -> None:
        self.calls.append((purpose, call))
        self._of[purpose] += 1

    def done(self) -> None:
        purpose, _ = self.calls.popleft()
        self._of[purpose] -= 1


class WaitingCalls:
    """The calls to one port; `most` may run at once. Not safe for threads by itself."""

    def __init__(self, most: int) -> None:
        self.number = 0
        self._limits = {purpose: math.ceil(most * share) for purpose, share in _SHARES.items()}
        self._queues: dict[TaskKey, _Queue] = {}
        self._ready: Lanes[TaskKey] = Lanes()
        self._under_way = dict.fromkeys(Purpose, 0)

    @property
    def startable(self) -> int:
        """The number of waiting tasks that could begin now, if there were workers for them."""
        number = under_way = 0
        for purpose in _LEAST_URGENT_FIRST:
            under_way += self._under_way[purpose]
            number = min(number + self._ready.waiting(purpose), self._limits[purpose] - under_way)
        return number

    def put(self, key: TaskKey, purpose: Purpose, call: Callable[[], None]) -> None:
        """Have a call wait, behind all others of its key."""
        self.number += 1
        queue = self._queues.setdefault(key, _Queue())
        waits = bool(queue.calls) and queue.under_way is None
        if waits and purpose < queue.purpose:
            self._ready.leave(queue.purpose, key)
            waits = False
        queue.put(purpose, call)
        if not waits and queue.under_way is None:
            self._ready.join(queue.purpose, key)

    def begin(self) -> Begun | None:
        """Return the call whose turn it is, which is under way from now on; None where none may begin."""
        among = self._open()
        first = self._ready.first(among)
        if first is None:
            return None
        purpose, key = first
        self._ready.take(purpose, among)
        self._under_way[purpose] += 1
        queue = self._queues[key]
        queue.under_way = purpose
        return Begun(key, purpose, queue.calls[0][1])

    def done(self, begun: Begun) -> None:
        """Take in that a call is over."""
        self.number -= 1
        self._under_way[begun.purpose] -= 1
        queue = self._queues[begun.key]
        queue.under_way = None
        queue.done()
        if queue.calls:
            self._ready.join(queue.purpose, begun.key)
        else:
            del self._queues[begun.key]

    def drop_waiting(self) -> None:
        """Forget all calls but those under way."""
        self._ready = Lanes()
        for key, queue in list(self._queues.items()):
            if queue.under_way is None:
                self.number -= len(queue.calls)
                del self._queues[key]
                continue
            while len(queue.calls) > 1:
                self.number -= 1
                queue.calls.pop()

    def _open(self) -> tuple[Purpose, ...]:
        """Return the purposes for which a call may begin."""
        under_way = 0
        full = None
        for purpose in _LEAST_URGENT_FIRST:
            under_way += self._under_way[purpose]
            if under_way >= self._limits[purpose]:
                full = purpose
        return tuple(purpose for purpose in Purpose if full is None or purpose < full)
