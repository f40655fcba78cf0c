from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import item, pod
from tests.adapters.kubernetes.rig import FAST, SOON, Heard, middle
from treenail.adapters.kubernetes import fact_publisher
from treenail.adapters.kubernetes.fact_publisher import FactPublisher
from treenail.adapters.kubernetes.resources import POD
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.domain.cluster.cluster_facts import ObjectSeen, Resynced, key_of


class Subject:
    """A publisher on a thread of its own, and pods that change."""

    def __init__(self, gather: float) -> None:
        self.store = WatchStore((POD,))
        self.heard = Heard()
        self.publisher = FactPublisher(
            self.store,
            self.heard,
            pace=replace(FAST, gather=gather),
            uniform=middle,
            congested=lambda: False,
        )
        self.thread = threading.Thread(target=self.publisher.run)

    def changes(self, *names: str, version: int) -> None:
        """Have pods change, all before anybody looks."""
        with self.store.wake:
            for number, name in enumerate(names, version):
                self.store.seen(POD, item(POD, pod(name, number, n=str(number))))

    def stop(self) -> None:
        self.publisher.stop()
        self.thread.join(SOON)


@contextmanager
def publishing(gather: float) -> Iterator[Subject]:
    """One that has told all there is: nothing."""
    subject = Subject(gather)
    subject.store.listed(POD, (), 1)
    subject.thread.start()
    try:
        subject.heard.next(Resynced)
        yield subject
    finally:
        subject.stop()


def test_what_changes_right_after_something_was_told_gathers_and_a_stop_does_not_wait_for_that() -> None:
    with publishing(gather=10 * SOON) as subject:
        subject.changes("a", "b", "a", version=2)

        subject.stop()

        assert not subject.thread.is_alive()
        assert subject.heard.quiet
        assert [key_of(fact.object) for fact in subject.store.take(9) if isinstance(fact, ObjectSeen)] == [
            "uid-a",
            "uid-b",
        ]


def test_what_gathered_is_told_when_its_time_is_over() -> None:
    with publishing(gather=FAST.gather) as subject:
        subject.changes("a", "b", "a", version=2)

        assert [subject.heard.next(ObjectSeen).object.resource_version for _ in range(2)] == [4, 3]


def test_where_more_waits_than_is_told_at_once_the_rest_is_not_left_to_gather(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fact_publisher, "_AT_ONCE", 1)
    with publishing(gather=10 * SOON) as subject:
        subject.changes("a", "b", "a", version=2)

        assert [subject.heard.next(ObjectSeen).object.resource_version for _ in range(2)] == [4, 3]
