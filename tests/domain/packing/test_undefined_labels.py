"""Labels that a node does not have: one that is there, and one still to be bought."""

from __future__ import annotations

import pytest

from tests.domain.packing.colocated import A, app, node, refused, sold, solved
from tests.domain.packing.problems import asking, expression, is_in, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression
from treenail.domain.model.requirements import Operator, Requirement

IN = expression("team", Operator.IN, "a")
NOT_IN = expression("team", Operator.NOT_IN, "a")
EXISTS = expression("team", Operator.EXISTS)
ABSENT = expression("team", Operator.DOES_NOT_EXIST)
MORE_THAN = expression("team", Operator.GT, "3")

EXPRESSIONS = {"in": IN, "not in": NOT_IN, "exists": EXISTS, "absent": ABSENT, "more than": MORE_THAN}
# What a pool says of the label, and which expressions its nodes meet.
POOLS: list[tuple[Requirement | None, set[str]]] = [
    (None, {"not in", "absent"}),
    (is_in("team", "a"), {"in", "exists"}),
    (is_in("team", "b"), {"not in", "exists"}),
    (is_in("team", "a", "b"), {"in", "not in", "exists"}),
    (is_in("team", "5"), {"not in", "exists", "more than"}),
    (Requirement.of("team", Operator.EXISTS), {"in", "not in", "exists", "more than"}),
    (Requirement.of("team", Operator.NOT_IN, ["a"]), {"not in", "exists", "absent", "more than"}),
    (Requirement.of("team", Operator.DOES_NOT_EXIST), {"not in", "absent"}),
]


@pytest.mark.parametrize(("of", "met"), POOLS)
def test_a_label_of_ones_own_must_be_declared_by_the_pool_unless_it_is_not_wanted(
    of: Requirement | None, met: set[str]
) -> None:
    offers = (sold(*(() if of is None else (of,))),)

    def hosts(wanted: Expression) -> bool:
        return not refused(problem(app("web", 1, asking(required=[(wanted,)])), offers=offers))

    assert {name for name, wanted in EXPRESSIONS.items() if hosts(wanted)} == met


@pytest.mark.parametrize(
    ("value", "met"),
    [
        (None, {"not in", "absent"}),
        ("a", {"in", "exists"}),
        ("b", {"not in", "exists"}),
        ("5", {"not in", "exists", "more than"}),
    ],
)
def test_of_a_node_that_is_there_every_label_counts_as_it_is(value: str | None, met: set[str]) -> None:
    existing_nodes = (node("n1", A, more={} if value is None else {"team": value}),)

    def hosts(wanted: Expression) -> bool:
        return not refused(
            problem(app("web", 1, asking(required=[(wanted,)])), existing_nodes=existing_nodes, offers=())
        )

    assert {name for name, wanted in EXPRESSIONS.items() if hosts(wanted)} == met


def test_a_well_known_label_that_a_pool_does_not_name_is_narrowed() -> None:
    spec = asking(selector={labels.ARCH: "arm64", labels.ZONE: A})

    (claim,) = solved(problem(app("web", 1, spec), offers=(sold(),))).claims

    assert claim.instance_types == ("m6g.2xlarge",)
    assert claim.requirements[labels.ZONE].single == A


def test_a_well_known_label_that_a_node_there_lacks_is_not_there() -> None:
    spec = asking(selector={labels.CAPACITY_TYPE: labels.SPOT})

    assert refused(problem(app("web", 1, spec), existing_nodes=(node("n1", A),), offers=())) == ["web-0"]


def test_any_node_has_a_hostname() -> None:
    named = expression(labels.HOSTNAME, Operator.EXISTS)
    not_that = expression(labels.HOSTNAME, Operator.NOT_IN, "n1")

    assert not refused(problem(app("web", 1, asking(required=[(named,)])), offers=(sold(),)))
    assert not refused(problem(app("web", 1, asking(required=[(named, not_that)])), offers=(sold(),)))


def test_pods_that_want_different_values_of_an_open_label_get_different_nodes() -> None:
    offers = (sold(Requirement.of("team", Operator.EXISTS)),)

    plan = solved(
        problem(
            app("web", 2, asking(selector={"team": "a"})),
            app("db", 2, asking(selector={"team": "b"})),
            offers=offers,
        )
    )

    assert {claim.requirements["team"].single for claim in plan.claims} == {"a", "b"}
