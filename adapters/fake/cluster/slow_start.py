"""Calls in batches of 1, 2, 4 and so on, at a pace, as the ReplicaSet controller makes pods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.domain.model.rate_limits import Limit, TokenBucket

# kube-controller-manager's burst is 30 calls where its rate is 20 a second.
_BURST: Final = 1.5


@dataclass(slots=True)
class _Calls:
    """Calls still to be made. `size` is that of the batch, `rest` what is left of it."""

    left: deque[Callable[[], bool]]
    done: Callable[[bool], None]
    size: int = 1
    rest: int = 1
    failed: bool = False

    def make_one(self) -> bool:
        """Make the next call; return whether more are to be made."""
        self.rest -= 1
        self.failed |= not self.left.popleft()()
        if not self.rest and not self.failed:
            self.size = self.rest = min(2 * self.size, len(self.left))
        return bool(self.left) and self.rest > 0


class SlowStart:
    """Makes calls of many at a pace that they share, in turn. A batch in which one fails is the last."""

    def __init__(self, plane: ControlPlane, per_second: float) -> None:
        self._plane = plane
        self._bucket = TokenBucket(Limit(per_second, per_second * _BURST), plane.agenda.monotonic())
        self._turns: deque[_Calls] = deque()
        self._going = False

    def run(self, calls: Iterable[Callable[[], bool]], done: Callable[[bool], None]) -> None:
        """Make the calls, at least one, and then call `done` with whether all went well."""
        self._turns.append(_Calls(left=deque(calls), done=done))
        if not self._going:
            self._going = True
            self._go_on()

    def _go_on(self) -> None:
        now = self._plane.agenda.monotonic()
        while self._turns:
            wait = self._bucket.wait(now)
            if wait > 0:
                self._plane.later(wait, self._go_on)
                return
            self._bucket.take(now)
            calls = self._turns.popleft()
            if calls.make_one():
                self._turns.append(calls)
            else:
                calls.done(not calls.failed)
        self._going = False
