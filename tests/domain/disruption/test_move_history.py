"""No node is replaced by what it replaced, nor to save less than it was bought for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, claim, planned_claim
from tests.sentences import said
from treenail.domain.disruption.move_history import KEPT, MoveHistory
from treenail.domain.model import labels
from treenail.domain.model.consolidated_claims import Shape, write_origins
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.plan import PlannedClaim

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def running(
    name: str,
    of: str,
    *,
    zone: str = "a",
    way: str = "spot",
    annotations: Mapping[str, str] | None = None,
    made: datetime = START,
) -> NodeClaim:
    labelled = {labels.INSTANCE_TYPE: of, labels.ZONE: zone, labels.CAPACITY_TYPE: way}
    return replace(claim(name, annotations=annotations), labels=labelled, created_at=made)


def buying(*types: str, zone: str = "a", way: str = "spot", pool: str = "default") -> PlannedClaim:
    where = Requirements.from_labels({labels.ZONE: zone, labels.CAPACITY_TYPE: way})
    return replace(planned_claim("web-1", pool=pool), requirements=where, instance_types=types)


def move(
    history: MoveHistory,
    removed: Sequence[NodeClaim],
    name: str,
    of: str,
    *,
    saving: float = 0.05,
    now: datetime = START,
) -> NodeClaim:
    """Replace nodes with one; return its claim."""
    made = running(name, of, annotations=write_origins(history.origins(removed, saving, now)), made=now)
    history.bought(made)
    return made


A = running("a", "A")


@pytest.fixture(params=["remembered", "after a restart"])
def histories(request: pytest.FixtureRequest) -> tuple[MoveHistory, MoveHistory]:
    """The history that takes in moves, and the one that is asked."""
    first = MoveHistory()
    return first, first if request.param == "remembered" else MoveHistory()


Two = tuple[MoveHistory, MoveHistory]


# --- there and back


def test_a_node_is_not_replaced_by_what_it_replaced_within_six_hours(histories: Two) -> None:
    made, asked = histories
    b = move(made, [A], "b", "B")

    assert said(asked.undoes([b], [buying("A")], START + HOUR)) == (
        "b came at 00:00 UTC in place of A a spot, and would go for one again: "
        "it stays until 2026-01-01T06:00:00Z"
    )
    assert asked.undoes([b], [buying("C"), buying("D", "A")], START + KEPT - SECOND) is not None
    assert asked.undoes([b], [buying("A")], START + KEPT) is None


def test_it_may_go_and_may_be_replaced_by_something_else(histories: Two) -> None:
    made, asked = histories
    b = move(made, [A], "b", "B")

    assert asked.undoes([b], [], START) is None
    assert asked.undoes([b], [buying("C", "D")], START) is None
    for other in (buying("A", way="on-demand"), buying("A", pool="other")):
        assert asked.undoes([b], [other], START) is None
    assert asked.undoes([A, running("b2", "B")], [buying("A")], START) is None


def test_a_node_of_a_withdrawn_move_need_not_save_what_it_was_bought_for() -> None:
    history = MoveHistory()
    b = move(history, [A], "b", "B")
    assert history.least_saving(b, START) > 0

    history.withdrawn(["b", "never made"])

    assert history.least_saving(b, START) == 0
    assert history.undoes([b], [buying("A")], START) is not None


def test_it_is_what_was_replaced_in_whatever_zone(histories: Two) -> None:
    made, asked = histories
    b = move(made, [A], "b", "B")
    anywhere = replace(buying("A"), requirements=Requirements((Requirement(labels.ZONE, complement=True),)))

    for again in (anywhere, buying("A", zone="b")):
        assert asked.undoes([b], [again], START) is not None


def test_a_circle_of_three_steps_is_one_too(histories: Two) -> None:
    made, asked = histories
    b = move(made, [A], "b", "B")
    c = move(asked, [b], "c", "C", now=START + HOUR)

    assert asked.undoes([c], [buying("A")], START + 2 * HOUR) is not None
    assert asked.undoes([c], [buying("B")], START + KEPT) is not None
    # The first step was longer ago.
    assert asked.undoes([c], [buying("A")], START + KEPT) is None


def test_each_of_several_replaced_nodes_is_remembered_once() -> None:
    history = MoveHistory()

    (own,) = history.origins([A, running("x", "X"), running("a2", "A")], 0.2, START)

    assert own.replaced == (Shape("default", "A", "a", "spot"), Shape("default", "X", "a", "spot"))


def test_of_many_steps_the_latest_are_remembered() -> None:
    history, last = MoveHistory(), A
    for step in range(40):
        last = move(history, [last], f"n{step}", f"T{step}", now=START + step * SECOND)

    now = START + HOUR
    assert len(history.origins([last], 0.1, now)) == 16
    assert history.undoes([last], [buying("T38")], now) is not None
    assert history.undoes([last], [buying("T24")], now) is not None
    assert history.undoes([last], [buying("T20")], now) is None


# --- loops are counted


def test_a_loop_is_counted_once_however_often_it_is_planned() -> None:
    history = MoveHistory()
    b, d = move(history, [A], "b", "B"), move(history, [A], "d", "D")

    for seconds in range(100):
        history.undoes([b, d], [buying("A")], START + seconds * SECOND)
    assert history.loops == 1
    history.undoes([d], [buying("A")], START)
    history.undoes([d], [buying("E")], START)
    assert history.loops == 2


# --- what a node was bought for


def test_a_node_is_replaced_only_to_save_more_than_it_was_bought_for(histories: Two) -> None:
    made, asked = histories
    b = move(made, [A], "b", "B", saving=0.05)

    assert asked.least_saving(b, START + KEPT - SECOND) == pytest.approx(0.05)
    assert asked.least_saving(b, START + KEPT) == 0.0
    assert asked.least_saving(A, START) == 0.0


def test_what_its_forerunner_was_bought_for_does_not_count() -> None:
    history = MoveHistory()
    b = move(history, [A], "b", "B", saving=0.5)
    c = move(history, [b], "c", "C", saving=0.6, now=START + HOUR)

    assert history.least_saving(c, START + HOUR) == pytest.approx(0.6)


# --- what is written on claims


def test_a_node_of_which_it_cannot_be_read_may_be_a_recent_replacement() -> None:
    history = MoveHistory()
    unreadable = running("b", "B", annotations={labels.CONSOLIDATED: "yes"})

    assert history.least_saving(unreadable, START + KEPT - SECOND) == math.inf
    assert said(history.undoes([unreadable], [buying("C")], START + HOUR)) == (
        "b may be a recent replacement: its treenail.sh/consolidated is unreadable: "
        "it stays until 2026-01-01T06:00:00Z"
    )
    assert history.undoes([unreadable], [], START + HOUR) is None
    assert history.least_saving(unreadable, START + KEPT) == 0.0
    assert history.undoes([unreadable], [buying("C")], START + KEPT) is None


def test_a_time_in_the_future_keeps_no_node_for_longer() -> None:
    text = "0.05/2999-01-01T00:00:00Z/default,A,a,spot"
    forged = running("b", "B", annotations={labels.CONSOLIDATED: text})

    assert MoveHistory().undoes([forged], [buying("A")], START + HOUR) is not None
    assert MoveHistory().undoes([forged], [buying("A")], START + KEPT) is None


def test_what_is_remembered_counts_whatever_becomes_of_the_annotation() -> None:
    history = MoveHistory()
    b = move(history, [A], "b", "B")

    assert history.undoes([replace(b, annotations={})], [buying("A")], START) is not None
    assert MoveHistory().undoes([replace(b, annotations={})], [buying("A")], START) is None


def test_of_too_many_claims_the_first_are_forgotten_but_for_what_they_say() -> None:
    history = MoveHistory(most=2)
    b, *_ = [move(history, [A], name, "B") for name in ("b", "c", "d")]

    assert history.least_saving(replace(b, annotations={}), START) == 0.0
    assert history.least_saving(b, START) == pytest.approx(0.05)


# --- properties


@given(
    st.lists(st.tuples(st.sampled_from("ABCD"), st.integers(1, 240)), max_size=30),
    st.sampled_from(("restarts", "runs on")),
)
def test_no_type_comes_back_to_the_same_pods_within_six_hours(
    wished: list[tuple[str, int]], after: str
) -> None:
    history, node, now = MoveHistory(), A, START
    left: dict[str, datetime] = {}
    for step, (wanted, minutes) in enumerate(wished):
        now += timedelta(minutes=minutes)
        history = MoveHistory() if after == "restarts" else history
        if wanted == node.instance_type or history.undoes([node], [buying(wanted)], now) is not None:
            continue
        if wanted in left:
            assert now >= left[wanted] + KEPT - SECOND
        left[node.instance_type] = now
        node = move(history, [node], f"n{step}", wanted, now=now)
