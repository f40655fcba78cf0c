"""Pods that must keep apart from others, and those that others keep apart from."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.domain.packing.colocated import (
    ANYBODY,
    DB,
    WEB,
    A,
    B,
    C,
    apart,
    app,
    closed,
    domains,
    near,
    node,
    refused,
    sold,
    solved,
    there,
    together,
    with_terms,
)
from tests.domain.packing.problems import asking, expression, is_in, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodAffinityTerm, PodSpec
from treenail.domain.model.requirements import Operator, Requirement

BY_ZONE, BY_NODE = with_terms(apart()), with_terms(apart(key=labels.HOSTNAME))
NODE = labels.HOSTNAME


# --- apart from their like


def test_more_pods_than_zones() -> None:
    of = problem(app("web", 5, BY_ZONE), offers=(sold(),))

    assert domains(of) == {A: 1, B: 1, C: 1}
    assert len(refused(of)) == 2


def test_by_node_every_pod_has_its_own() -> None:
    assert [len(members) for members in together(problem(app("web", 5, BY_NODE)))] == [1] * 5


def test_pods_that_keep_apart_share_their_nodes_with_others() -> None:
    of = problem(app("web", 4, BY_NODE), app("db", 4, with_terms(apart(DB, NODE))), app("plain", 8))

    assert len(together(of)) == 4
    assert all(sum(uid.startswith("web") for uid in members) == 1 for members in together(of))


def test_those_there_keep_their_zones_and_nodes() -> None:
    existing_nodes = (node("n1", A, there("web")), node("n2", B))

    assert domains(problem(app("web", 5, BY_ZONE), existing_nodes=existing_nodes, offers=(sold(),))) == {
        B: 1,
        C: 1,
    }
    assert set(
        solved(problem(app("web", 3, BY_NODE), existing_nodes=existing_nodes)).nominations.values()
    ) == {"n2"}


def test_those_on_nodes_that_take_no_more_keep_their_zones() -> None:
    existing_nodes = (closed(node("n1", A, there("web"))),)

    assert domains(problem(app("web", 5, BY_ZONE), existing_nodes=existing_nodes, offers=(sold(),))) == {
        B: 1,
        C: 1,
    }


def test_those_that_are_leaving_keep_nothing() -> None:
    existing_nodes = (node("n1", A, there("web", apart(), apart(key=NODE), leaving=True)),)

    assert domains(problem(app("web", 3, BY_ZONE), existing_nodes=existing_nodes, offers=(sold(),))) == {
        A: 1,
        B: 1,
        C: 1,
    }
    assert solved(problem(app("web", 1, BY_NODE), existing_nodes=existing_nodes)).nominations == {
        "web-0": "n1"
    }


def test_by_capacity_type() -> None:
    of = problem(app("web", 3, with_terms(apart(key=labels.CAPACITY_TYPE))))

    assert domains(of, labels.CAPACITY_TYPE) == {labels.ON_DEMAND: 1, labels.SPOT: 1}
    assert len(refused(of)) == 1


def test_pods_of_several_sizes_are_one_app() -> None:
    small, large = with_terms(apart(), of=asking("100m")), with_terms(apart(), of=asking(3))

    of = problem(app("web", 2, small, pod_group="s"), app("web", 2, large, pod_group="l"), offers=(sold(),))

    assert domains(of) == {A: 1, B: 1, C: 1}


def test_a_selector_of_nobody_keeps_nobody_apart() -> None:
    of = problem(app("web", 5, with_terms(apart(None))), offers=(sold(),))

    assert refused(of) == []


def test_a_selector_of_everybody_wants_the_zone_alone() -> None:
    existing_nodes = (node("n1", A, there("db"), cpu=0),)

    of = problem(app("web", 5, with_terms(apart(ANYBODY))), existing_nodes=existing_nodes, offers=(sold(),))

    assert domains(of) == {B: 1, C: 1}


# --- apart from others


def test_pods_apart_from_another_app_share_with_each_other() -> None:
    existing_nodes = (node("n1", A, there("db")),)

    of = problem(
        app("web", 5, with_terms(apart(DB))), existing_nodes=existing_nodes, offers=(sold(zones=(A, B)),)
    )

    assert domains(of) == {B: 5}


@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (1, 3)])
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_two_apps_of_one_batch_are_kept_apart_if_one_of_them_asks(key: str, sizes: tuple[int, int]) -> None:
    web = with_terms(apart(DB, key), of=asking(sizes[0]))

    of = problem(app("web", 3, web), app("db", 3, asking(sizes[1])), offers=(sold(),))

    assert refused(of) == []
    assert not domains(of, key, "web").keys() & domains(of, key, "db").keys()


@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (1, 3)])
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_two_apps_that_keep_apart_from_the_same_one_are_kept_apart(key: str, sizes: tuple[int, int]) -> None:
    web, db = (with_terms(apart(DB, key), of=asking(size)) for size in sizes)

    of = problem(app("web", 2, web), app("db", 1, db), offers=(sold(),))

    assert refused(of) == []
    assert not domains(of, key, "web").keys() & domains(of, key, "db").keys()


@pytest.mark.parametrize("more", [(), (apart(DB, NODE),)])
def test_who_must_be_near_those_that_keep_apart_from_them_goes_nowhere(
    more: tuple[PodAffinityTerm, ...],
) -> None:
    web = with_terms(near(key=NODE), apart(DB, NODE))

    of = problem(app("web", 2, web), app("db", 2, with_terms(near(WEB, NODE), *more)), offers=(sold(),))

    assert refused(of) == ["db-0", "db-1"]


def test_apart_from_one_app_and_near_another() -> None:
    existing_nodes = (node("n1", A, there("db"), there("cache")), node("n2", B, there("db")))
    spec = with_terms(near(DB), apart(WEB))

    of = problem(app("web", 3, spec), existing_nodes=existing_nodes)

    assert domains(of) == {A: 1, B: 1}


# --- others keep apart


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_pod_that_is_there_keeps_others_off(key: str) -> None:
    existing_nodes = (node("n1", A, there("db", apart(WEB, key)), cpu=9), node("n2", B, cpu=1))

    of = problem(app("web", 1), existing_nodes=existing_nodes, offers=())

    assert solved(of).nominations == {"web-0": "n2"}
    assert len(refused(problem(app("web", 2), existing_nodes=existing_nodes, offers=()))) == 1


def test_a_pod_that_is_there_keeps_others_off_new_nodes_of_its_zone() -> None:
    existing_nodes = (node("n1", A, there("db", apart(WEB)), cpu=0),)

    assert domains(problem(app("web", 3), existing_nodes=existing_nodes, offers=(sold(zones=(A, B)),))) == {
        B: 3
    }


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_it_keeps_off_those_too_that_ask_for_the_same(key: str) -> None:
    existing_nodes = (node("n1", A, there("web", apart(DB, key)), cpu=9), node("n2", B))

    of = problem(app("db", 1, with_terms(apart(DB, key))), existing_nodes=existing_nodes, offers=())

    assert solved(of).nominations == {"db-0": "n2"}


def test_it_keeps_off_only_those_it_names() -> None:
    existing_nodes = (node("n1", A, there("db", apart(WEB, NODE)), cpu=9),)

    assert solved(problem(app("cache", 1), existing_nodes=existing_nodes)).nominations == {"cache-0": "n1"}


def test_it_keeps_off_whom_its_selector_selects_for_all_their_labels() -> None:
    existing_nodes = (node("n1", A, there("db", apart(ANYBODY, NODE)), cpu=9),)

    assert solved(problem(app("web", 1), existing_nodes=existing_nodes)).nominations == {}


def test_on_a_node_that_takes_no_more_it_keeps_others_off_its_zone() -> None:
    existing_nodes = (closed(node("n1", A, there("db", apart(WEB)))),)

    assert domains(problem(app("web", 2), existing_nodes=existing_nodes, offers=(sold(zones=(A, B)),))) == {
        B: 2
    }


def test_where_all_zones_are_kept_nobody_gets_in() -> None:
    existing_nodes = tuple(node(f"n-{zone}", zone, there("db", apart(WEB)), cpu=0) for zone in (A, B, C))

    assert len(refused(problem(app("web", 2), existing_nodes=existing_nodes, offers=(sold(),)))) == 2


# --- wishes


def test_a_wish_to_be_apart_is_worth_a_node() -> None:
    wish = with_terms(apart(key=NODE, weight=1))

    assert [len(members) for members in together(problem(app("web", 3, wish)))] == [1, 1, 1]


def test_a_wish_to_be_apart_holds_nobody_up() -> None:
    wish = with_terms(apart(weight=1))

    assert refused(problem(app("web", 5, wish), offers=(sold(),))) == []
    assert (
        len(solved(problem(app("web", 4, wish), existing_nodes=(node("n1", A),), offers=())).nominations) == 4
    )


def test_a_wish_to_be_apart_keeps_nobody_else_off() -> None:
    wish = with_terms(apart(DB, NODE, weight=1), of=asking(3))
    existing_nodes = (node("n1", A),)

    of = problem(app("web", 1, wish), app("db", 1), existing_nodes=existing_nodes, offers=())

    assert solved(of).nominations == {"web-0": "n1", "db-0": "n1"}


# --- by a label that not every node has


BY_RACK = with_terms(apart(key="rack"))


def test_who_keeps_apart_by_a_label_may_share_a_node_that_lacks_it() -> None:
    existing_nodes = (node("n1", A, there("web"), more={"rack": "r1"}), node("n2", B, cpu=2))

    plan = solved(problem(app("web", 3, BY_RACK), existing_nodes=existing_nodes, offers=(sold(),)))

    assert list(plan.nominations.values()) == ["n2", "n2"]
    assert [len(claim.pods) for claim in plan.claims] == [1]


def test_where_a_pool_has_the_label_they_have_a_domain_each_and_the_rest_go_to_the_other_pool() -> None:
    racks = sold(is_in("rack", "r1", "r2"), name="racks")

    plan = solved(problem(app("web", 4, BY_RACK), offers=(racks, sold(name="bare"))))

    placed = Counter(claim.pool for claim in plan.claims for _ in claim.pods)
    assert placed == {"racks": 2, "bare": 2}


def test_who_wants_the_label_goes_where_it_is() -> None:
    wanting = with_terms(apart(key="rack"), of=asking(required=[(expression("rack", Operator.EXISTS),)]))
    without = with_terms(
        apart(key="rack"), of=asking(required=[(expression("rack", Operator.NOT_IN, "r1"),)])
    )
    racks = sold(is_in("rack", "r1"), name="racks")

    assert len(refused(problem(app("web", 2, wanting), offers=(racks, sold(name="bare"))))) == 1
    assert refused(problem(app("web", 2, without), offers=(racks, sold(name="bare")))) == []


def test_a_pod_that_is_there_keeps_nobody_off_nodes_that_lack_the_label() -> None:
    existing_nodes = (node("n1", A, there("db", apart(WEB, key="rack")), more={"rack": "r1"}),)

    assert domains(problem(app("web", 2), existing_nodes=existing_nodes, offers=(sold(zones=(B,)),))) == {
        B: 2
    }


def test_a_label_that_pods_choose_is_the_one_they_name() -> None:
    def of_tenant(name: str) -> PodSpec:
        return with_terms(apart(key="tenant"), of=asking(selector={"tenant": name}))

    one, other = app("web", 2, of_tenant("x"), pod_group="x"), app("web", 2, of_tenant("y"), pod_group="y")
    open_to_any = sold(Requirement.of("tenant", Operator.EXISTS))

    assert len(refused(problem(one, other, offers=(open_to_any,)))) == 2
