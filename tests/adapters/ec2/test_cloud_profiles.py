from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.buying import (
    CREATE,
    FLEET,
    NOON,
    TEMPLATES,
    answer,
    any_call,
    cloud,
)
from tests.adapters.ec2.discovery.account import Account
from tests.adapters.ec2.launch.orders import node_class, request
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.fleets import FleetError
from treenail.domain.model.node_classes import DEFAULT_KUBELET
from treenail.domain.status.managed_profiles import profile_name


def test_a_class_needs_an_instance_profile(account: Account) -> None:
    without = replace(node_class(), instance_profile="")

    for ask in (
        lambda: cloud(account).launch(request(node_class=without)),
        lambda: cloud(account).instance_types(without, DEFAULT_KUBELET),
    ):
        with pytest.raises(NodeClassNotReadyError, match="names no role and no instance profile") as raised:
            ask()
        assert raised.value.reason == "InstanceProfileNotFound"


UNSEEN = "Value (demo_1) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
OF_ROLE = node_class(role="nodes", uid="uid-1")


def with_profile(account: Account) -> None:
    """Let the profile of the role be there in IAM, and no template in EC2."""
    name = profile_name("demo", "us-east-1", replace(OF_ROLE, instance_profile=""))
    role = {
        "Path": "/",
        "RoleName": "nodes",
        "RoleId": "A" * 16,
        "Arn": "arn:aws:iam::123456789012:role/nodes",
        "CreateDate": NOON,
    }
    profile = {
        "Path": "/",
        "InstanceProfileName": name,
        "InstanceProfileId": "A" * 16,
        "Arn": f"arn:aws:iam::123456789012:instance-profile/{name}",
        "CreateDate": NOON,
        "Roles": [role],
    }
    account.answers("iam.get_instance_profile", {"InstanceProfile": profile})
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})


def test_a_profile_that_ec2_does_not_see_yet_is_waited_for(account: Account) -> None:
    with_profile(account)
    unseen = {"ErrorCode": "InvalidParameterValue", "ErrorMessage": UNSEEN}
    account.answers(FLEET, answer(errors=(unseen,)), **any_call("call-1"))
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN)
    account.answers(FLEET, answer("i-1"), **any_call("call-1-2"))

    told = cloud(account).launch(request(node_class=replace(OF_ROLE, instance_profile="")))

    assert [i.id for i in told.instances] == ["i-1"]
    assert account.time.slept == [5.0, 5.0]


def test_a_profile_that_ec2_never_sees_is_told_after_a_quarter_of_a_minute(account: Account) -> None:
    with_profile(account)
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN, times=4)

    told = cloud(account).launch(request(node_class=replace(OF_ROLE, instance_profile="")))

    assert (told.instances, told.errors) == ((), (FleetError("InvalidParameterValue", UNSEEN),))
    assert sum(account.time.slept) == 15.0


def test_a_profile_that_is_named_and_not_there_is_told_at_once(account: Account) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN)

    told = cloud(account).launch(request(node_class=replace(node_class(), instance_profile="ghost")))

    assert told.errors == (FleetError("InvalidParameterValue", UNSEEN),)
    assert account.time.slept == []


def test_a_class_with_a_launch_template_of_its_own_needs_no_instance_profile(account: Account) -> None:
    own = replace(node_class(), instance_profile="", launch_template="mine")

    assert cloud(account).instance_types(own, DEFAULT_KUBELET)
