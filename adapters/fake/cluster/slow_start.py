"""Calls in batches of 1, 2, 4 and so on, at a pace, as the ReplicaSet controller makes pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.domain.model.rate_limits import Limit, TokenBucket

# kube-controller-manager's burst is 30 calls where its rate is 20 a second.
_BURST: Final = 1.5


@dataclass(slots=True)
class _Calls:
    """Calls still to be made. `size` is that of the batch, `rest` what is left of it."""

    left: int
    call: Callable[[], bool]
    done: Callable[[bool], None]
    size: int = 1
    rest: int = 1
    failed: bool = False


class SlowStart:
    """Makes calls of many at a pace that they share. A batch in which one fails is the last."""

    def __init__(self, plane: ControlPlane, per_second: float) -> None:
        self._plane = plane
        self._bucket = TokenBucket(Limit(per_second, per_second * _BURST), plane.agenda.monotonic())

    def run(self, number: int, call: Callable[[], bool], done: Callable[[bool], None]) -> None:
        """Call `call` so many times, and then `done` with whether all went well."""
        self._go_on(_Calls(left=number, call=call, done=done))

    def _go_on(self, calls: _Calls) -> None:
        now = self._plane.agenda.monotonic()
        while calls.left and not (calls.failed and not calls.rest):
            if not calls.rest:
                calls.size = min(2 * calls.size, calls.left)
                calls.rest = calls.size
            wait = self._bucket.wait(now)
            if wait > 0:
                self._plane.later(wait, partial(self._go_on, calls))
                return
            self._bucket.take(now)
            calls.left -= 1
            calls.rest -= 1
            calls.failed |= not calls.call()
        calls.done(not calls.failed)
