from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import DEFAULT_CLASS, node_class, node_pool
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside
from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import IMAGES_READY, SUBNETS_READY, NodeClassStatus
from treenail.domain.model.node_classes import DEFAULT_KUBELET, NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.status.readiness import (
    NodeClassChecked,
    invalid,
    node_class_conditions,
    pool_conditions,
    selector_field,
)

KEY = CatalogueKey(DEFAULT_CLASS, 1, DEFAULT_KUBELET)
FINE = NodeClassChecked(key=KEY)
NO_SUBNETS = NodeClassChecked(
    key=KEY, problem=f"{DEFAULT_CLASS}: its selector of subnets finds nothing", selector="subnets"
)
NO_ANSWER = NodeClassChecked(key=KEY, problem="no answer", certain=False)
BROKEN_CLASS = ObjectSetAside(
    kind=Kind.NODE_CLASS,
    key=str(DEFAULT_CLASS),
    resource_version=1,
    about=ObjectRef("EC2NodeClass", "default"),
    problem="spec.role: is not text",
)
VALID = Condition("ValidationSucceeded", Status.TRUE, "ValidationSucceeded")
FIELD = "spec.template.spec.nodeClassRef"


def shown(conditions: tuple[Condition, ...] | None) -> list[tuple[str, str, str, str]]:
    assert conditions is not None
    return [(c.type, c.status.value, c.reason, c.message) for c in conditions]


def test_a_pool_whose_node_class_can_be_launched_from_is_ready() -> None:
    assert shown(pool_conditions(node_pool(), node_class(), checked=FINE)) == [
        ("ValidationSucceeded", "True", "ValidationSucceeded", ""),
        ("NodeClassReady", "True", "NodeClassReady", ""),
        ("Ready", "True", "Ready", ""),
    ]


def test_a_pool_says_which_of_its_fields_nobody_acts_on() -> None:
    pool = replace(node_pool(), not_acted_on=("spec.replicas", "spec.template.spec.expireAfter"))

    validated, *_ = shown(pool_conditions(pool, node_class(), checked=FINE))

    assert validated == (
        "ValidationSucceeded",
        "True",
        "ValidationSucceeded",
        (
            "accepted, but not acted on yet: spec.template.spec.expireAfter; "
            "acted on only with FEATURE_GATES=StaticCapacity=true: spec.replicas"
        ),
    )


def test_nothing_is_said_of_a_pool_whose_node_class_was_not_looked_at_yet() -> None:
    assert pool_conditions(node_pool(), node_class()) is None


@pytest.mark.parametrize(
    ("there", "aside", "checked", "reason", "message"),
    [
        pytest.param(
            False,
            None,
            None,
            "NodeClassNotFound",
            f"{FIELD}: there is no EC2NodeClass default",
            id="not there",
        ),
        pytest.param(
            True,
            BROKEN_CLASS,
            FINE,
            "NodeClassValidationFailed",
            f"{FIELD}: EC2NodeClass/default is not valid: spec.role: is not text",
            id="not understood",
        ),
        pytest.param(
            True,
            None,
            NO_SUBNETS,
            "SubnetsNotFound",
            "EC2NodeClass/default: spec.subnetSelectorTerms: its selector of subnets finds nothing",
            id="leads nowhere",
        ),
    ],
)
def test_a_pool_is_not_ready_whose_node_class_is(
    there: bool,  # noqa: FBT001
    aside: ObjectSetAside | None,
    checked: NodeClassChecked | None,
    reason: str,
    message: str,
) -> None:
    of_class = node_class() if there else None

    assert shown(pool_conditions(node_pool(), of_class, aside=aside, checked=checked)) == [
        ("ValidationSucceeded", "True", "ValidationSucceeded", ""),
        ("NodeClassReady", "False", reason, message),
        ("Ready", "False", "UnhealthyDependents", "NodeClassReady=False"),
    ]


def test_a_pool_whose_node_class_is_being_deleted_is_not_ready() -> None:
    going = replace(node_class(), deleting=True)

    conditions = shown(pool_conditions(node_pool(), going, checked=FINE))

    assert conditions[1][2:] == ("NodeClassTerminating", f"{FIELD}: EC2NodeClass/default is being deleted")


def test_a_pool_is_neither_ready_nor_not_while_the_cloud_does_not_answer() -> None:
    conditions = shown(pool_conditions(node_pool(), node_class(), checked=NO_ANSWER))

    assert conditions[1:] == [
        ("NodeClassReady", "Unknown", "NodeClassReadinessUnknown", "EC2NodeClass/default: no answer"),
        ("Ready", "Unknown", "ReconcilingDependents", "NodeClassReady=Unknown"),
    ]


def test_a_provisioner_is_told_of_its_own_field() -> None:
    old = replace(node_pool(), generation=Generation.V1ALPHA5)

    (_, ready, _) = shown(pool_conditions(old, None))

    assert ready[3] == "spec.providerRef: there is no EC2NodeClass default"


def lacking(*parts: Condition) -> NodeClassStatus:
    return NodeClassStatus(conditions=parts)


def test_a_node_class_that_leads_nowhere_names_the_selector() -> None:
    problem = f"{DEFAULT_CLASS}: its selector of subnets finds nothing"
    subnets = Condition(SUBNETS_READY, Status.FALSE, "SubnetsNotFound", problem)
    images = Condition(IMAGES_READY, Status.TRUE, IMAGES_READY)
    named = "spec.subnetSelectorTerms: its selector of subnets finds nothing"

    assert shown(node_class_conditions(NO_SUBNETS, lacking(images, subnets))) == [
        ("AMIsReady", "True", "AMIsReady", ""),
        ("SubnetsReady", "False", "SubnetsNotFound", named),
        ("ValidationSucceeded", "False", "DependenciesNotReady", "SubnetsReady=False"),
        ("Ready", "False", "SubnetsNotFound", named),
    ]


def test_a_part_that_nobody_could_look_up_leaves_it_open_whether_the_class_is_ready() -> None:
    part = Condition(SUBNETS_READY, Status.UNKNOWN, "LookupFailed", "no answer")

    assert shown(node_class_conditions(FINE, lacking(part))) == [
        ("SubnetsReady", "Unknown", "LookupFailed", "no answer"),
        ("ValidationSucceeded", "Unknown", "DependenciesNotReady", "SubnetsReady=Unknown"),
        ("Ready", "Unknown", "LookupFailed", "no answer"),
    ]


def test_a_node_class_of_which_nothing_is_lacking_is_ready() -> None:
    assert node_class_conditions(FINE) == (VALID, Condition("Ready", Status.TRUE, "Ready"))


def test_what_is_wrong_with_a_node_class_beside_its_parts_is_told_as_it_is() -> None:
    odd = NodeClassChecked(key=KEY, problem="its kubelet makes no sense")
    large = NodeClassChecked(key=KEY, problem="too large", reason="UserDataSizeLimitExceeded")

    assert shown(node_class_conditions(odd)) == [
        ("ValidationSucceeded", "False", "NodeClassNotReady", "its kubelet makes no sense"),
        ("Ready", "False", "NodeClassNotReady", "its kubelet makes no sense"),
    ]
    assert {c.reason for c in node_class_conditions(large)} == {"UserDataSizeLimitExceeded"}


def test_what_nobody_understands_is_not_valid_and_so_not_ready() -> None:
    assert shown(invalid(BROKEN_CLASS)) == [
        ("ValidationSucceeded", "False", "NodeClassValidationFailed", "spec.role: is not text"),
        ("Ready", "False", "UnhealthyDependents", "ValidationSucceeded=False"),
    ]


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("EC2NodeClass", "spec.securityGroupSelectorTerms"),
        ("AWSNodeTemplate", "spec.securityGroupSelector"),
        ("Provisioner", "spec.provider.securityGroupSelector"),
        ("KWOKNodeClass", ""),
    ],
)
def test_every_generation_has_its_own_names_for_selectors(kind: str, field: str) -> None:
    assert selector_field(NodeClassRef("g", kind, "default"), "security groups") == field
    assert selector_field(NodeClassRef("g", kind, "default"), "") == ""
