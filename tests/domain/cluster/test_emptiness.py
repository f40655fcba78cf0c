from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tests.builders import START, at, bound_pod, claim, claim_of, conditions, pending_pod, view
from treenail.domain.cluster.emptiness import (
    PodEventBook,
    PodEvents,
    PodsMoved,
    empty_since,
    is_empty,
    keeps,
    moved,
)
from treenail.domain.model import labels
from treenail.domain.model.claims import PROMISED, REPLACES
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import INITIALIZED
from treenail.domain.model.pods import Owner, Phase, Pod

THERE = bound_pod("p1", "node-c1")
STOPPING = replace(THERE, deleting_since=at(30))
OVER = replace(THERE, phase=Phase.SUCCEEDED)
ELSEWHERE = bound_pod("p1", "node-c2")
DAEMON = replace(THERE, owners=(Owner(kind="DaemonSet", name="agent", uid="agent"),))
STATIC = replace(THERE, owners=(Owner(kind="Node", name="node-c1", uid="node"),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, THERE, id="came"),
        pytest.param(pending_pod("p1"), THERE, id="was bound"),
        pytest.param(THERE, STOPPING, id="stops"),
        pytest.param(THERE, None, id="is gone at once"),
        pytest.param(THERE, OVER, id="is over"),
        pytest.param(THERE, ELSEWHERE, id="is elsewhere"),
    ],
)
def test_a_pod_that_comes_or_leaves_is_an_event_of_its_node(before: Pod | None, after: Pod | None) -> None:
    assert moved(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, DAEMON, id="daemon"),
        pytest.param(STATIC, None, id="static pod"),
        pytest.param(THERE, replace(THERE, ready=True), id="stays"),
        pytest.param(STOPPING, replace(STOPPING, ready=False), id="stops already"),
        pytest.param(STOPPING, None, id="is gone after it stopped"),
        pytest.param(OVER, None, id="was over"),
        pytest.param(None, pending_pod("p1"), id="has no node"),
        pytest.param(None, None, id="nobody"),
    ],
)
def test_others_are_none(before: Pod | None, after: Pod | None) -> None:
    assert not moved(before, after)


FREE = replace(THERE, annotations={labels.POD_DELETION_COST: str(-(2**27))})
STATEFUL = replace(STOPPING, owners=(Owner(kind="StatefulSet", name="db", uid="db"),))


@pytest.mark.parametrize(
    ("pod", "kept"),
    [
        pytest.param(THERE, True, id="costs something"),
        pytest.param(FREE, False, id="costs nothing"),
        pytest.param(replace(FREE, unread="spec.tolerations"), True, id="cannot be read"),
        pytest.param(replace(DAEMON, unread="spec.tolerations"), True, id="daemon that cannot be read"),
        pytest.param(DAEMON, False, id="daemon"),
        pytest.param(STATIC, False, id="static pod"),
        pytest.param(STOPPING, False, id="stops"),
        pytest.param(STATEFUL, True, id="stops and comes back by its name"),
    ],
)
def test_what_comes_back_elsewhere_and_costs_something_to_evict_keeps_a_node(
    pod: Pod,
    kept: bool,  # noqa: FBT001
) -> None:
    assert keeps(pod, claim("c1")) is kept
    assert is_empty([DAEMON, pod], claim("c1")) is not kept
    assert is_empty([DAEMON, pod], None) is not kept


@pytest.mark.parametrize("said", [{PROMISED: "p0,p1"}, {PROMISED: "p0", REPLACES: "c0"}])
def test_a_pod_keeps_the_node_that_was_bought_for_it_or_for_the_one_it_follows(said: dict[str, str]) -> None:
    made_for_it = claim("c1", annotations=said)

    assert keeps(FREE, made_for_it)
    assert not keeps(FREE, claim("c1", annotations={PROMISED: "p0"}))
    assert not keeps(STOPPING, made_for_it)


@pytest.mark.parametrize(("last", "since"), [(None, at(60)), (at(90), at(90))])
def test_a_claim_says_when_a_pod_last_came_or_left_or_else_since_when_it_is_in_use(
    last: datetime | None, since: datetime
) -> None:
    in_use = {"conditions": conditions(INITIALIZED, since=60), "last_pod_event_at": last}

    assert empty_since(view(of_claim=in_use)) == since


@pytest.mark.parametrize(("said", "since"), [("2026-01-01T00:01:00Z", at(60)), ("soon", None), ("", None)])
def test_a_node_of_the_old_api_says_it_itself(said: str, since: datetime | None) -> None:
    old = {"generation": Generation.V1ALPHA5, "last_pod_event_at": START}

    there = view(of_claim=old, of_node={"annotations": {labels.EMPTY_SINCE: said}})

    assert empty_since(there) == since


@pytest.mark.parametrize("lacking", ["claim", "node"])
def test_nobody_says_it_of_a_claim_without_a_node_or_of_a_node_without_a_claim(lacking: str) -> None:
    there = replace(view(), claim=None) if lacking == "claim" else replace(view(), node=None)

    assert empty_since(there) is None


# --- what is to be written


def event(seconds: float, name: str = "c1") -> PodsMoved:
    return PodsMoved(claim=claim_of(view(name)), node=f"node-{name}", at=at(seconds), empty=False)


def test_what_comes_together_is_written_once_as_it_was_last() -> None:
    book = PodEventBook()
    book.note(event(0), 0)
    book.note(event(0.5), 0.5)

    assert book.take(0.9) == ()
    assert book.take(1) == (event(0.5),)
    assert len(book) == 0


def test_a_node_is_written_to_every_ten_seconds_at_most_and_the_last_event_is_not_lost() -> None:
    book = PodEventBook()
    taken = []
    for second in range(60):
        if second <= 30:
            book.note(event(second), second)
        taken += [(second, one.at) for one in book.take(second)]

    assert taken == [(1, at(1)), (11, at(11)), (21, at(21)), (31, at(30))]


def test_ten_thousand_pods_on_a_thousand_nodes_are_twenty_writes_a_second_and_no_node_is_left_out() -> None:
    book = PodEventBook()
    taken: list[str] = []
    for second in range(100):
        for number in range(100):
            book.note(event(second, f"c{(100 * second + number) % 1000}"), second)
        now = book.take(second)
        assert len(now) <= 20
        taken += [one.claim.name for one in now]

    assert len(taken) == 99 * 20
    assert len(set(taken)) == 1000


def test_what_was_not_written_is_to_be_written_later_unless_there_is_news() -> None:
    book = PodEventBook()
    book.note(event(0), 0)
    (first,) = book.take(1)

    book.again(first, 1)
    assert book.take(10) == ()
    assert book.take(11) == (first,)
    book.note(event(12), 12)
    book.again(first, 12)
    assert book.take(21) == (event(12),)
    assert book.take(100) == ()


def test_a_claim_is_shown_with_the_last_event_that_was_heard_of_it() -> None:
    events, first = PodEvents(), claim("c1")
    assert events.on(first) is first

    events.note("c1", at(10))
    assert events.on(first) == replace(first, last_pod_event_at=at(10))
    events.note("c1", at(20))
    assert events.on(first) == replace(first, last_pod_event_at=at(20))

    changed = replace(first, node_name="node-c1")
    assert events.on(changed) == replace(changed, last_pod_event_at=at(20))
    said = replace(first, last_pod_event_at=at(30))
    assert events.on(said) is said

    events.forget("c1")
    assert events.on(first) is first
