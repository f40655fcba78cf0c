from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.advised import advised
from tests.domain.packing.problems import (
    asking,
    existing_node,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import NOT_READY, Effect, Taint
from treenail.domain.packing.problem import ExistingNode
from treenail.domain.packing.refusal_reasons import Reason

TEAM = Taint("team", Effect.NO_SCHEDULE, "gpu")


def test_the_pool_that_comes_furthest_is_the_nearest_miss() -> None:
    first, second = offer(pool("first", taints=(TEAM,))), offer(pool("second"))

    (group,) = advised(problem(pods("web", 1, asking(50)), offers=(first, second)))

    assert group.nearest is not None
    assert (group.nearest.pool, group.nearest.reason) == ("second", Reason.TOO_LARGE)
    assert group.sentence == (
        "TooLarge: second: cpu 50 is asked for, and the largest type leaves 31920m to pods (c5.8xlarge); "
        "it would fit if it asked for 31920m of cpu instead of 50; "
        "UntoleratedTaint: first: the taint team=gpu:NoSchedule is not tolerated"
    )


def test_a_node_that_is_there_may_be_nearer_than_any_pool() -> None:
    small = existing_node("small", {"cpu": 1, "memory": "1Gi", "pods": 3}, node_labels={"disk": "ssd"})
    other = existing_node("other", node_labels={"disk": "hdd"})

    (group,) = advised(
        problem(pods("web", 1, asking(2, selector={"disk": "ssd"})), existing_nodes=(other, small))
    )

    assert group.nearest is not None
    assert (group.nearest.node, group.nearest.reason) == ("small", Reason.NODE_FULL)
    assert str(group.nearest) == "node small: cpu 2 is asked for, and 1 is free"


@pytest.mark.parametrize(
    ("spec", "of", "reason"),
    [
        (asking(), existing_node("n", taints=(TEAM,)), Reason.UNTOLERATED_TAINT),
        (asking(selector={"disk": "ssd"}), existing_node("n"), Reason.UNDEFINED_LABEL),
        (
            asking(selector={"disk": "ssd"}),
            existing_node("n", node_labels={"disk": "hdd"}),
            Reason.INCOMPATIBLE_REQUIREMENT,
        ),
        (asking(), existing_node("n", {"cpu": 4, "memory": "1Gi", "pods": 0}), Reason.NODE_FULL),
        (
            asking(),
            replace(existing_node("n"), free=Resources({"cpu": 4000, "memory": -1, "pods": 5})),
            Reason.NODE_FULL,
        ),
    ],
)
def test_nodes_say_their_first_reason_too(spec: PodSpec, of: ExistingNode, reason: Reason) -> None:
    (group,) = advised(problem(pods("web", 1, spec), offers=(), existing_nodes=(of,)))

    assert group.nearest is not None
    assert (group.nearest.node, group.nearest.reason) == ("n", reason)


def test_what_others_were_just_promised_is_no_longer_free() -> None:
    placed, left = pods("a", 1, asking(3), age=9), pods("b", 1, asking(2))

    (group,) = advised(problem(placed, left, offers=(), existing_nodes=(existing_node("n"),)))

    assert group.nearest is not None
    assert group.nearest.detail == "cpu 2 is asked for, and 1 is free"
    assert group.remedy is not None
    assert group.remedy.changes[0].after == {"cpu": "1"}


def test_where_all_cannot_be_helped_one_of_them_may() -> None:
    (group,) = advised(problem(pods("web", 3, asking(5)), offers=(), existing_nodes=(existing_node("n"),)))

    assert group.remedy is not None
    assert not group.remedy.for_all
    assert str(group.remedy) == "one of them would fit onto node n if it asked for 4 of cpu instead of 5"


def test_a_node_goes_by_its_own_name_and_one_to_be_by_its_claims() -> None:
    full = existing_node("default-1", node_labels={labels.NODE_NAME: "ip-10-0-0-1"})
    (there,) = advised(problem(pods("web", 1, asking(5)), offers=(), existing_nodes=(full,)))
    (to_be,) = advised(
        problem(pods("web", 1, asking(5)), offers=(), existing_nodes=(existing_node("default-1"),))
    )

    assert [str(there.nearest), str(to_be.nearest)] == [
        "node ip-10-0-0-1: cpu 5 is asked for, and 4 is free",
        "node default-1: cpu 5 is asked for, and 4 is free",
    ]
    assert str(there.remedy).startswith("it would fit onto node ip-10-0-0-1 if")


def test_where_they_would_go_onto_several_nodes_none_is_named() -> None:
    (group,) = advised(
        problem(pods("web", 2, asking(5)), offers=(), existing_nodes=(existing_node("m"), existing_node("n")))
    )

    assert str(group.remedy) == "it would fit if it asked for 4 of cpu instead of 5"


def test_nobody_is_told_to_put_up_with_a_node_that_is_not_ready() -> None:
    (group,) = advised(
        problem(pods("web", 1), offers=(), existing_nodes=(existing_node("n", taints=(NOT_READY,)),))
    )

    assert group.nearest is not None
    assert group.nearest.reason is Reason.UNTOLERATED_TAINT
    assert group.remedy is None
