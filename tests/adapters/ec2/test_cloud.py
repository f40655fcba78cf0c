from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.buying import (
    CREATE,
    FLEET,
    GONE,
    LIST,
    NOON,
    OWN,
    STATES,
    TEMPLATES,
    Shelf,
    answer,
    any_call,
    cloud,
    error,
    instance,
    into,
    reservations,
)
from tests.adapters.ec2.discovery.account import ANY, Account
from tests.adapters.ec2.launch.orders import node_class, request
from tests.adapters.ec2.launch.test_fleet_call import RESOLVED, A, B
from treenail.domain.interruption.impairments import OF_RESERVATIONS, OF_STATUSES
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, UnavailableError
from treenail.domain.model.fleets import (
    CLUSTER_TAG,
    EFA,
    LAUNCH_TAG,
    NO_SPOT,
    FleetError,
    FleetRequest,
    InstanceState,
)
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass

STATUSES, RESERVATIONS = "ec2.describe_instance_status", "ec2.describe_capacity_reservations"
REFUSED = "UnauthorizedOperation"

# --- looking


def test_a_listing_goes_on_from_page_to_page(account: Account) -> None:
    filters = [
        {
            "Name": "tag-key",
            "Values": ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "treenail.sh/launch"],
        },
        {"Name": f"tag:{CLUSTER_TAG}", "Values": ["demo"]},
        {"Name": "instance-state-name", "Values": STATES},
    ]
    first = {"Reservations": reservations(instance("i-3"), instance("i-1")), "NextToken": "more"}
    account.answers(LIST, first, Filters=filters, MaxResults=1000)
    second = {"Reservations": reservations(instance("i-2"))}
    account.answers(LIST, second, Filters=filters, MaxResults=1000, NextToken="more")
    account.answers(TEMPLATES, {"LaunchTemplates": []})

    assert [i.id for i in cloud(account).instances()] == ["i-1", "i-2", "i-3"]


@pytest.mark.parametrize(
    ("said", "capacity_type"), [({}, labels.ON_DEMAND), ({"InstanceLifecycle": "spot"}, labels.SPOT)]
)
def test_an_instance_is_what_ec2_says_of_it(
    account: Account, said: dict[str, str], capacity_type: str
) -> None:
    found = instance("i-1", {"a": "b"}, **said)
    account.answers(LIST, {"Reservations": reservations(found)})
    account.answers(TEMPLATES, {"LaunchTemplates": []})

    (listed,) = cloud(account).instances()

    assert (listed.instance_type, listed.zone, listed.image_id) == ("m5.large", A, "ami-x")
    assert (listed.state, listed.launched_at) == (InstanceState.RUNNING, NOON)
    assert listed.tags == {"a": "b"}
    assert listed.capacity_type == capacity_type


class WithAdapters(Shelf):
    """Types that have a fabric adapter."""

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        types = super().instance_types(node_class, kubelet)
        return tuple(replace(one, capacity=one.capacity.plus({EFA: 1})) for one in types)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_node_has_fabric_adapters_where_it_was_launched_with_them(
    account: Account, *, wanted: bool
) -> None:
    buyer = cloud(account, shelf=WithAdapters())
    account.answers(FLEET, answer("i-1"))
    (bought,) = buyer.launch(replace(OWN, efa=wanted)).instances
    interfaces = [{"InterfaceType": "efa" if wanted else "interface"}]
    tags = {LAUNCH_TAG: OWN.token, CLUSTER_TAG: "demo"}
    found = instance("i-1", tags, NetworkInterfaces=interfaces)
    account.answers(LIST, {"Reservations": reservations(found)})
    account.answers(TEMPLATES, {"LaunchTemplates": []})

    (listed,) = buyer.instances()

    assert [one.capacity.get(EFA, 0) for one in (bought, listed)] == [int(wanted)] * 2
    assert bought.capacity["cpu"] == listed.capacity["cpu"] > 0


BLOCK = {
    "CapacityReservationId": "cr-1",
    "InstanceType": "m5.large",
    "AvailabilityZone": A,
    "State": "active",
    "ReservationType": "capacity-block",
    "TotalInstanceCount": 1,
    "AvailableInstanceCount": 0,
    "EndDate": NOON.replace(year=2000),
}
RESERVED = instance(
    "i-1",
    CapacityReservationId="cr-1",
    CapacityReservationSpecification={"CapacityReservationPreference": "capacity-reservations-only"},
)


def finds(account: Account, *listed: dict[str, Any], unwell: str = "", block: str = "") -> None:
    """Let EC2 list instances, find i-1 unwell and its capacity block ended, unless it refuses."""
    failed = {"InstanceId": "i-1", "InstanceStatus": {"Details": [{"ImpairedSince": NOON}]}}
    for found in () if unwell else ([failed], [], []):
        account.answers(STATUSES, {"InstanceStatuses": found})
    if unwell:
        account.refuses(STATUSES, unwell)
    account.answers(LIST, {"Reservations": reservations(*listed)})
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    if block:
        account.refuses(RESERVATIONS, block)
    elif listed == (RESERVED,):
        account.answers(RESERVATIONS, {"CapacityReservations": [BLOCK]})


@pytest.mark.parametrize(
    ("unwell", "block", "kinds", "unanswered"),
    [
        ("", "", ["instance_status", "capacity_reservation_interrupted"], frozenset()),
        (REFUSED, "", ["capacity_reservation_interrupted"], OF_STATUSES),
        ("", REFUSED, ["instance_status"], OF_RESERVATIONS),
    ],
)
def test_of_statuses_and_reservations_what_cannot_be_looked_up_hides_nothing_of_the_other(
    account: Account, unwell: str, block: str, kinds: list[str], unanswered: frozenset[InterruptionKind]
) -> None:
    finds(account, RESERVED, unwell=unwell, block=block)
    lines: list[str] = []

    def log(message: str, /, **_: object) -> None:
        lines.append(message)

    found = cloud(account, log=log).impairments()

    assert [one.kind.value for one in found.found] == kinds
    assert found.unanswered == unanswered
    assert lines == ["cannot look up all that is wrong with instances"] * bool(unanswered)


@pytest.mark.parametrize(("listed", "block"), [(RESERVED, REFUSED), (instance("i-1"), "")])
def test_where_nothing_can_be_looked_up_that_is_an_error(
    account: Account, listed: dict[str, Any], block: str
) -> None:
    finds(account, listed, unwell=REFUSED, block=block)

    with pytest.raises(InvalidError, match="DescribeInstanceStatus"):
        cloud(account).impairments()


# --- buying


def test_an_answer_is_told_with_its_instances_in_order_and_each_error_once(account: Account) -> None:
    ice = error("InsufficientInstanceCapacity", InstanceType="m5.large", SubnetId="subnet-b")
    account.answers(FLEET, answer("i-2", "i-1", errors=(error("Odd"), ice, ice)))

    told = cloud(account).launch(OWN)

    assert [(i.id, i.zone, i.image_id) for i in told.instances] == [("i-1", A, "ami-x"), ("i-2", A, "ami-x")]
    assert told.errors == (
        FleetError("InsufficientInstanceCapacity", "no", "m5.large", B),
        FleetError("Odd", "no"),
    )
    assert (told.fleet_id, told.request_id) == ("fleet-1", "request-1")


def test_a_call_made_again_is_the_very_same_though_its_subnets_have_changed(account: Account) -> None:
    shelf = Shelf()
    buyer = cloud(account, shelf=shelf)
    account.answers(FLEET, answer("i-1"))
    first = buyer.launch(OWN)
    shelf.resolved = replace(RESOLVED, subnets=RESOLVED.subnets[1:])
    overrides = [
        {"InstanceType": "m5.large", "SubnetId": subnet, "AvailabilityZone": zone, "ImageId": "ami-x"}
        for subnet, zone in (("subnet-a", A), ("subnet-b", B))
    ]
    template = {"LaunchTemplateName": "theirs", "Version": "$Latest"}
    account.answers(
        FLEET,
        answer("i-1"),
        Type="instant",
        ClientToken="call-1",
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": template, "Overrides": overrides}],
        TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "on-demand"},
        OnDemandOptions={"AllocationStrategy": "lowest-price"},
        TagSpecifications=ANY,
    )

    assert buyer.launch(OWN).instances == first.instances


def test_what_ran_out_of_addresses_is_not_launched_into_while_another_subnet_of_the_zone_has_some(
    account: Account,
) -> None:
    # subnet-a has more addresses free than subnet-a2.
    full = error("InsufficientFreeAddressesInSubnet", InstanceType="m5.large", SubnetId="subnet-a")
    account.answers(FLEET, answer(errors=(full,)), **any_call("call-1"))
    account.answers(
        FLEET, answer("i-1"), **any_call("call-2") | {"LaunchTemplateConfigs": into("subnet-a2", A)}
    )
    buyer = cloud(account)
    only_a = replace(OWN, overrides=tuple(one for one in OWN.overrides if one.zone == A))

    told = buyer.launch(only_a)
    buyer.launch(replace(only_a, token="call-2"))  # noqa: S106 (a client token)

    assert [(e.zone, e.elsewhere) for e in told.errors] == [(A, True)]


def test_a_zone_whose_subnets_are_all_full_has_nothing_elsewhere(account: Account) -> None:
    for number, subnet in enumerate(("subnet-a", "subnet-a2")):
        full = error("InsufficientFreeAddressesInSubnet", InstanceType="m5.large", SubnetId=subnet)
        account.answers(FLEET, answer(errors=(full,)), **any_call(f"call-{number}"))
    buyer = cloud(account)
    only_a = replace(OWN, overrides=tuple(one for one in OWN.overrides if one.zone == A))

    told = [buyer.launch(replace(only_a, token=f"call-{number}")) for number in range(2)]

    assert [[e.elsewhere for e in one.errors] for one in told] == [[True], [False]]


def test_a_missing_role_for_spot_is_told_as_spot_that_ran_out(account: Account) -> None:
    account.refuses(FLEET, NO_SPOT)

    told = cloud(account).launch(replace(OWN, capacity_type=labels.SPOT))

    assert [(e.code, e.capacity) for e in told.errors] == [(NO_SPOT, True)]


def test_a_token_is_for_one_request_only(account: Account) -> None:
    buyer = cloud(account)
    account.answers(FLEET, answer("i-1"))
    buyer.launch(OWN)

    with pytest.raises(InvalidError, match="IdempotentParameterMismatch"):
        buyer.launch(replace(OWN, count=2))


def test_a_template_that_is_gone_is_made_again_under_the_same_token_where_no_fleet_was(
    account: Account,
) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.refuses(FLEET, GONE)
    account.answers(CREATE, {})
    account.answers(FLEET, answer("i-1"), **any_call("call-1"))

    assert len(cloud(account, "nodes").launch(request()).instances) == 1


def test_a_template_that_is_gone_is_made_again_under_another_token_where_an_empty_fleet_was(
    account: Account,
) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.answers(FLEET, answer(errors=(error(GONE),)), **any_call("call-1"))
    account.answers(CREATE, {})
    account.answers(FLEET, answer("i-1"), **any_call("call-1-2"))

    assert len(cloud(account, "nodes").launch(request()).instances) == 1


def test_a_template_of_the_users_that_is_gone_is_told_after_one_more_attempt(account: Account) -> None:
    account.refuses(FLEET, GONE, times=2)

    told = cloud(account).launch(OWN)

    assert [e.code for e in told.errors] == [GONE]
    assert not told.errors[0].capacity


def test_what_the_call_names_and_is_not_there_is_a_refusal(account: Account) -> None:
    account.refuses(FLEET, "InvalidSubnetID.NotFound")

    with pytest.raises(InvalidError, match=r"InvalidSubnetID\.NotFound"):
        cloud(account).launch(OWN)


def test_a_mismatch_is_settled_by_what_the_instances_say(account: Account) -> None:
    tags = {**OWN.tags, "treenail.sh/request": OWN.digest(), "aws:ec2:fleet-id": "fleet-0"}
    account.refuses(FLEET, "IdempotentParameterMismatch")
    account.answers(LIST, {"Reservations": reservations(instance("i-1", tags))})

    told = cloud(account).launch(OWN)

    assert ([i.id for i in told.instances], told.fleet_id) == (["i-1"], "fleet-0")


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ([], UnavailableError),
        ([instance("i-1", {"treenail.sh/request": "another"})], InvalidError),
        ([instance("i-1")], InvalidError),
    ],
)
def test_a_mismatch_that_the_instances_do_not_settle_is_told(
    account: Account, found: list[dict[str, Any]], kind: type[Exception]
) -> None:
    account.refuses(FLEET, "IdempotentParameterMismatch")
    account.answers(LIST, {"Reservations": reservations(*found)})

    with pytest.raises(kind):
        cloud(account).launch(OWN)


def test_instances_of_other_clusters_are_not_bought(account: Account) -> None:
    other: FleetRequest = request(tags={**OWN.tags, CLUSTER_TAG: "other"})

    with pytest.raises(InvalidError, match="instances of demo bear the tag"):
        cloud(account).launch(other)


def test_a_class_whose_instances_could_not_boot_has_no_types_but_by_a_template_of_its_own(
    account: Account,
) -> None:
    odd = node_class(AmiFamily.BOTTLEROCKET, user_data="echo hello")

    with pytest.raises(NodeClassNotReadyError, match="it is not TOML"):
        cloud(account).instance_types(odd, DEFAULT_KUBELET)
    assert cloud(account).instance_types(replace(odd, launch_template="theirs"), DEFAULT_KUBELET)
