from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, bound_pod, decision, pending_pod
from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.scheduling.decision_queue import DecisionQueue, part_of

MANY = 501
USUAL, OTHER = decision("usual"), decision("other")
URGENT = decision("urgent", urgent="spot_interrupted")


def queue(*decisions: Decision) -> DecisionQueue:
    made = DecisionQueue()
    for one in decisions:
        made.add(one)
    return made


def names(there: DecisionQueue, seconds: float) -> str:
    """Return the id of the decision that is begun then."""
    taken = there.take(at(seconds))
    return taken.id if taken is not None else ""


def packing(pods: int = MANY, *, announced: float | None = 1) -> DecisionQueue:
    """A decision on so many pods was begun at 0 s, and an urgent one came after an announcement."""
    there = queue()
    there.begin(USUAL, pods, START)
    if announced is not None:
        there.announce(at(announced))
    there.add(URGENT)
    return there


def test_one_decision_is_made_at_a_time() -> None:
    there = queue(USUAL)
    assert names(there, 0) == "usual"
    there.begin(USUAL, 3, START)
    there.add(OTHER)
    assert names(there, 1) == ""

    assert not there.end("urgent")
    assert there.end("usual")

    assert names(there, 2) == "other"
    assert names(there, 2) == ""


def test_decisions_of_a_kind_that_wait_are_made_together() -> None:
    later = replace(OTHER, opened_at=at(5), pods=2)

    taken = queue(replace(USUAL, pods=3), later).take(at(6))

    assert taken == replace(later, opened_at=USUAL.opened_at, pods=5)


def test_an_urgent_one_is_made_first() -> None:
    there = queue(USUAL, URGENT, OTHER)

    assert [names(there, 0), names(there, 0)] == ["urgent", "other"]


def test_one_on_many_pods_gives_way_and_is_begun_again_when_it_is_quiet() -> None:
    there = packing()

    assert names(there, 1) == "urgent"
    there.begin(URGENT, 3, at(1))
    assert not there.end("usual")
    assert there.end("urgent")

    assert there.resumes_at == at(3)
    assert names(there, 2.9) == ""
    assert names(there, 3) == "usual"


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(packing(pods=500), id="it is on few pods"),
        pytest.param(packing(announced=None), id="nothing was announced"),
        pytest.param(packing(announced=-2.1), id="what was announced is in it"),
    ],
)
def test_it_gives_way_for_nothing_else(there: DecisionQueue) -> None:
    assert names(there, 1) == ""


def test_an_urgent_one_gives_way_to_no_other() -> None:
    there = queue()
    there.begin(URGENT, MANY, START)
    there.announce(at(1))
    there.add(replace(URGENT, id="second"))

    assert names(there, 1) == ""


def test_after_half_a_minute_it_gives_way_no_more() -> None:
    there = packing()
    seconds = 1.0
    while names(there, seconds) == "urgent":
        there.begin(URGENT, 3, at(seconds))
        assert there.end("urgent")
        seconds += 1
        there.announce(at(seconds))
        if names(there, seconds) == "usual":
            break
        there.add(URGENT)
    assert seconds == 31
    there.begin(USUAL, MANY, at(31))
    there.announce(at(32))
    there.add(URGENT)
    assert names(there, 32) == ""

    # Made at last, it has used up its patience, and the next one has its own.
    assert there.end("usual")
    assert names(there, 40) == "urgent"
    assert there.end("nobody") is False


def snapshot(waiting: int, losing: int) -> Snapshot:
    pods = [pending_pod(f"w{n}") for n in range(waiting)] + [bound_pod(f"l{n}", "n") for n in range(losing)]
    return Snapshot(
        revision=1,
        taken_at=START,
        pods=tuple(pods),
        existing_nodes=(),
        pools=(),
        node_classes={},
        daemons=(),
        limits_left={},
    )


@pytest.mark.parametrize(
    ("chosen", "waiting", "losing", "pods"),
    [
        (URGENT, 500, 2, 2),
        (URGENT, 498, 2, 500),
        (URGENT, 600, 0, 600),
        (USUAL, 600, 2, 602),
    ],
)
def test_an_urgent_decision_is_on_pods_that_lose_their_node_alone_where_many_wait(
    chosen: Decision, waiting: int, losing: int, pods: int
) -> None:
    assert len(part_of(snapshot(waiting, losing), chosen).pods) == pods
