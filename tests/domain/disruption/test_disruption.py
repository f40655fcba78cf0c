from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import START, at, claim, node_pool
from treenail.domain.disruption.disruption import (
    EmptyNodes,
    NodeEmptied,
    allowed_disruptions,
    disrupted_labels,
)
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Budget, Disruption

TTL = timedelta(seconds=30)


def emptied(name: str, seconds: float | None, **more: Any) -> NodeEmptied:
    return NodeEmptied(name=name, since=None if seconds is None else at(seconds), **more)


def empty(**since: float | None) -> EmptyNodes:
    made = EmptyNodes()
    for name, seconds in since.items():
        made.note(emptied(name, seconds))
    return made


def test_a_node_is_due_when_it_has_stood_empty_for_its_time() -> None:
    known = empty(c1=10)

    assert known.next_due(TTL) == at(40)
    assert known.due(TTL, at(39.9)) == ()
    assert known.due(TTL, at(40)) == ("c1",)


def test_those_empty_for_longest_go_first() -> None:
    known = empty(c3=10, c1=20, c2=10, c4=50)

    assert known.due(TTL, at(60)) == ("c2", "c3", "c1")


def test_a_node_in_use_again_is_not_due() -> None:
    known = empty(c1=10)

    known.note(emptied("c1", None))

    assert known.due(TTL, at(60)) == ()
    assert known.next_due(TTL) is None


def test_a_node_that_empties_again_starts_anew() -> None:
    known = empty(c1=10)
    known.note(emptied("c1", None))

    known.note(emptied("c1", 20))

    assert known.next_due(TTL) == at(50)


def test_a_postponed_node_is_not_due_before() -> None:
    known = empty(c1=10, c2=15)

    known.postpone(("c1", "stranger"), at(100))

    assert known.due(TTL, at(99)) == ("c2",)
    assert known.due(TTL, at(100)) == ("c1", "c2")
    assert known.next_due(TTL) == at(45)


def test_postponing_does_not_make_a_node_due_earlier() -> None:
    known = empty(c1=10)

    known.postpone(("c1",), at(20))

    assert known.next_due(TTL) == at(40)


def test_a_node_that_is_to_wait_waits_whoever_postpones_it_for_less() -> None:
    known = EmptyNodes()
    known.note(emptied("c1", 10, not_before=at(600)))

    known.postpone(("c1",), at(50))

    assert known.next_due(TTL) == at(600)
    known.note(emptied("c1", 10))
    assert known.next_due(TTL) == at(40)


def test_a_node_that_emptied_anew_is_not_postponed_any_more() -> None:
    known = empty(c1=10)
    known.postpone(("c1",), at(1000))

    known.note(emptied("c1", None))
    known.note(emptied("c1", 50))

    assert known.next_due(TTL) == at(80)


@pytest.mark.parametrize(
    ("nodes", "percent", "allowed"),
    [(0, 10, 0), (1, 10, 1), (9, 10, 1), (10, 10, 1), (11, 10, 2), (100, 29, 29), (1000, 50, 500)],
)
def test_percentages_of_the_pools_nodes_round_up(nodes: int, percent: int, allowed: int) -> None:
    pool = replace(node_pool(), disruption=Disruption(budgets=(Budget(percent=percent),)))

    assert allowed_disruptions(pool, "Empty", nodes, START) == allowed


def test_without_a_budget_there_is_no_bound() -> None:
    assert allowed_disruptions(node_pool(), "Empty", 3, START) is None


@pytest.mark.parametrize(
    ("grace", "mode"),
    [
        (None, "graceful"),
        (timedelta(minutes=1), "eventual"),
        (timedelta(0), "forceful"),
    ],
)
def test_a_disrupted_claim_is_counted_by_how_it_goes(grace: timedelta | None, mode: str) -> None:
    going = replace(claim("c1"), termination_grace_period=grace, labels={labels.CAPACITY_TYPE: labels.SPOT})

    assert disrupted_labels(going, Cause.EMPTY) == {
        "reason": "empty",
        "nodepool": "default",
        "capacity_type": "spot",
        "consolidation_policy": "",
        "termination_mode": mode,
    }
