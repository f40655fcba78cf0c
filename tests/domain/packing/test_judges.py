"""The judges of plans see what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.domain.packing.colocated import (
    DB,
    WEB,
    A,
    B,
    C,
    apart,
    app,
    closed,
    near,
    node,
    sold,
    spread,
    there,
    with_terms,
)
from tests.domain.packing.completeness import missed
from tests.domain.packing.neighbours import Neighbours
from tests.domain.packing.nodes_of_plans import nodes_of
from tests.domain.packing.problems import asking, problem
from tests.domain.packing.validity import faults
from tests.domain.packing.wishes import Wishes, in_order, possible, required
from treenail.domain.model import labels
from treenail.domain.model.pods import HostPort, PodVolume
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.problem import ExistingNode, Problem, VolumeNeeds

NODE = labels.HOSTNAME
THREE = (node("a1", A), node("a2", A), node("b1", B))


def quarrels(of: Problem, where: Mapping[str, str]) -> list[str]:
    """Return what pods have against each other on the nodes they are put on."""
    return list(Neighbours(of, nodes_of(of, PackingPlan(nominations=where))).faults())


def webs(*terms: object, existing_nodes: tuple[ExistingNode, ...] = THREE, count: int = 2) -> Problem:
    return problem(app("web", count, with_terms(*terms)), existing_nodes=existing_nodes, offers=())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("term", "good", "bad"),
    [
        (apart(), ("a1", "b1"), ("a1", "a2")),
        (apart(key=NODE), ("a1", "a2"), ("a1", "a1")),
        (near(), ("a1", "a2"), ("a1", "b1")),
        (near(key=NODE), ("a1", "a1"), ("a1", "a2")),
        (spread(), ("a1", "b1"), ("a1", "a2")),
        (spread(key=NODE), ("a1", "a2"), ("a1", "a1")),
        (HostPort(80), ("a1", "a2"), ("a1", "a1")),
        (apart(DB), ("a1", "a1"), None),
        (near(DB), None, ("a1", "a1")),
        (spread(key="rack"), None, ("a1", "b1")),
    ],
)
def test_two_pods(term: object, good: tuple[str, str] | None, bad: tuple[str, str] | None) -> None:
    of = webs(term)

    for where, right in ((good, True), (bad, False)):
        if where is not None:
            assert (quarrels(of, dict(zip(("web-0", "web-1"), where, strict=True))) == []) is right


@pytest.mark.parametrize(
    ("term", "resident", "good", "bad"),
    [
        (apart(DB), there("db"), "b1", "a2"),
        (apart(DB), there("db", leaving=True), "a2", None),
        (near(DB), there("db"), "a2", "b1"),
        (near(DB), there("db", leaving=True), None, "a1"),
        (spread(selector=WEB), there("web"), "b1", "a2"),
        (spread(selector=WEB, honor_taints=True), there("web"), "b1", "a2"),
        (HostPort(80), there("db", ports=(HostPort(80, ip="10.0.0.1"),)), "a2", "a1"),
        (HostPort(80), there("db", ports=(HostPort(80),), leaving=True), "a2", "a1"),
        (near(), there("db", apart(WEB)), "b1", "a2"),
        (near(), there("db", apart(WEB, NODE)), "a2", "a1"),
    ],
)
def test_a_pod_and_one_that_is_there(
    term: object, resident: object, good: str | None, bad: str | None
) -> None:
    existing_nodes = (node("a1", A, resident), *THREE[1:])  # type: ignore[arg-type]
    of = webs(term, existing_nodes=existing_nodes, count=1)

    for where, right in ((good, True), (bad, False)):
        if where is not None:
            assert (quarrels(of, {"web-0": where}) == []) is right


def test_two_that_wait_for_each_other() -> None:
    of = problem(
        app("web", 1, with_terms(near(DB))),
        app("db", 1, with_terms(near(WEB))),
        existing_nodes=THREE,
        offers=(),
    )

    assert quarrels(of, {"web-0": "a1", "db-0": "a1"}) != []


def test_one_that_begins_and_those_that_follow() -> None:
    follows = app("db", 1, with_terms(near(WEB, NODE)))
    of = problem(app("web", 2, with_terms(near(key=NODE))), follows, existing_nodes=THREE, offers=())

    assert quarrels(of, {"web-0": "a1", "web-1": "a1", "db-0": "a1"}) == []
    assert quarrels(of, {"web-0": "a1", "web-1": "a1", "db-0": "b1"}) != []


def test_volumes_and_nodes_that_take_none() -> None:
    spec = replace(asking(), volumes=(PodVolume("data", claim_name="data"),))
    needs = VolumeNeeds(fresh=(("ebs", 2),))
    of = problem(
        app("web", 1, spec),
        existing_nodes=(replace(node("a1", A), attachable={"ebs": 1}),),
        volumes={"web-0": needs},
    )

    assert any("attach" in fault for fault in faults(of, PackingPlan(nominations={"web-0": "a1"})))
    shut = problem(app("web", 1), existing_nodes=(closed(node("a1", A)),))
    assert any("may not run" in fault for fault in faults(shut, PackingPlan(nominations={"web-0": "a1"})))


# --- places that are left


def misses(of: Problem, where: Mapping[str, str], *left: str) -> bool:
    plan = PackingPlan(
        nominations=where, refused=tuple(RefusedClass(pods=(uid,), refusals=()) for uid in left)
    )
    return missed(of, plan) != []


def test_a_pod_that_is_left_though_there_is_a_place() -> None:
    of = webs(apart())

    assert misses(of, {"web-0": "a1"}, "web-1")
    assert not misses(replace(of, existing_nodes=THREE[:2]), {"web-0": "a1"}, "web-1")
    assert misses(replace(of, existing_nodes=THREE[:2], offers=(sold(),)), {"web-0": "a1"}, "web-1")
    assert not misses(
        replace(of, existing_nodes=THREE[:2], offers=(sold(zones=(A,)),)), {"web-0": "a1"}, "web-1"
    )


def test_a_pod_that_is_left_for_want_of_company_or_evenness() -> None:
    assert misses(webs(near(), existing_nodes=THREE[:2]), {"web-0": "a1"}, "web-1")
    assert not misses(webs(near(), existing_nodes=(node("a1", A, cpu=1), THREE[2])), {"web-0": "a1"}, "web-1")
    assert misses(webs(spread()), {"web-0": "a1"}, "web-1")
    assert not misses(
        webs(spread(), existing_nodes=(node("a1", A), node("b1", B, cpu=0))), {"web-0": "a1"}, "web-1"
    )


# --- wishes


def test_wishes_fall_one_by_one() -> None:
    spec = with_terms(near(DB, weight=1), near(WEB, weight=2), apart(weight=9), spread(hard=False))

    assert [(len(w.pods), len(w.spread)) for w in in_order(spec)] == [(3, 1), (2, 1), (1, 1), (0, 1)]


def test_a_wish_is_possible_or_not() -> None:
    of = webs(near(DB, weight=1), count=1)
    wishes = next(iter(in_order(of.pods[0].spec)))

    assert not possible(required(of, wishes))
    assert possible(required(of, Wishes(None, (), ())))
    assert possible(required(replace(of, existing_nodes=(node("a1", C, there("db")),)), wishes))
