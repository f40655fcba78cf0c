from __future__ import annotations

from collections import Counter

from tests.domain.packing.problems import asking, existing_node, expression, offer, pods, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint, Toleration
from treenail.domain.packing.pack import pack


def test_rooms_are_filled_in_their_order_before_a_node_is_bought() -> None:
    existing_nodes = (existing_node("b"), existing_node("a"))

    plan = pack(problem(pods("web", 11), existing_nodes=existing_nodes))

    assert Counter(plan.nominations.values()) == {"b": 4, "a": 4}
    assert sum(len(c.pods) for c in plan.claims) == 3
    assert [plan.nominations[f"web-{i}"] for i in (0, 1)] == ["b", "b"]


def test_the_report_says_where_a_class_went() -> None:
    plan = pack(problem(pods("web", 6), existing_nodes=(existing_node("a"),)))

    (report,) = plan.classes
    assert (report.example, report.pods) == ("default/web-0", 6)
    assert (report.to_existing_nodes, report.to_claims, report.refused) == ({"a": 4}, {0: 2}, 0)


def test_a_label_a_real_node_lacks_is_missing() -> None:
    spec = asking(selector={labels.ARCH: "amd64"})
    existing_nodes = (existing_node("bare"), existing_node("known", node_labels={labels.ARCH: "amd64"}))

    plan = pack(problem(pods("web", 1, spec), existing_nodes=existing_nodes))

    assert plan.nominations == {"web-0": "known"}


def test_a_label_that_must_exist_and_not_be_this_must_exist() -> None:
    spec = asking(required=[(expression("team", Operator.NOT_IN, "a"), expression("team", Operator.EXISTS))])
    existing_nodes = (
        existing_node("bare"),
        existing_node("a", node_labels={"team": "a"}),
        existing_node("b", node_labels={"team": "b"}),
    )

    plan = pack(problem(pods("web", 1, spec), existing_nodes=existing_nodes, offers=(offer(),)))

    assert plan.nominations == {"web-0": "b"}
    assert pack(problem(pods("web", 1, spec), existing_nodes=existing_nodes[:2])).nominations == {}


def test_requirements_no_node_can_meet_are_not_met_by_a_node_without_the_label() -> None:
    spec = asking(selector={"team": "a"}, required=[(expression("team", Operator.IN, "b"),)])

    plan = pack(
        problem(
            pods("web", 1, spec),
            existing_nodes=(existing_node("bare"), existing_node("a", node_labels={"team": "a"})),
        )
    )

    assert plan.nominations == {}
    assert "contradicts itself" in plan.refused[0].refusals[0].detail


def test_a_room_overdrawn_in_any_resource_takes_no_pod() -> None:
    overdrawn = existing_node("over", {"cpu": 4, "memory": "1Gi", "pods": 9, "disk": -1})

    assert pack(problem(pods("web", 1), existing_nodes=(overdrawn,))).nominations == {}


def test_a_resource_the_room_does_not_name_is_not_there() -> None:
    plan = pack(problem(pods("web", 1, asking(more={"gpu": 1})), existing_nodes=(existing_node("a"),)))

    assert plan.nominations == {}


def test_taints_of_rooms_must_be_tolerated() -> None:
    existing_nodes = (existing_node("own", taints=(Taint("own", Effect.NO_EXECUTE),)),)

    assert pack(problem(pods("web", 1), existing_nodes=existing_nodes)).nominations == {}
    assert pack(
        problem(pods("web", 1, asking(tolerations=[Toleration("own")])), existing_nodes=existing_nodes)
    ).nominations


def test_pods_that_no_new_node_would_hold_have_the_first_choice_of_rooms() -> None:
    only_here = asking(selector={"rack": "7"})

    plan = pack(
        problem(
            pods("big", 2, asking(2)),
            pods("stuck", 4, only_here),
            existing_nodes=(existing_node("a", node_labels={"rack": "7"}),),
        )
    )

    assert plan.refused == ()
    assert {uid.partition("-")[0] for uid in plan.nominations} == {"stuck"}


def test_without_any_pool_rooms_are_filled_all_the_same() -> None:
    plan = pack(problem(pods("web", 5), existing_nodes=(existing_node("a"),), offers=()))

    assert len(plan.nominations) == 4
    assert [r.pods for r in plan.refused] == [("web-4",)]


def test_those_a_limit_keeps_off_new_nodes_take_a_room_they_like_less() -> None:
    spec = asking(preferred=[(1, (expression(labels.ZONE, Operator.IN, "zone-a"),))])
    of = offer(pool("default"), limits={"cpu": 0})
    there = existing_node("there", node_labels={labels.ZONE: "zone-b"})

    assert pack(problem(pods("web", 1, spec), existing_nodes=(there,), offers=(of,))).nominations == {
        "web-0": "there"
    }
    assert pack(problem(pods("web", 1, spec), existing_nodes=(there,))).nominations == {}
