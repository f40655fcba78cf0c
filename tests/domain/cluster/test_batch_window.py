from __future__ import annotations

import pytest

from tests.builders import START
from treenail.domain.cluster.batch_window import BatchWindow, Decision
from treenail.domain.telemetry.tracing import SpanContext


def window() -> BatchWindow:
    return BatchWindow(idle_seconds=1, max_seconds=10, urgent_seconds=0.1)


def test_a_window_nobody_opened_never_closes() -> None:
    assert window().empty
    assert window().closes_at is None


def test_a_window_closes_when_pods_have_stopped_coming() -> None:
    open_ = window()

    open_.add("a", now=5)
    open_.add("b", now=5.5)

    assert not open_.empty
    assert open_.opened_at == 5
    assert open_.closes_at == 6.5


def test_a_trickle_does_not_hold_it_open_for_ever() -> None:
    open_ = window()

    for tick in range(30):
        open_.add(f"p{tick}", now=5 + tick / 2)

    assert open_.closes_at == 15


def test_a_pod_seen_again_does_not_hold_it_open() -> None:
    open_ = window()

    open_.add("a", now=5)
    open_.add("a", now=5.9)

    assert open_.closes_at == 6


def test_pods_that_left_are_not_waited_for() -> None:
    open_ = window()
    open_.add("a", now=5)
    open_.add("b", now=5.5)

    open_.discard("a")
    open_.discard("stranger")

    assert open_.closes_at == 6.5
    open_.discard("b")
    assert open_.closes_at is None


def test_pods_of_owners_whose_wish_is_known_do_not_hold_it_open() -> None:
    open_ = window()

    open_.add("a", now=5, owner="web", wished=40)
    open_.add("b", now=5.5, owner="web", wished=39)
    open_.add("c", now=5.6, owner="web")

    assert open_.closes_at == 6
    open_.add("d", now=5.7, owner="db", wished=1)
    assert open_.closes_at == 6.7


def test_a_window_of_large_wishes_closes_soon() -> None:
    open_ = window()

    open_.add("a", now=5, owner="web", wished=300)
    assert open_.closes_at == 6
    open_.add("b", now=5.05, owner="db", wished=200)
    open_.add("c", now=5.06, owner="web", wished=299)

    assert open_.closes_at == pytest.approx(5.15)


def test_another_pod_has_the_window_wait_for_others() -> None:
    open_ = window()
    open_.add("a", now=5, owner="web", wished=500)

    open_.add("b", now=5.05)

    assert open_.closes_at == 6.05
    open_.discard("b")
    assert open_.closes_at == pytest.approx(5.15)


def test_a_window_that_emptied_opens_anew_with_the_next_pod() -> None:
    open_ = window()
    open_.add("a", now=0)
    open_.discard("a")

    open_.add("b", now=30)

    assert open_.opened_at == 30
    assert open_.closes_at == 31


def test_urgent_work_closes_it_soon_with_or_without_pods() -> None:
    alone, with_pods = window(), window()
    alone.hurry("spot", now=5)
    with_pods.add("a", now=4.5)
    with_pods.hurry("spot", now=5)

    assert (alone.opened_at, alone.closes_at) == (5, 5.1)
    assert (with_pods.opened_at, with_pods.closes_at) == (4.5, 5.1)


def test_more_urgent_work_does_not_put_it_off() -> None:
    open_ = window()

    open_.hurry("first", now=5)
    open_.hurry("second", now=5.05)

    assert open_.closes_at == 5.1
    assert open_.urgent == "first"


def test_urgent_work_outlives_the_pods_that_left() -> None:
    open_ = window()
    open_.add("a", now=5)
    open_.hurry("spot", now=5)

    open_.discard("a")

    assert open_.closes_at == 5.1


def test_urgent_work_does_not_put_off_what_was_about_to_close() -> None:
    open_ = window()
    open_.add("a", now=5)

    open_.hurry("spot", now=5.95)

    assert open_.closes_at == 6


def test_nodes_to_be_replaced_wait_for_each_other_as_pods_do() -> None:
    open_ = window()

    open_.replace("n1", now=5)
    open_.replace("n2", now=5.5)
    open_.replace("n1", now=6)

    assert (open_.empty, open_.opened_at, open_.closes_at) == (False, 5, 6.5)
    assert open_.close() == 0
    assert (open_.empty, open_.closes_at) == (True, None)


def test_closing_forgets_pods_and_hurry() -> None:
    open_ = window()
    open_.add("a", now=5)
    open_.add("b", now=5)
    open_.hurry("spot", now=5)

    assert open_.close() == 2
    assert (open_.empty, open_.urgent, open_.closes_at) == (True, "", None)
    assert open_.close() == 0


def test_a_decisions_trace_follows_from_its_id() -> None:
    decision = Decision(id="3f2a", opened_at=START, closed_at=START, pods=1)

    assert decision.context == SpanContext.root("decide/3f2a")
