"""In which order preferences are given up, and what is never given up for."""

from __future__ import annotations

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
from tests.domain.packing.problems import asking, existing_node, expression, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint, Toleration
from treenail.domain.packing.problem import PackingSettings, PreferencePolicy, Problem

SOFT = Taint("soft", Effect.PREFER_NO_SCHEDULE)


def wishing(zone: str, *terms: TopologySpread | PodAffinityTerm) -> PodSpec:
    """Return the spec of a pod that prefers a zone, and wishes this of others."""
    return with_terms(*terms, of=asking(preferred=[(1, (expression(labels.ZONE, Operator.IN, zone),))]))


# There is a db in zone A, and nobody elsewhere.
DB_IN_A = (node("n1", A, there("db"), cpu=0),)


def zone_of(spec: PodSpec, **more: object) -> list[str]:
    of = problem(app("web", 1, spec), offers=(sold(),), **{"existing_nodes": DB_IN_A, **more})
    return list(domains(of))


# --- one kind after the other


def test_to_be_near_is_given_up_before_to_be_apart() -> None:
    assert A not in zone_of(with_terms(near(DB, weight=100), apart(DB, weight=1)))


def test_to_be_near_is_given_up_before_a_preferred_zone() -> None:
    assert zone_of(wishing(B, near(DB, weight=100))) == [B]


def test_to_be_apart_is_given_up_before_a_preferred_zone() -> None:
    assert zone_of(wishing(A, apart(DB, weight=100))) == [A]


def test_a_preferred_zone_is_given_up_before_an_even_spread() -> None:
    existing_nodes = (node("n1", A, (there("db"), 2), cpu=0),)

    assert A not in zone_of(wishing(A, spread(selector=DB, hard=False)), existing_nodes=existing_nodes)


def test_an_even_spread_is_given_up_before_a_soft_taint_is_put_up_with() -> None:
    offers = (sold(zones=(A,)), sold(name="disliked", zones=(B,), taints=(SOFT,)))
    existing_nodes = (node("n1", A, there("web"), cpu=0),)

    of = problem(app("web", 1, with_terms(spread(hard=False))), existing_nodes=existing_nodes, offers=offers)

    assert domains(of) == {A: 1}


def test_of_several_pods_to_be_near_the_heaviest_is_given_up_first() -> None:
    existing_nodes = (*DB_IN_A, node("n2", B, there("cache"), cpu=0))

    assert zone_of(
        with_terms(near(DB, weight=9), near(of_app("cache"), weight=1)), existing_nodes=existing_nodes
    ) == [B]


def test_of_several_pods_to_be_apart_from_the_heaviest_is_given_up_first() -> None:
    existing_nodes = (*DB_IN_A, node("n2", B, there("cache"), cpu=0))
    spec = with_terms(apart(DB, weight=9), apart(of_app("cache"), weight=1))

    of = problem(app("web", 1, spec), existing_nodes=existing_nodes, offers=(sold(zones=(A, B)),))

    assert domains(of) == {A: 1}


def test_of_several_spreads_the_first_is_given_up_first() -> None:
    existing_nodes = (node("n1", A, (there("db"), 2), cpu=0), node("n2", B, (there("cache"), 2), cpu=0))
    of_db, of_cache = (spread(selector=of_app(name), hard=False) for name in ("db", "cache"))

    for spec, zone in ((with_terms(of_db, of_cache), A), (with_terms(of_cache, of_db), B)):
        assert domains(
            problem(app("web", 1, spec), existing_nodes=existing_nodes, offers=(sold(zones=(A, B)),))
        ) == {zone: 1}


# --- wishes and what must be


def test_wishes_bind_while_a_room_or_a_new_node_meets_them() -> None:
    existing_nodes = (node("n1", A), *DB_IN_A)

    assert (
        solved(
            problem(app("web", 1, wishing(B)), existing_nodes=existing_nodes, offers=(sold(),))
        ).nominations
        == {}
    )
    assert domains(problem(app("web", 1, wishing(B)), existing_nodes=(node("n1", A),), offers=())) == {A: 1}


def test_what_one_pod_gives_up_another_may_still_get() -> None:
    spec = with_terms(apart(key=labels.HOSTNAME, weight=1))

    of = problem(app("web", 3, spec), existing_nodes=(node("n1", A), node("n2", A)), offers=())

    assert sorted(len(members) for members in together(of)) == [1, 2]


def test_given_up_wishes_do_not_loosen_what_is_required() -> None:
    spec = with_terms(near(DB, weight=1), apart(), of=asking())

    of = problem(app("web", 5, spec), existing_nodes=DB_IN_A, offers=(sold(),))

    assert domains(of) == {A: 1, B: 1, C: 1}
    assert len(refused(of)) == 2


def test_wishes_of_another_pod_count_nobody_out() -> None:
    hermit = with_terms(apart(WEB, weight=100))

    of = problem(app("db", 1, hermit), app("web", 3), offers=(sold(zones=(A,)),))

    assert refused(of) == []


# --- soft taints


def test_a_soft_taint_on_a_node_is_put_up_with_last() -> None:
    existing_nodes = (node("disliked", A, taints=(SOFT,)),)

    assert solved(problem(app("web", 1), existing_nodes=existing_nodes)).nominations == {}
    assert solved(problem(app("web", 1), existing_nodes=existing_nodes, offers=())).nominations == {
        "web-0": "disliked"
    }
    tolerant = asking(tolerations=[Toleration("soft")])
    assert solved(problem(app("web", 1, tolerant), existing_nodes=existing_nodes)).nominations == {
        "web-0": "disliked"
    }


def test_a_disliked_node_is_better_than_none() -> None:
    hard = Taint("hard", Effect.NO_SCHEDULE)
    both = (existing_node("n1", taints=(SOFT, hard)), existing_node("n2", taints=(SOFT,)))

    assert solved(problem(app("web", 1), existing_nodes=both, offers=())).nominations == {"web-0": "n2"}


# --- preferences ignored


def ignoring(of: Problem) -> Problem:
    return replace(of, settings=PackingSettings(preferences=PreferencePolicy.IGNORE))


@pytest.mark.parametrize(
    "spec",
    [
        wishing(B),
        with_terms(near(DB, weight=1)),
        with_terms(apart(WEB, weight=1)),
        with_terms(apart(WEB, labels.HOSTNAME, weight=1)),
        with_terms(spread(hard=False)),
        with_terms(spread(labels.HOSTNAME, hard=False)),
    ],
)
def test_preferences_that_are_ignored_cost_no_node_and_no_choice(spec: PodSpec) -> None:
    of = ignoring(problem(app("web", 6, spec), existing_nodes=DB_IN_A, offers=(sold(),)))

    (claim,) = solved(of).claims
    assert sorted(claim.requirements[labels.ZONE].values) == [A, B, C]


def test_what_is_required_is_never_ignored() -> None:
    of = ignoring(problem(app("web", 3, with_terms(apart())), offers=(sold(),)))

    assert domains(of) == {A: 1, B: 1, C: 1}


def test_required_alternatives_and_soft_taints_keep_their_order_where_preferences_are_ignored() -> None:
    either = asking(required=[(expression(labels.ZONE, Operator.IN, zone),) for zone in (B, A)])
    offers = (sold(name="disliked", taints=(SOFT,)), sold(name="other"))

    (claim,) = solved(ignoring(problem(app("web", 1, either), offers=offers))).claims

    assert (claim.pool, claim.requirements[labels.ZONE].single) == ("other", B)
