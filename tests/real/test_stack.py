"""The CloudFormation template as a stack, as far as the laboratory has what it makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cloudformation import TEMPLATE, allowed_actions, listed
from tests.real.lab.lab import Lab
from tests.real.sqs.reader import Reader, until
from treenail.adapters.sqs import SqsSettings
from treenail.domain.interruption.message_parsing import InterruptionKind, parse_notice

CLUSTER = "stacked"
PROVIDER = "oidc.eks.us-east-1.amazonaws.com/id/ABC"
INSTANCE = "i-0123456789abcdef0"


def create(lab: Lab, **parameters: str) -> dict[str, str]:
    """Create the stack, and return its outputs."""
    formation = lab.client("cloudformation")
    given = {"ClusterName": CLUSTER, **parameters}
    formation.create_stack(
        StackName="treenail",
        TemplateBody=TEMPLATE.read_text(),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()],
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    (stack,) = formation.describe_stacks(StackName="treenail")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    return {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}


@pytest.fixture
def listen(lab: Lab) -> Iterator[Callable[[str], Reader]]:
    readers: list[Reader] = []

    def to(queue: str) -> Reader:
        readers.append(Reader(lab, SqsSettings(name=queue, receivers=1)))
        readers[-1].queue.feed(readers[-1].box)
        return readers[-1]

    yield to
    for reader in readers:
        reader.queue.stop()
        assert reader.defects == []


def test_what_happens_to_instances_gets_from_the_stacks_rules_to_whoever_reads_its_queue(
    lab: Lab, listen: Callable[[str], Reader]
) -> None:
    reader = listen(create(lab)["InterruptionQueueName"])

    lab.spot_warning(INSTANCE)
    lab.rebalance(INSTANCE)
    lab.state_change(INSTANCE, "stopping")
    lab.scheduled_change([INSTANCE], datetime.now(UTC))
    until(lambda: len(reader.box.messages) >= 4)

    kinds = {parse_notice(message.body).kind for message in reader.box.messages}
    assert kinds == {
        InterruptionKind.SPOT_INTERRUPTED,
        InterruptionKind.REBALANCE_RECOMMENDATION,
        InterruptionKind.INSTANCE_STOPPED,
        InterruptionKind.SCHEDULED_CHANGE,
    }


def test_the_queue_keeps_messages_for_five_minutes_and_encrypts_them(lab: Lab) -> None:
    sqs = lab.client("sqs")
    url = sqs.get_queue_url(QueueName=create(lab)["InterruptionQueueName"])["QueueUrl"]

    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]

    assert attributes["MessageRetentionPeriod"] == "300"
    assert attributes["SqsManagedSseEnabled"] == "true"


def test_nodes_get_a_role_and_a_profile_under_the_names_that_are_known(lab: Lab) -> None:
    outputs, iam = create(lab), lab.client("iam")

    profile = iam.get_instance_profile(InstanceProfileName=outputs["NodeInstanceProfileName"])
    (role,) = profile["InstanceProfile"]["Roles"]
    trusted = role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]

    assert outputs["NodeRoleName"] == role["RoleName"] == f"KarpenterNodeRole-{CLUSTER}"
    assert outputs["NodeInstanceProfileName"] == f"KarpenterNodeInstanceProfile-{CLUSTER}"
    assert trusted == {"Service": "ec2.amazonaws.com"}


def test_the_policy_holds_every_action(lab: Lab) -> None:
    outputs = create(lab)

    document = _policy(lab, outputs["ControllerPolicyArn"])

    actions = {action for one in document["Statement"] for action in listed(one["Action"])}
    assert actions == allowed_actions()
    (cluster,) = [one["Resource"] for one in document["Statement"] if one["Sid"] == "LookAtTheCluster"]
    assert cluster.endswith(f":cluster/{CLUSTER}")


def test_without_a_provider_there_is_no_role_for_the_controller(lab: Lab) -> None:
    outputs = create(lab)

    roles = lab.client("iam").list_roles()["Roles"]

    assert "ControllerRoleArn" not in outputs
    assert f"{CLUSTER}-karpenter" not in {role["RoleName"] for role in roles}


def test_with_a_provider_the_service_account_may_take_on_a_role(lab: Lab) -> None:
    outputs = create(lab, OidcProvider=PROVIDER, ServiceAccountNamespace="karpenter")

    role = lab.client("iam").get_role(RoleName=f"{CLUSTER}-karpenter")["Role"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert outputs["ControllerRoleArn"] == role["Arn"]
    assert trust["Principal"]["Federated"].endswith(f":oidc-provider/{PROVIDER}")
    assert trust["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert trust["Condition"]["StringEquals"] == {
        f"{PROVIDER}:aud": "sts.amazonaws.com",
        f"{PROVIDER}:sub": "system:serviceaccount:karpenter:treenail",
    }


def test_a_stack_that_is_deleted_leaves_no_queue_rule_or_role_behind(lab: Lab) -> None:
    before = _counts(lab)
    create(lab, OidcProvider=PROVIDER)
    assert _counts(lab) != before

    lab.client("cloudformation").delete_stack(StackName="treenail")

    assert _counts(lab) == before


def _policy(lab: Lab, arn: str) -> dict[str, Any]:
    iam = lab.client("iam")
    version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
    document = iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]
    return dict(json.loads(document) if isinstance(document, str) else document)


def _counts(lab: Lab) -> dict[str, int]:
    return {
        "queues": len(lab.client("sqs").list_queues().get("QueueUrls", [])),
        "rules": len(lab.client("events").list_rules()["Rules"]),
        "roles": len(lab.client("iam").list_roles()["Roles"]),
    }
