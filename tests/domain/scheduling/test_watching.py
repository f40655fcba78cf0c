from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, pending_pod
from treenail.domain.scheduling.watching import PendingPods


def room(*uids: str) -> PendingPods:
    made = PendingPods()
    for uid in uids:
        made.enter(pending_pod(uid), at(5))
    return made


def ready(known: PendingPods, seconds: float) -> list[str]:
    return [uid for uid, _ in known.ready(at(seconds))]


def test_a_pod_waits_since_the_scheduler_said_so_or_since_it_was_seen() -> None:
    known = PendingPods()

    assert known.enter(pending_pod("p1"), at(5)) == START
    assert known.enter(replace(pending_pod("p2"), unschedulable_since=None), at(5)) == at(5)
    assert known.ready(at(5)) == (("p1", START), ("p2", at(5)))


def test_a_pod_that_is_put_off_is_asked_for_when_its_time_has_come() -> None:
    known = PendingPods()

    assert known.enter(pending_pod("p1"), at(5), at(9)) is None
    assert known.next_retry() == at(9)
    assert ready(known, 8) == []
    assert ready(known, 9) == ["p1"]


def test_a_pod_whose_time_has_come_is_not_put_off() -> None:
    assert PendingPods().enter(pending_pod("p1"), at(5), at(5)) == START


def test_a_pod_is_let_in_once() -> None:
    known = room("p1")

    assert known.enter(pending_pod("p1"), at(9)) is None
    assert len(known) == 1


def test_a_pod_that_left_was_there_once() -> None:
    known = room("p1")

    assert known.leave("p1")
    assert not known.leave("p1")
    assert known.ready(at(9)) == ()


def test_refused_pods_are_tried_again_after_longer_and_longer_pauses() -> None:
    known, now, pauses = room("p1"), 0.0, []

    for _ in range(7):
        known.refuse("p1", at(now))
        retry_at = known.next_retry()
        assert retry_at is not None
        pauses.append((retry_at - at(now)).total_seconds())
        now = (retry_at - START).total_seconds()

    assert pauses == [10, 20, 40, 60, 60, 60, 60]


def test_pods_refused_while_a_pool_was_not_ready_wait_no_longer_each_time() -> None:
    known, now, pauses = room("p1"), 0.0, []

    for _ in range(4):
        known.refuse("p1", at(now), pools_ready=False)
        retry_at = known.next_retry()
        assert retry_at is not None
        pauses.append((retry_at - at(now)).total_seconds())
        now = (retry_at - START).total_seconds()

    assert pauses == [10, 10, 10, 10]


def test_a_refused_pod_is_not_ready_before_its_time() -> None:
    known = room("p1", "p2")

    known.refuse("p1", at(0))

    assert ready(known, 9.9) == ["p2"]
    assert ready(known, 10) == ["p1", "p2"]


def test_a_time_to_try_again_is_used_up_by_trying() -> None:
    known = room("p1", "p2")
    known.refuse("p1", at(0))
    known.refuse("p2", at(5))

    assert ready(known, 10) == ["p1"]

    assert known.next_retry() == at(15)


def test_only_the_first_refusal_is_news() -> None:
    known = room("p1")

    assert known.refuse("p1", at(0))
    assert not known.refuse("p1", at(10))
    assert not known.refuse("stranger", at(0))


def test_news_of_pools_let_all_be_tried_at_once_and_refused_anew() -> None:
    known = room("p1", "p2")
    known.refuse("p1", at(0))
    known.refuse("p2", at(0))

    known.retry_refused()

    assert ready(known, 0) == ["p1", "p2"]
    assert known.next_retry() is None
    assert known.refuse("p1", at(1))
    assert known.next_retry() == at(11)


@pytest.mark.parametrize("refused", [(), ("p1", "p2")])
def test_the_next_retry_is_the_earliest_there_is(refused: tuple[str, ...]) -> None:
    known = room("p1", "p2", "p3")

    for seconds, uid in enumerate(refused):
        known.refuse(uid, at(seconds))

    assert known.next_retry() == (at(10) if refused else None)
