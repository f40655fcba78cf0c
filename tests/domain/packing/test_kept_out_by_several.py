"""What is said where one term keeps pods from some domains and another from the rest."""

from __future__ import annotations

from tests.domain.packing.advised import advised
from tests.domain.packing.colocated import (
    A,
    B,
    C,
    apart,
    app,
    closed,
    near,
    node,
    of_app,
    sold,
    spread,
    there,
    with_terms,
)
from tests.domain.packing.problems import problem
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import Refusal


def only(of: Problem) -> Refusal:
    (group,) = advised(of)
    (refusal,) = group.refusals
    return refusal


def test_a_spread_names_the_domains_it_keeps_pods_from_and_an_affinity_the_rest() -> None:
    of = problem(app("web", 2, with_terms(spread(), near())), offers=(sold(),))

    assert only(of).detail == (
        f"its spread over topology.kubernetes.io/zone (maxSkew 1) lets no more into {A}: "
        f"the pods counted are 1 in {A}, 0 in {B}, 0 in {C}; "
        f"its pod affinity over topology.kubernetes.io/zone keeps it from {B}, {C}"
    )


def test_pods_to_keep_apart_from_are_told_of_where_they_are() -> None:
    db, cache = closed(node("n1", A, there("db"))), closed(node("n2", B, there("cache")))
    of = problem(
        app("web", 1, with_terms(apart(of_app("db")), apart(of_app("cache")))),
        offers=(sold(zones=(A, B)),),
        existing_nodes=(db, cache),
    )

    assert only(of).detail == (
        f"it must keep apart from pods of app=db, and there are some in {A}; "
        f"its pod anti-affinity over topology.kubernetes.io/zone keeps it from {B}"
    )
