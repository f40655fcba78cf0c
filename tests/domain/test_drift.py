from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import claim, conditions, node_class, node_pool
from treenail.domain import labels
from treenail.domain.drift import Standard
from treenail.domain.node_class_standing import ImageMeant, NodeClassMeaning
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import DRIFTED, Condition, NodeClaim, Status
from treenail.domain.requirements import Operator, Requirement, Requirements
from treenail.domain.template_hash import NODE_CLASS_HASH, NODEPOOL_HASH, stamped, version_of

ARM = Requirement(labels.ARCH, frozenset({"arm64"}))
AMD = Requirement(labels.ARCH, frozenset({"amd64"}))
MEANING = NodeClassMeaning(
    images=(
        ImageMeant(id="ami-arm", requirements=(ARM,)),
        ImageMeant(id="ami-new", requirements=(AMD,)),
        ImageMeant(id="ami-old", requirements=(AMD,)),
    )
)
LABELS = {labels.ARCH: "amd64", "team": "a"}


def made(**fields: Any) -> NodeClaim:
    """Return a claim that was made from the pool and the node class as the builders have them."""
    own = replace(claim("c1"), labels=LABELS, image_id="ami-new")
    return replace(stamped(own, node_pool(), node_class()), **fields)


def standard(pool: NodePool | None = None, **of_class: Any) -> Standard:
    return Standard(pool or node_pool(), replace(node_class(), **of_class), MEANING)


def asking(*requirements: Requirement) -> NodePool:
    return replace(node_pool(), requirements=Requirements(requirements))


def test_a_claim_made_from_what_there_is_has_not_drifted() -> None:
    assert standard().drift(made()) is None
    assert standard().note(made(), None) is None


@pytest.mark.parametrize(
    ("against", "why"),
    [
        pytest.param(standard(replace(node_pool(), labels={"a": "b"})), "NodePoolDrifted", id="template"),
        pytest.param(
            standard(asking(Requirement("team", frozenset({"b"})))), "RequirementsDrifted", id="value"
        ),
        pytest.param(
            standard(asking(Requirement("tier", frozenset({"b"})))),
            "RequirementsDrifted",
            id="lacking",
        ),
        pytest.param(standard(user_data="more"), "NodeClassDrift", id="node class"),
    ],
)
def test_what_differs_is_named(against: Standard, why: str) -> None:
    assert against.drift(made()) == why


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param(Requirement.of("tier", Operator.NOT_IN, ("b",)), id="excluded and lacking"),
        pytest.param(Requirement.of("tier", Operator.DOES_NOT_EXIST, ()), id="forbidden and lacking"),
        pytest.param(Requirement.of("team", Operator.EXISTS, ()), id="there"),
        pytest.param(Requirement(labels.INSTANCE_TENANCY, frozenset({"default"})), id="not told"),
    ],
)
def test_a_requirement_that_the_claim_meets_is_no_drift(requirement: Requirement) -> None:
    assert standard(asking(requirement)).drift(made()) is None


@pytest.mark.parametrize(
    ("image", "why"),
    [("ami-new", None), ("ami-old", "AMIDrift"), ("ami-arm", "AMIDrift"), ("gone", "AMIDrift"), ("", None)],
)
def test_a_node_drifts_that_would_run_another_image_today(image: str, why: str | None) -> None:
    assert standard().drift(made(image_id=image)) == why


def test_where_nobody_can_tell_the_image_there_is_no_drift() -> None:
    assert Standard(node_pool(), node_class()).drift(made(image_id="ami-old")) is None
    assert standard().drift(made(image_id="ami-old", labels={"team": "a"})) is None


def test_hashes_of_another_version_are_replaced_and_not_compared() -> None:
    theirs = {NODEPOOL_HASH: "1234", version_of(NODEPOOL_HASH): "v3"}
    adopted = made(annotations=theirs)
    against = standard()

    assert against.drift(adopted) is None
    patch = against.note(adopted, None)

    assert patch is not None
    assert sorted(patch.annotations) == sorted(
        name for key in (NODEPOOL_HASH, NODE_CLASS_HASH) for name in (key, version_of(key))
    )
    assert against.note(replace(adopted, annotations=patch.annotations), None) is None


def test_drift_is_shown_by_a_condition_until_it_is_over() -> None:
    against = standard()
    drifted = made(image_id="ami-old")

    patch = against.note(drifted, "AMIDrift")
    assert patch is not None
    assert patch.conditions == (Condition(DRIFTED, Status.TRUE, "AMIDrift"),)
    shown = replace(drifted, conditions=(*conditions("Launched"), *patch.conditions))
    assert against.note(shown, "AMIDrift") is None

    over = against.note(shown, None)
    assert over is not None
    assert over.conditions == (Condition(DRIFTED, Status.FALSE, "NotDrifted"),)
