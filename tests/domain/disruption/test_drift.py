from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, at, claim, conditions, node_class, node_pool
from treenail.domain.disruption.drift import Standard
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import CapacityReservation
from treenail.domain.model.fleets import Instance, InstanceState
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_class_status import (
    ImageMeant,
    NodeClassMeaning,
    SecurityGroupMeant,
    SubnetMeant,
)
from treenail.domain.model.node_classes import SelectorTerm
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import DRIFTED, Condition, NodeClaim, Status
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.resources import Resources
from treenail.domain.model.template_hash import NODE_CLASS_HASH, NODEPOOL_HASH, stamped, version_of

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


@pytest.mark.parametrize(
    ("reason", "kept", "others"),
    [("NodePoolDrifted", NODEPOOL_HASH, NODE_CLASS_HASH), ("NodeClassDrift", NODE_CLASS_HASH, NODEPOOL_HASH)],
)
def test_what_drifted_by_a_hash_of_another_version_stays_so(reason: str, kept: str, others: str) -> None:
    theirs = {NODEPOOL_HASH: "1234", NODE_CLASS_HASH: "5678"}
    versions = {version_of(key): "v3" for key in theirs}
    drifted = made(annotations={**theirs, **versions}, conditions=(Condition(DRIFTED, Status.TRUE, reason),))
    against = standard()

    assert against.drift(drifted) == reason
    patch = against.note(drifted, reason)

    assert patch is not None
    assert sorted(patch.annotations) == sorted((others, *versions))
    assert patch.conditions == ()
    stamped_anew = replace(drifted, annotations={**drifted.annotations, **patch.annotations})
    assert against.drift(stamped_anew) == reason
    assert against.note(stamped_anew, reason) is None
    assert kept not in patch.annotations


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
    # Karpenter keeps the hash of a claim that bears the condition at all, and would find ours to be another.
    assert (over.conditions, over.remove_conditions) == ((), (DRIFTED,))
    left = replace(drifted, conditions=(Condition(DRIFTED, Status.FALSE, "NotDrifted"),))
    assert against.note(left, None) == ClaimPatch(remove_conditions=(DRIFTED,))


IN_PLACE = Instance(
    id="i-1",
    instance_type="c5.large",
    zone="a",
    capacity_type="spot",
    state=InstanceState.RUNNING,
    launched_at=START,
    subnet_id="subnet-a",
    security_groups=("sg-1", "sg-2"),
)
PLACES = NodeClassMeaning(
    subnets=(SubnetMeant(id="subnet-a", zone="a"), SubnetMeant(id="subnet-b", zone="b")),
    security_groups=(SecurityGroupMeant(id="sg-2"), SecurityGroupMeant(id="sg-1")),
)
SOLD = InstanceType(
    name="c5.large",
    requirements=Requirements(()),
    capacity=Resources(),
    offerings=(Offering("a", "spot", 0.1, available=False), Offering("b", "on-demand", 0.2)),
)


def drift_of(
    instance: Instance, meaning: NodeClassMeaning = PLACES, *types: InstanceType, hours: float = 2
) -> str | None:
    """Return why a claim drifted whose instance was found so, and its class means that."""
    surveyed = InstancesSurveyed(
        surveyed_at=at(hours * 3600),
        instances={instance.id: instance},
        types={one.name: one for one in types or (SOLD,)},
    )
    against = Standard(node_pool(), node_class(), meaning, surveyed)
    return against.drift(made(provider_id="aws:///a/i-1", image_id=""))


@pytest.mark.parametrize(
    ("instance", "why"),
    [
        pytest.param(IN_PLACE, None, id="as it should be"),
        pytest.param(replace(IN_PLACE, subnet_id="subnet-c"), "SubnetDrift", id="another subnet"),
        pytest.param(replace(IN_PLACE, subnet_id="subnet-b"), None, id="another subnet of the class"),
        pytest.param(replace(IN_PLACE, subnet_id=""), None, id="subnet not told"),
        pytest.param(replace(IN_PLACE, security_groups=("sg-1",)), "SecurityGroupDrift", id="group less"),
        pytest.param(
            replace(IN_PLACE, security_groups=("sg-1", "sg-2", "sg-3")), "SecurityGroupDrift", id="group more"
        ),
        pytest.param(replace(IN_PLACE, security_groups=()), None, id="groups not told"),
        pytest.param(
            replace(IN_PLACE, security_groups=("sg-9",), subnet_id="subnet-c"),
            "SecurityGroupDrift",
            id="both",
        ),
    ],
)
def test_a_node_drifts_whose_instance_is_elsewhere(instance: Instance, why: str | None) -> None:
    assert drift_of(instance) == why


def test_where_nobody_can_tell_the_network_there_is_no_drift() -> None:
    assert drift_of(replace(IN_PLACE, subnet_id="subnet-c"), NodeClassMeaning()) is None
    unseen = Standard(node_pool(), node_class(), PLACES)
    assert unseen.drift(made(provider_id="aws:///a/i-1", image_id="")) is None


@pytest.mark.parametrize(
    ("instance", "why"),
    [
        pytest.param({}, None, id="sold, though not to be had"),
        pytest.param({"instance_type": "c4.large"}, "InstanceTypeNotFound", id="type gone"),
        pytest.param({"zone": "b"}, "InstanceTypeNotFound", id="not so in this zone"),
        pytest.param({"zone": "b", "capacity_type": "on-demand"}, None, id="on demand"),
        pytest.param({"zone": "b", "capacity_type": "reserved"}, None, id="reserved, goes on as on demand"),
    ],
)
def test_a_node_drifts_whose_like_is_not_sold_any_more(instance: dict[str, str], why: str | None) -> None:
    assert drift_of(replace(IN_PLACE, **instance)) == why  # type: ignore[arg-type]


def test_what_was_bought_within_the_hour_was_sold() -> None:
    assert drift_of(replace(IN_PLACE, instance_type="c4.large"), hours=0.9) is None


def test_a_type_that_nobody_can_tell_of_is_taken_to_be_sold() -> None:
    surveyed = InstancesSurveyed(surveyed_at=at(7200), instances={"i-1": IN_PLACE})

    assert surveyed.still_sold(replace(IN_PLACE, instance_type="c4.large"))


def of_reservations(*selected: str) -> NodeClassMeaning:
    found = tuple(
        CapacityReservation(reservation=Reservation(name), instance_type="m5.large", zone="a")
        for name in selected
    )
    return replace(PLACES, reservations=found)


@pytest.mark.parametrize(
    ("reservation", "selected", "why"),
    [
        pytest.param("cr-1", ("cr-1", "cr-2"), None, id="still selected"),
        pytest.param("cr-1", ("cr-2",), "CapacityReservationDrift", id="another is"),
        pytest.param("cr-1", (), "CapacityReservationDrift", id="the class names none any more"),
        pytest.param("", (), None, id="in none"),
    ],
)
def test_a_node_drifts_whose_reservation_its_class_does_not_select(
    reservation: str, selected: tuple[str, ...], why: str | None
) -> None:
    assert drift_of(replace(IN_PLACE, reservation=reservation), of_reservations(*selected)) == why


CLOSE, APART = PlacementGroupRef(id="pg-1", name="close"), PlacementGroupRef(id="pg-2", name="apart")
ANEW = PlacementGroupRef(id="pg-3", name="close")


def drift_in(group: PlacementGroupRef, meant: PlacementGroupRef, **of_class: Any) -> str | None:
    """Return why a claim drifted whose instance is in `group`, and its class is such and means `meant`."""
    one = replace(IN_PLACE, placement_group=group)
    surveyed = InstancesSurveyed(surveyed_at=at(7200), instances={one.id: one}, types={SOLD.name: SOLD})
    against = Standard(
        node_pool(), replace(node_class(), **of_class), replace(PLACES, placement_group=meant), surveyed
    )
    theirs = dict.fromkeys((NODEPOOL_HASH, NODE_CLASS_HASH), "1234")
    return against.drift(made(provider_id="aws:///a/i-1", image_id="", annotations=theirs))


@pytest.mark.parametrize(
    ("group", "meant", "why"),
    [
        pytest.param(CLOSE, CLOSE, None, id="as it should be"),
        pytest.param(PlacementGroupRef(name="close"), CLOSE, None, id="by name alone"),
        pytest.param(APART, CLOSE, "PlacementGroupDrift", id="another group"),
        pytest.param(PlacementGroupRef(name="apart"), CLOSE, "PlacementGroupDrift", id="another by name"),
        pytest.param(ANEW, CLOSE, "PlacementGroupDrift", id="one of that name before"),
        pytest.param(NO_GROUP, CLOSE, "PlacementGroupDrift", id="none"),
        pytest.param(CLOSE, NO_GROUP, None, id="nobody can tell which is meant"),
    ],
)
def test_a_node_drifts_that_is_not_in_the_placement_group_of_its_class(
    group: PlacementGroupRef, meant: PlacementGroupRef, why: str | None
) -> None:
    assert drift_in(group, meant, placement_group=SelectorTerm(name="close")) == why


@pytest.mark.parametrize(
    ("group", "of_class", "why"),
    [
        pytest.param(NO_GROUP, {}, None, id="in none"),
        pytest.param(CLOSE, {}, "PlacementGroupDrift", id="in one that the class names no more"),
        pytest.param(CLOSE, {"launch_template": "own"}, None, id="the user's template may name it"),
    ],
)
def test_a_node_drifts_that_is_in_a_placement_group_while_its_class_names_none(
    group: PlacementGroupRef, of_class: dict[str, str], why: str | None
) -> None:
    assert drift_in(group, NO_GROUP, **of_class) == why


def test_where_the_reservations_of_a_class_cannot_be_told_there_is_no_drift() -> None:
    named = replace(node_class(), reservation_terms=(SelectorTerm(id="cr-1"),))
    one = replace(IN_PLACE, reservation="cr-1")
    surveyed = InstancesSurveyed(surveyed_at=at(7200), instances={one.id: one}, types={SOLD.name: SOLD})

    against = Standard(node_pool(), named, PLACES, surveyed)

    assert against.drift(made(provider_id="aws:///a/i-1", image_id="")) is None
