from __future__ import annotations

from dataclasses import replace

from tests.builders import START, at, pending_pod
from treenail.domain.scheduling.pending_pods import PendingPods


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
    assert known.next_put_off() == at(9)
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


def test_a_refused_pod_is_not_asked_for_before_it_is_to_be_tried_again() -> None:
    known = room("p1", "p2")

    known.refuse("p1", "too large", at(0))
    assert ready(known, 3600) == ["p2"]
    known.try_again(["p1", "stranger"])

    assert ready(known, 3600) == ["p1", "p2"]


def test_why_a_pod_is_refused_is_told_once_and_what_is_new_once_a_minute() -> None:
    known = room("p1")

    assert known.refuse("p1", "too large", at(0))
    assert not known.refuse("p1", "too large", at(100))
    assert known.refuse("p1", "no capacity", at(110))
    assert not known.refuse("p1", "too large", at(169))
    assert known.refuse("p1", "too large", at(171))
    assert not known.refuse("stranger", "too large", at(0))


def test_why_a_pod_is_refused_is_told_anew_where_other_things_may_be_bought() -> None:
    known = room("p1")
    known.refuse("p1", "too large", at(0))

    known.try_again(["p1"], afresh=True)

    assert known.refuse("p1", "too large", at(1))


def test_a_pod_that_is_refused_is_put_off_no_more() -> None:
    known = PendingPods()
    known.enter(pending_pod("p1"), at(5), at(9))

    known.refuse("p1", "too large", at(6))

    assert known.next_put_off() is None
