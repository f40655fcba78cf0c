from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest

from treenail.adapters.kubernetes.rate_limit import RateLimit
from treenail.domain.model.errors import TooManyRequestsError
from treenail.domain.model.purposes import Purpose

SECONDS = 5.0


class Hours:
    """A clock that a test puts forward, with all threads that wait for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._all_wait = threading.Semaphore(0)
        self._go_on = threading.Condition()

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        until = self.now + seconds
        self._all_wait.release()
        with self._go_on:
            assert self._go_on.wait_for(lambda: self.now >= until - 1e-9, SECONDS)

    def all_wait(self, threads: int) -> None:
        for _ in range(threads):
            assert self._all_wait.acquire(timeout=SECONDS)

    def forward(self, seconds: float) -> None:
        with self._go_on:
            self.now += seconds
            self._go_on.notify_all()


def test_the_most_urgent_of_those_who_wait_has_the_next_permit() -> None:
    hours = Hours()
    limit = RateLimit(qps=1.0, burst=1, clock=hours.clock, pause=hours.pause)
    limit.take(within=0)
    got: SimpleQueue[Purpose] = SimpleQueue()

    def take(purpose: Purpose) -> None:
        limit.take(within=60, purpose=purpose)
        got.put(purpose)

    waiting = [Purpose.TELLING, Purpose.HOUSEKEEPING, Purpose.PROVISIONING, Purpose.INTERRUPTION]
    order: list[Purpose] = []
    with ThreadPoolExecutor(len(waiting)) as threads:
        for purpose in waiting:
            threads.submit(take, purpose)
            hours.all_wait(1)
        for left in reversed(range(len(waiting))):
            hours.forward(1.0)
            order.append(got.get(timeout=SECONDS))
            hours.all_wait(left)

    assert order == sorted(waiting)


def test_whoever_would_wait_too_long_behind_those_of_its_own_purpose_gets_none_and_takes_none() -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    limit = RateLimit(qps=2.0, burst=1, clock=lambda: now[0], pause=pause)
    limit.take(within=0)

    with pytest.raises(TooManyRequestsError, match="our own limit is 2 a second"):
        limit.take(within=0.4)
    limit.take(within=0.5)

    assert now == [0.5]


@pytest.mark.parametrize("wrong", [{"qps": 0.0, "burst": 1}, {"qps": 1.0, "burst": 0}])
def test_a_limit_that_lets_nothing_through_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="above 0"):
        RateLimit(**wrong, clock=lambda: 0.0, pause=lambda _: None)
