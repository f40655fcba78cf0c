from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.adapters.ec2.refusals import SleptTime
from treenail.adapters.ec2.launch.listing import SharedListing
from treenail.domain.model.errors import UnavailableError


class Slow:
    """A listing that counts how often it is read, and can be held up."""

    def __init__(self) -> None:
        self.read = 0
        self.begun, self.go_on = Event(), Event()
        self.go_on.set()
        self.failure: Exception | None = None

    def __call__(self) -> int:
        self.read += 1
        number = self.read
        self.begun.set()
        assert self.go_on.wait(5)
        if self.failure is not None:
            raise self.failure
        return number


def test_whoever_asks_within_a_second_has_what_was_read() -> None:
    time, slow = SleptTime(), Slow()
    listing = SharedListing(time, slow)

    assert [listing.get(), listing.get()] == [1, 1]
    time.seconds = 1.0
    assert listing.get() == 1
    time.seconds = 1.1
    assert listing.get() == 2


def test_whoever_asks_while_it_is_read_waits_for_that() -> None:
    time, slow = SleptTime(), Slow()
    listing = SharedListing(time, slow)
    slow.go_on.clear()
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(listing.get)
        assert slow.begun.wait(5)
        time.seconds = 30.0
        others = [threads.submit(listing.get) for _ in range(4)]
        slow.go_on.set()

        assert [one.result(5) for one in (first, *others)] == [1] * 5
    assert slow.read == 1


def test_nobody_is_given_what_is_out_of_date_though_it_is_being_read() -> None:
    slow = Slow()
    listing = SharedListing(SleptTime(), slow)
    slow.go_on.clear()
    with ThreadPoolExecutor(2) as threads:
        before = threads.submit(listing.get)
        assert slow.begun.wait(5)
        listing.outdate()
        after = threads.submit(listing.get)
        slow.go_on.set()

        assert (before.result(5), after.result(5)) == (1, 2)
    assert listing.get() == 2


def test_a_failure_is_told_to_all_who_wait_and_to_nobody_after() -> None:
    slow = Slow()
    listing = SharedListing(SleptTime(), slow)
    slow.failure = UnavailableError("down")
    slow.go_on.clear()
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(listing.get)]
        assert slow.begun.wait(5)
        waiting.append(threads.submit(listing.get))
        slow.go_on.set()
        for one in waiting:
            with pytest.raises(UnavailableError):
                one.result(5)
    failed = slow.read

    slow.failure = None
    assert listing.get() == failed + 1
