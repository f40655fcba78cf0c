from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, bound_pod, claim, node, node_pool, pending_pod, resources
from treenail.domain.cluster.promises import Promise
from treenail.domain.cluster.recent_changes import PodMoved, RecentChanges
from treenail.domain.model.nodes import READY, Condition, Status
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import GOES_LATER, Effect, Taint

MOST = 20_000
POD = bound_pod("p1", "n1")
NODE = node("n1", provider_id="aws:///a/i-1", room=resources(cpu=4))


def since(changes: RecentChanges, revision: int) -> list[tuple[str, str]]:
    """Return which pods changed since, and where, the last first."""
    found = changes.since(revision)
    assert found is not None
    return [(one.uid, one.place) for one in found]


def filled(count: int) -> RecentChanges:
    """Return as many changes, the first after revision 0, each later one after a revision of its own."""
    changes = RecentChanges()
    for number in range(count):
        changes.pod(number, None, POD)
    return changes


def test_where_nothing_changed_any_plan_holds() -> None:
    changes = RecentChanges()

    assert since(changes, 0) == []
    assert not changes.nodes_since(0)
    assert changes.stamp == 0


def test_what_changed_after_a_revision_is_told_with_the_last_first() -> None:
    changes = RecentChanges()
    changes.pod(3, None, bound_pod("before", "n1"))
    changes.pod(4, None, bound_pod("p1", "n1"))
    changes.pod(5, None, bound_pod("p2", "n2"))

    assert since(changes, 4) == [("p2", "n2"), ("p1", "n1")]
    assert since(changes, 6) == []


def test_a_pod_that_leaves_a_node_is_told_at_that_node() -> None:
    changes = RecentChanges()

    changes.pod(1, POD, None)

    assert since(changes, 1) == [("p1", "n1")]


def test_a_pod_whose_labels_change_is_told_as_it_was_and_as_it_is() -> None:
    changes = RecentChanges()
    after = replace(POD, labels={"app": "web"})

    changes.pod(1, POD, after)

    assert list(changes.since(1) or ()) == [PodMoved.of(after, 1, "n1"), PodMoved.of(POD, 1, "n1")]


def test_a_pod_that_is_deleted_where_it_is_is_told_once() -> None:
    changes = RecentChanges()

    changes.pod(1, POD, replace(POD, deleting_since=START))

    assert since(changes, 1) == [("p1", "n1")]
    assert changes.stamp == 1


def test_a_pod_without_a_node_lets_nothing_else_be_placed_otherwise_and_is_still_a_change() -> None:
    changes = RecentChanges()

    changes.pod(1, None, pending_pod("p1"))

    assert since(changes, 1) == []
    assert changes.stamp == 1


def test_a_promise_is_told_with_its_target_and_the_decision_that_made_it() -> None:
    changes = RecentChanges()

    changes.promise(1, Promise(like=POD, target="c2", decision="d1"))

    assert list(changes.since(1) or ()) == [PodMoved.of(POD, 1, "c2", "d1")]
    assert changes.stamp == 1


def test_twenty_thousand_changes_are_remembered() -> None:
    assert len(since(filled(MOST), 0)) == MOST


def test_whether_a_plan_holds_is_not_known_once_a_change_after_it_is_forgotten() -> None:
    changes = filled(MOST + 1)

    assert changes.since(0) is None
    assert len(since(changes, 1)) == MOST


def test_of_the_changes_after_one_revision_none_may_be_forgotten() -> None:
    changes = RecentChanges()
    for number in range(MOST + 1):
        changes.pod(number // 2, None, POD)

    assert changes.since(0) is None
    assert len(since(changes, 1)) == MOST - 1


@pytest.mark.parametrize(
    "news",
    [
        {"labels": {"team": "b"}},
        {"taints": (Taint(key="team", value="b", effect=Effect.NO_SCHEDULE),)},
        {"unschedulable": True},
        {"allocatable": resources(cpu=8)},
        {"conditions": ()},
        {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        {"deleting_since": START},
    ],
    ids=lambda news: next(iter(news)),
)
def test_a_node_that_takes_other_pods_than_before_has_changed(news: dict[str, Any]) -> None:
    changes = RecentChanges()

    changes.node(3, NODE, replace(NODE, **news))

    assert changes.nodes_since(3)
    assert not changes.nodes_since(4)
    assert changes.stamp == 1


def test_a_taint_by_which_only_the_scheduler_uses_a_node_last_changes_no_plan() -> None:
    changes = RecentChanges()

    changes.node(1, NODE, replace(NODE, taints=(GOES_LATER,)))

    assert not changes.nodes_since(0)
    assert changes.stamp == 0


def test_a_node_that_comes_or_leaves_is_a_change() -> None:
    changes = RecentChanges()

    changes.node(1, None, NODE)
    changes.node(2, NODE, None)

    assert changes.stamp == 2
    assert changes.nodes_since(2)


def test_a_heartbeat_of_a_node_and_a_new_version_of_a_pod_change_nothing() -> None:
    changes = RecentChanges()
    ready = Condition(type=READY, status=Status.TRUE, since=START)

    changes.node(1, NODE, replace(NODE, resource_version=2, conditions=(ready,)))
    changes.pod(1, POD, replace(POD, resource_version=2, ready=False))

    assert changes.stamp == 0
    assert not changes.nodes_since(0)
    assert since(changes, 0) == []


@pytest.mark.parametrize(
    "news",
    [
        {"labels": {"app": "web"}},
        {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        {"node_name": "n2"},
        {"deleting_since": START},
    ],
    ids=lambda news: next(iter(news)),
)
def test_what_planning_looks_at_in_a_pod_lets_a_fruitless_state_be_planned_again(
    news: dict[str, Any],
) -> None:
    changes = RecentChanges()
    after: Pod = replace(POD, **news)

    changes.pod(1, POD, after)

    assert changes.stamp == 1


def test_pools_that_say_something_else_change_the_state_and_those_that_say_the_same_do_not() -> None:
    changes, pool = RecentChanges(), node_pool()

    changes.thing(pool, None)
    changes.thing(replace(pool, resource_version=2), pool)
    assert changes.stamp == 1
    changes.thing(replace(pool, weight=7, resource_version=3), pool)
    assert changes.stamp == 2
    changes.thing_gone(pool)
    assert changes.stamp == 3
    changes.thing_gone(None)
    assert changes.stamp == 3


def test_claims_do_not_change_the_state_by_themselves() -> None:
    changes = RecentChanges()

    changes.thing(claim("c1", initialized=True), claim("c1"))
    changes.thing_gone(claim("c1"))

    assert changes.stamp == 0
