"""The CloudFormation template holds together, and says what the code needs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from cfnlint import api
from cfnlint.config import ManualArgs

from tests.cloudformation import TEMPLATE, controller_statements, listed, parts, template
from treenail.domain.interruption import message_parsing
from treenail.domain.lifecycle import tagging
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG

PSEUDO = {"AWS::AccountId", "AWS::Partition", "AWS::Region", "AWS::URLSuffix"}
# What IAM takes in a managed policy, spaces left out.
LONGEST_POLICY = 6144
RULES = "AWS::Events::Rule"


def resources(kind: str) -> dict[str, dict[str, Any]]:
    found = template()["Resources"]
    return {name: one["Properties"] for name, one in found.items() if one["Type"] == kind}


def sid(name: str) -> dict[str, Any]:
    (statement,) = [one for one in controller_statements() if one["Sid"] == name]
    return statement


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1"])
def test_the_linter_of_cloudformation_finds_nothing(region: str) -> None:
    found = api.lint_file(TEMPLATE, config=ManualArgs(regions=[region]))

    assert [str(one) for one in found] == []


def test_everything_that_is_referred_to_is_there() -> None:
    there = {*template()["Parameters"], *template()["Resources"], *PSEUDO}
    named: set[str] = set()
    for key, value in parts(template()):
        match key:
            case "Ref":
                named.add(str(value))
            case "Fn::GetAtt" if isinstance(value, list):
                named.add(value[0])
            case "Fn::Sub":
                named |= set(re.findall(r"\$\{([^}]+)\}", str(value)))
            case _:
                pass

    assert named <= there
    assert set(template()["Parameters"]) <= named


def test_every_condition_that_is_asked_is_there() -> None:
    asked = {one["Condition"] for one in template()["Resources"].values() if "Condition" in one}
    asked |= {one["Condition"] for one in template()["Outputs"].values() if "Condition" in one}

    assert asked == set(template()["Conditions"])


def test_a_clusters_name_is_all_that_must_be_given() -> None:
    without = [name for name, one in template()["Parameters"].items() if "Default" not in one]

    assert without == ["ClusterName"]


def test_things_have_the_names_that_walkthroughs_know_them_by() -> None:
    (queue,) = resources("AWS::SQS::Queue").values()
    (policy,) = resources("AWS::IAM::ManagedPolicy").values()
    (profile,) = resources("AWS::IAM::InstanceProfile").values()

    assert queue["QueueName"] == {"Ref": "ClusterName"}
    assert policy["ManagedPolicyName"] == {"Fn::Sub": "KarpenterControllerPolicy-${ClusterName}"}
    assert profile["InstanceProfileName"] == {"Fn::Sub": "KarpenterNodeInstanceProfile-${ClusterName}"}
    names = {name: one["RoleName"]["Fn::Sub"] for name, one in resources("AWS::IAM::Role").items()}
    assert names == {
        "NodeRole": "KarpenterNodeRole-${ClusterName}",
        "ControllerRole": "${ClusterName}-karpenter",
        "ControllerPodRole": "${ClusterName}-karpenter-pod",
    }


def test_the_policy_is_short_enough_for_iam() -> None:
    document = {"Version": "2012-10-17", "Statement": controller_statements()}
    region, cluster = "ap-southeast-2", "c" * 46
    text = json.dumps(document, separators=(",", ":"))
    text = re.sub(r'\{"Fn::Sub":("[^"]*")\}', r"\1", text)
    text = text.replace("${AWS::Partition}", "aws-us-gov").replace("${AWS::Region}", region)
    text = text.replace("${AWS::AccountId}", "1" * 12).replace("${ClusterName}", cluster)

    assert len(re.sub(r"\s", "", text)) < LONGEST_POLICY


def test_each_kind_of_event_that_is_understood_is_sent_to_the_queue_and_no_other() -> None:
    sent = set()
    for rule in resources(RULES).values():
        assert rule["Targets"] == [
            {"Id": "InterruptionQueue", "Arn": {"Fn::GetAtt": ["InterruptionQueue", "Arn"]}}
        ]
        pattern = rule["EventPattern"]
        sent |= {(source, kind) for source in pattern["source"] for kind in pattern["detail-type"]}

    assert sent == {(source, kind) for (_, source, kind), _ in message_parsing._READERS}


def test_the_queue_lets_every_rule_send_and_nobody_else() -> None:
    (policy,) = resources("AWS::SQS::QueuePolicy").values()
    (lets, denies) = policy["PolicyDocument"]["Statement"]

    senders = [source["Fn::GetAtt"][0] for source in lets["Condition"]["ArnEquals"]["aws:SourceArn"]]
    assert sorted(senders) == sorted(resources(RULES))
    assert (lets["Principal"], lets["Action"]) == ({"Service": "events.amazonaws.com"}, "sqs:SendMessage")
    assert denies["Effect"] == "Deny"


def test_what_is_made_must_bear_the_tag_of_the_cluster() -> None:
    launched = {"fleet", "instance", "network-interface", "spot-instances-request", "volume"}
    made = {
        "LaunchWhatBearsTheClustersTag": launched,
        "MakeTemplatesThatBearTheClustersTag": {"launch-template"},
        "TagWhatIsLaunched": {*launched, "launch-template"},
    }
    for name, expected in made.items():
        statement = sid(name)
        listed_there = statement["Resource"]
        there = [listed_there] if isinstance(listed_there, dict) else listed_there
        assert {one["Fn::Sub"].rpartition(":")[2].removesuffix("/*") for one in there} == expected
        asked = statement["Condition"]["StringEquals"]
        assert asked[f"aws:RequestTag/{CLUSTER_TAG}"] == {"Ref": "ClusterName"}


@pytest.mark.parametrize(
    "action",
    [
        "ec2:TerminateInstances",
        "ec2:DeleteLaunchTemplate",
        "iam:AddRoleToInstanceProfile",
        "iam:DeleteInstanceProfile",
        "iam:RemoveRoleFromInstanceProfile",
    ],
)
def test_only_what_bears_the_tag_of_the_cluster_may_be_changed_or_ended(action: str) -> None:
    (statement,) = [one for one in controller_statements() if action in listed(one["Action"])]

    assert statement["Condition"]["StringEquals"][f"aws:ResourceTag/{CLUSTER_TAG}"] == {"Ref": "ClusterName"}


def test_an_instance_may_be_given_later_what_names_it_and_nothing_else() -> None:
    statement = sid("NameInstancesAfterTheirNodes")

    assert statement["Condition"] == {
        "StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": {"Ref": "ClusterName"}},
        "ForAllValues:StringEquals": {"aws:TagKeys": [tagging.NAME, labels.NODECLAIM]},
    }


def test_every_statement_allows_and_has_a_name_of_its_own() -> None:
    assert {one["Effect"] for one in controller_statements()} == {"Allow"}
    names = [one["Sid"] for one in controller_statements()]
    assert len(set(names)) == len(names)


def test_pods_of_this_cluster_alone_may_take_the_role_for_pod_identity() -> None:
    role = resources("AWS::IAM::Role")["ControllerPodRole"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Condition"]["ArnEquals"]["aws:SourceArn"]["Fn::Sub"].endswith(":cluster/${ClusterName}")
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_nodes_may_be_given_their_role_and_no_other() -> None:
    assert sid("GiveNodesTheirRole")["Resource"] == {"Fn::GetAtt": ["NodeRole", "Arn"]}
