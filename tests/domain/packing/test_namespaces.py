"""Which namespaces a pod looks at for others."""

from __future__ import annotations

import pytest

from tests.domain.packing.colocated import (
    ANYBODY,
    DB,
    A,
    B,
    apart,
    app,
    domains,
    near,
    node,
    refused,
    sold,
    there,
    with_terms,
)
from tests.domain.packing.problems import expression, problem
from treenail.domain.model.pods import LabelSelector, PodAffinityTerm
from treenail.domain.model.requirements import Operator

NAMESPACES = {
    "default": {"tier": "front"},
    "data": {"tier": "back", "kubernetes.io/metadata.name": "data"},
    "other": {"tier": "back"},
}
BACK = LabelSelector((("tier", "back"),))
BY_NAME = LabelSelector(
    expressions=(expression("kubernetes.io/metadata.name", Operator.IN, "data"),),
)

SELECTIONS = [
    ((), None, {"default"}),
    (("data",), None, {"data"}),
    (("data", "default"), None, {"data", "default"}),
    ((), BACK, {"data", "other"}),
    (("default",), BACK, {"default", "data", "other"}),
    ((), ANYBODY, {"default", "data", "other"}),
    ((), BY_NAME, {"data"}),
    ((), LabelSelector((("tier", "nowhere"),)), set()),
]


def found(term: PodAffinityTerm, where: str, *, batch: bool) -> bool:
    """Return whether a pod in the namespace `default` with this term finds a db in the namespace `where`."""
    resident = there("db", namespace=where)
    existing_nodes = () if batch else (node("n1", A, resident, cpu=0),)
    others = app("db", 1, namespace=where) if batch else ()
    pool_in_a = (sold(zones=(A,)),)
    of = problem(
        others,
        app("web", 1, with_terms(term)),
        existing_nodes=existing_nodes,
        offers=pool_in_a,
        namespaces=NAMESPACES,
    )
    return (refused(of) == []) is not term.anti


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("named", "selector", "expected"), SELECTIONS)
def test_pods_are_near_or_apart_from_those_in_the_namespaces_they_look_at(
    named: tuple[str, ...], selector: LabelSelector | None, expected: set[str], *, batch: bool
) -> None:
    for make in (near, apart):
        term = make(DB, namespaces=named, of_namespaces=selector)
        assert {name for name in NAMESPACES if found(term, name, batch=batch)} == expected


@pytest.mark.parametrize(("named", "selector", "expected"), SELECTIONS)
def test_pods_that_are_there_keep_off_those_in_the_namespaces_they_look_at(
    named: tuple[str, ...], selector: LabelSelector | None, expected: set[str]
) -> None:
    keeper = there("web", apart(DB, namespaces=named, of_namespaces=selector))
    existing_nodes = (node("n1", A, keeper, cpu=0),)

    kept_off = {
        name
        for name in NAMESPACES
        if refused(
            problem(
                app("db", 1, namespace=name),
                existing_nodes=existing_nodes,
                offers=(sold(zones=(A,)),),
                namespaces=NAMESPACES,
            )
        )
    }

    assert kept_off == expected


def test_a_namespace_known_only_from_its_pods_has_its_name() -> None:
    existing_nodes = (node("n1", B, there("db", namespace="data"), cpu=0),)

    of = problem(
        app("web", 1, with_terms(near(DB, of_namespaces=BY_NAME))),
        existing_nodes=existing_nodes,
        offers=(sold(),),
    )

    assert domains(of) == {B: 1}


def test_pods_of_one_template_in_two_namespaces_are_two_apps() -> None:
    spec = with_terms(apart(LabelSelector((("app", "web"),))))

    of = problem(
        app("web", 2, spec, pod_group="one"),
        app("web", 2, spec, pod_group="two", namespace="data"),
        offers=(sold(zones=(A, B)),),
        namespaces=NAMESPACES,
    )

    assert domains(of) == {A: 2, B: 2}
