"""Pods that must be near others: by zone, by node, by whatever label."""

from __future__ import annotations

import pytest

from tests.domain.packing.colocated import (
    ANYBODY,
    DB,
    WEB,
    A,
    B,
    apart,
    app,
    closed,
    domains,
    near,
    node,
    of_app,
    refused,
    sold,
    solved,
    spread,
    there,
    together,
    with_terms,
)
from tests.domain.packing.problems import asking, expression, instance_type, is_in, offer, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.packing.problem import Packing, PackingSettings, Problem

BY_ZONE, BY_NODE = with_terms(near()), with_terms(near(key=labels.HOSTNAME))
TEAM = "team"


# --- near pods that are there


def test_a_new_node_is_bought_in_the_zone_of_those_to_be_near() -> None:
    existing_nodes = (node("n1", B, there("db"), cpu=0),)

    assert domains(
        problem(app("web", 3, with_terms(near(DB))), existing_nodes=existing_nodes, offers=(sold(),))
    ) == {B: 3}


def test_a_node_of_their_zone_comes_first() -> None:
    existing_nodes = (node("n0", A), node("n1", B, there("db"), cpu=0), node("n2", B))

    plan = solved(
        problem(app("web", 3, with_terms(near(DB))), existing_nodes=existing_nodes, offers=(sold(),))
    )

    assert set(plan.nominations.values()) == {"n2"}


def test_on_a_node_that_takes_no_more_they_are_in_their_zone_all_the_same() -> None:
    existing_nodes = (closed(node("n1", B, there("db"))),)

    assert domains(
        problem(app("web", 2, with_terms(near(DB))), existing_nodes=existing_nodes, offers=(sold(),))
    ) == {B: 2}


def test_those_that_are_leaving_are_no_company() -> None:
    existing_nodes = (node("n1", B, there("db", leaving=True)),)

    assert len(refused(problem(app("web", 2, with_terms(near(DB))), existing_nodes=existing_nodes))) == 2


def test_by_node_only_their_own_nodes_will_do() -> None:
    existing_nodes = (node("n1", A), node("n2", A, there("db"), cpu=2))

    of = problem(app("web", 3, with_terms(near(DB, labels.HOSTNAME))), existing_nodes=existing_nodes)

    assert set(solved(of).nominations.values()) == {"n2"}
    assert len(refused(of)) == 1


def test_several_zones_of_those_to_be_near_will_all_do() -> None:
    existing_nodes = (node("n1", A, there("db"), cpu=1), node("n2", B, there("db"), cpu=1))

    assert domains(
        problem(app("web", 2, with_terms(near(DB))), existing_nodes=existing_nodes, offers=())
    ) == {A: 1, B: 1}


def test_near_two_apps_is_where_both_are() -> None:
    existing_nodes = (
        node("n1", A, there("db"), cpu=9),
        node("n2", B, there("db"), there("cache"), cpu=9),
    )

    assert domains(
        problem(app("web", 2, with_terms(near(DB), near(of_app("cache")))), existing_nodes=existing_nodes)
    ) == {B: 2}


def test_a_selector_of_nobody_finds_nobody() -> None:
    existing_nodes = (node("n1", A, there("db")),)

    assert len(refused(problem(app("web", 1, with_terms(near(None))), existing_nodes=existing_nodes))) == 1


def test_a_selector_of_everybody_finds_anybody() -> None:
    existing_nodes = (node("n1", B, there("db"), cpu=0),)

    assert domains(
        problem(app("web", 2, with_terms(near(ANYBODY))), existing_nodes=existing_nodes, offers=(sold(),))
    ) == {B: 2}


# --- near their like: the first may choose


def test_the_first_of_its_like_begins_and_the_others_come_to_its_zone() -> None:
    counts = domains(problem(app("web", 40, BY_ZONE), offers=(sold(),)))

    assert list(counts.values()) == [40]


def test_by_node_all_that_fit_share_one_node_and_the_rest_are_refused() -> None:
    of = problem(app("web", 40, BY_NODE), offers=(sold(),))

    (members,) = together(of)
    assert len(members) == 31
    assert len(refused(of)) == 9


def test_by_node_they_begin_in_a_room_that_their_spread_lets_them_into() -> None:
    existing_nodes = (node("n1", A, cpu=8), node("n2", B, cpu=4, more={"rack": "r1"}))

    plan = solved(
        problem(
            app("web", 1, with_terms(near(key=labels.HOSTNAME), spread("rack"))),
            existing_nodes=existing_nodes,
        )
    )

    assert set(plan.nominations.values()) == {"n2"}


def test_where_their_like_are_nobody_begins_elsewhere() -> None:
    existing_nodes = (node("n1", A, there("web"), cpu=1),)

    assert domains(
        problem(app("web", 3, BY_ZONE), existing_nodes=existing_nodes, offers=(sold(zones=(B,)),))
    ) == {A: 1}
    assert len(refused(problem(app("web", 3, BY_NODE), existing_nodes=existing_nodes))) == 2


def test_who_cannot_get_to_their_like_begins_anew() -> None:
    existing_nodes = (node("n1", A, there("web"), cpu=0),)
    spec = with_terms(near(), of=asking(selector={labels.ZONE: B}))

    assert domains(problem(app("web", 2, spec), existing_nodes=existing_nodes, offers=(sold(),))) == {B: 2}


def test_who_does_not_select_itself_cannot_begin() -> None:
    assert len(refused(problem(app("web", 2, with_terms(near(DB)))))) == 2


def test_where_a_room_holds_all_of_them_they_begin_there() -> None:
    existing_nodes = (node("n1", A, cpu=1), node("n2", B, cpu=4))

    assert set(
        solved(problem(app("web", 3, BY_NODE), existing_nodes=existing_nodes)).nominations.values()
    ) == {"n2"}


def test_by_zone_they_begin_where_there_is_a_place_for_the_most_of_them() -> None:
    existing_nodes = (node("n1", A, cpu=1), node("n2", B, cpu=4))

    assert domains(problem(app("web", 3, BY_ZONE), existing_nodes=existing_nodes, offers=())) == {B: 3}
    assert domains(
        problem(app("web", 5, BY_ZONE), existing_nodes=existing_nodes, offers=(sold(zones=(A,)),))
    ) == {A: 5}


def test_two_that_must_each_be_near_the_other_and_not_their_like_cannot_begin() -> None:
    web, db = with_terms(near(DB)), with_terms(near(WEB))

    assert len(refused(problem(app("web", 1, web), app("db", 1, db)))) == 2


# --- near others that come at the same time


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_those_to_be_near_may_come_in_the_same_batch(key: str, sizes: tuple[int, int]) -> None:
    web, db = asking(sizes[0]), asking(sizes[1])

    of = problem(app("web", 3, with_terms(near(DB, key), of=web)), app("db", 1, db), offers=(sold(),))

    assert refused(of) == []
    assert len(domains(of, key)) == 1


def test_one_may_open_the_way_for_the_next_whatever_their_sizes() -> None:
    first = app("a", 1, with_terms(near(of_app("b")), of=asking(3)))
    second = app("b", 1, with_terms(near(of_app("c")), of=asking(2)))

    of = problem(first, second, app("c", 1), offers=(sold(),))

    assert refused(of) == []
    assert len(domains(of)) == 1


def test_several_pods_of_the_other_app_take_in_those_that_one_cannot() -> None:
    web = app("web", 40, with_terms(near(DB, labels.HOSTNAME)))

    of = problem(web, app("db", 3), offers=(sold(),))

    assert refused(of) == []
    assert all(any(uid.startswith("db") for uid in members) for members in together(of))


def test_near_by_zone_and_spread_over_nodes() -> None:
    of = problem(app("web", 4, with_terms(near(), spread(labels.HOSTNAME))), offers=(sold(),))

    assert list(domains(of).values()) == [4]
    assert [len(members) for members in together(of)] == [1] * 4


def test_near_by_node_and_no_more_than_so_many_on_one() -> None:
    of = problem(app("web", 5, with_terms(near(key=labels.HOSTNAME), spread(labels.HOSTNAME, 2))))

    assert [len(members) for members in together(of)] == [2]
    assert len(refused(of)) == 3


def test_a_zone_of_ones_own_choice_is_one_where_the_pods_fit() -> None:
    large = with_terms(near(), of=asking(20))
    offers = (sold(is_in(labels.INSTANCE_CPU, "2"), zones=(A,)), sold(name="other", zones=(B,)))

    assert domains(problem(app("web", 2, large), offers=offers)) == {B: 2}


# --- by other labels


def test_near_by_capacity_type() -> None:
    existing_nodes = (node("n1", A, there("db"), cpu=0, more={labels.CAPACITY_TYPE: labels.ON_DEMAND}),)

    of = problem(app("web", 2, with_terms(near(DB, labels.CAPACITY_TYPE))), existing_nodes=existing_nodes)

    assert domains(of, labels.CAPACITY_TYPE) == {labels.ON_DEMAND: 2}


def test_near_by_a_label_of_the_pool() -> None:
    offers = (sold(is_in(TEAM, "a", "b")),)

    of = problem(app("web", 9, with_terms(near(key=TEAM))), offers=offers)

    assert list(domains(of, TEAM).values()) == [9]


def test_near_and_spread_by_a_label_whose_value_they_choose_themselves() -> None:
    open_to_any = sold(Requirement.of(TEAM, Operator.EXISTS))
    either = asking(required=[(expression(TEAM, Operator.IN, "a", "b"),)])

    near_by = problem(app("web", 6, with_terms(near(key=TEAM), of=either)), offers=(open_to_any,))
    even = problem(app("web", 6, with_terms(spread(TEAM), of=either)), offers=(open_to_any,))

    assert teams(near_by) == {"a": 6}
    assert teams(even) == {"a": 3, "b": 3}


def teams(of: Problem) -> dict[str, int]:
    claims = solved(of).claims
    found: dict[str, int] = {}
    for claim in claims:
        (team,) = claim.requirements[TEAM].values
        found[team] = found.get(team, 0) + len(claim.pods)
    return found


def test_a_label_that_the_pool_lacks_refuses_those_that_ask_and_nobody_else() -> None:
    asks = app("db", 1, with_terms(near(WEB, TEAM)))

    assert refused(problem(app("web", 2), asks)) == ["db-0"]


def test_by_node_near_those_that_might_be_in_any_zone_and_apart_by_zone() -> None:
    spec = with_terms(near(DB, labels.HOSTNAME), apart(WEB))
    of = problem(app("db", 2, asking(5)), app("web", 3, spec), offers=(sold(),))

    assert sorted(domains(of, of="web").values()) == [1, 1]
    assert len(refused(of)) == 1


# --- wishes


def test_a_wish_to_be_near_is_kept_while_it_can_be() -> None:
    existing_nodes = (node("n1", B, there("db"), cpu=0),)

    of = problem(
        app("web", 2, with_terms(near(DB, weight=1))), existing_nodes=existing_nodes, offers=(sold(),)
    )

    assert domains(of) == {B: 2}


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME, TEAM])
def test_a_wish_to_be_near_holds_nobody_up(key: str) -> None:
    assert refused(problem(app("web", 3, with_terms(near(DB, key, weight=1))))) == []


@pytest.mark.parametrize(
    "key",
    [labels.ZONE, labels.HOSTNAME, TEAM],
)
def test_a_wish_to_be_near_ones_like_holds_nobody_up(key: str) -> None:
    of = problem(app("web", 40, with_terms(near(key=key, weight=1))), offers=(sold(),))

    assert refused(of) == []


def test_required_zones_go_before_company() -> None:
    existing_nodes = (node("n1", A, there("db"), cpu=0),)
    spec = with_terms(near(DB), of=asking(required=[(expression(labels.ZONE, Operator.NOT_IN, A),)]))

    assert len(refused(problem(app("web", 1, spec), existing_nodes=existing_nodes))) == 1


# --- those that get no node after all


@pytest.mark.parametrize("packing", Packing)
def test_nobody_gets_a_node_near_those_for_whom_no_limit_is_left(packing: Packing) -> None:
    large = with_terms(near(), apart(WEB, TEAM), of=asking(3))
    small, middle = (instance_type(f"c5.{n}", cpu=n, memory=8, price=0.1 * n) for n in (2, 4))
    ours = offer(pool("ours", is_in(TEAM, "a", "b")), (small, middle), limits={"cpu": 8})
    offers = (offer(pool(), (small,)), ours)

    some = (app("web", 1, asking("100m")), app("db", 2, large))
    of = problem(*some, offers=offers, settings=PackingSettings(packing=packing))

    # Whoever is placed: no db may be where no web is.
    assert solved(of)


@pytest.mark.parametrize("limit", [16, 40])
def test_nobody_goes_to_a_room_near_those_for_whom_no_limit_is_left(limit: int) -> None:
    large = instance_type("c5.8xlarge", cpu=32, memory=64, price=1.4, zones=(A,))
    offers = (offer(pool(), (large,), limits={"cpu": limit}),)
    first = app("cache", 1, asking(30))
    some = (first, app("web", 1, asking(5)), app("db", 1, with_terms(near())))

    of = problem(*some, existing_nodes=(node("n1", A),), offers=offers)

    assert "web-0" in refused(of)
    assert "db-0" in refused(of)
