"""Whose turn it is: the largest first, whatever the priority, and placeholders last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.colocated import A, B, apart, app, near, node, refused, solved, spread, with_terms
from tests.domain.packing.problems import asking, expression, offer, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator
from treenail.domain.packing.problem import Packing, PackingSettings

BOTH = pytest.mark.parametrize("packing", Packing)
FULL = (offer(pool(), limits={"cpu": 0}),)


def placeholder(cpu: int, **more: object) -> PodSpec:
    return replace(asking(cpu, **more), priority=-1)  # type: ignore[arg-type]


@BOTH
def test_a_placeholder_takes_no_room_that_a_pod_needs(packing: Packing) -> None:
    of = problem(
        app("placeholder", 2, placeholder(3)),
        app("web", 4),
        existing_nodes=(node("n1", A),),
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert refused(of) == ["placeholder-0", "placeholder-1"]


@BOTH
def test_a_placeholder_takes_nothing_of_a_limit_that_a_pod_needs(packing: Packing) -> None:
    of = problem(
        app("placeholder", 3, placeholder(7)),
        app("web", 6),
        offers=(offer(pool(), limits={"cpu": 8}),),
        settings=PackingSettings(packing=packing),
    )

    assert refused(of) == ["placeholder-0", "placeholder-1", "placeholder-2"]


@BOTH
def test_a_placeholder_gets_what_is_left(packing: Packing) -> None:
    of = problem(
        app("placeholder", 2, placeholder(1)),
        app("web", 3),
        existing_nodes=(node("n1", A),),
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert len(refused(of)) == 1
    assert len(solved(of).nominations) == 4


@BOTH
def test_placeholders_get_nodes_where_there_are_no_limits(packing: Packing) -> None:
    of = problem(
        app("placeholder", 3, placeholder(3)), app("web", 2), settings=PackingSettings(packing=packing)
    )

    assert refused(of) == []


@BOTH
@pytest.mark.parametrize("kind", ["near", "apart", "spread"])
def test_a_placeholder_with_terms_waits_too(packing: Packing, kind: str) -> None:
    key = labels.HOSTNAME
    terms: dict[str, PodAffinityTerm | TopologySpread] = {
        "near": near(key=key),
        "apart": apart(key=key),
        "spread": spread(key),
    }
    of = problem(
        app("web", 2, replace(with_terms(terms[kind], of=asking(3)), priority=-1), pod_group="placeholder"),
        app("db", 4),
        existing_nodes=(node("n1", A),),
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert refused(of) == ["placeholder-0", "placeholder-1"]


@BOTH
def test_a_placeholder_that_can_go_nowhere_else_has_no_first_choice_of_a_room(packing: Packing) -> None:
    only_here = placeholder(3, selector={"rack": "7"})
    existing_nodes = (node("n1", A, more={"rack": "7"}),)

    of = problem(
        app("placeholder", 1, only_here),
        app("web", 4),
        existing_nodes=existing_nodes,
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert refused(of) == ["placeholder-0"]


@BOTH
def test_other_priorities_do_not_matter(packing: Packing) -> None:
    urgent = replace(asking(), priority=1000)
    of = problem(
        app("small", 4, urgent),
        app("large", 1, asking(4)),
        existing_nodes=(node("n1", A),),
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert solved(of).nominations == {"large-0": "n1"}


@BOTH
def test_a_placeholder_takes_no_room_that_a_pod_would_like_less_but_needs(packing: Packing) -> None:
    wish = asking(preferred=[(1, (expression(labels.ZONE, Operator.IN, B),))])

    of = problem(
        app("placeholder", 2, placeholder(2)),
        app("web", 4, wish),
        existing_nodes=(node("n1", A),),
        offers=FULL,
        settings=PackingSettings(packing=packing),
    )

    assert refused(of) == ["placeholder-0", "placeholder-1"]
