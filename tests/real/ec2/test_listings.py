"""Instances found again and given back over the wire."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.real.ec2.clouds import cloud_of, request
from tests.real.lab.lab import Lab
from tests.real.lab.launching import states, template
from treenail.domain.model import labels
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, InstanceState


class Others:
    """Somebody else who launches instances."""

    def __init__(self, lab: Lab) -> None:
        self._ec2 = lab.client("ec2", max_pool_connections=8)
        self._specification = {"LaunchTemplateId": template(lab, "theirs"), "Version": "$Latest"}
        self._override = {"InstanceType": "m5.large", "SubnetId": lab.estate["subnets"]["us-east-1a"]}

    def launch(self, tags: dict[str, str]) -> str:
        answer: dict[str, Any] = self._ec2.create_fleet(
            Type="instant",
            LaunchTemplateConfigs=[
                {"LaunchTemplateSpecification": self._specification, "Overrides": [self._override]}
            ],
            TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "on-demand"},
            OnDemandOptions={"AllocationStrategy": "lowest-price"},
            TagSpecifications=[
                {"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
            ],
        )
        return str(answer["Instances"][0]["InstanceIds"][0])


def made(lab: Lab, action: str) -> int:
    return lab.calls().get(f"ec2:{action}", 0)


def test_instances_that_come_in_many_pages_are_all_listed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    # EC2's pages are of a thousand: more than the laboratory has time for.
    monkeypatch.setattr("treenail.adapters.ec2.cloud._PAGE", 5)
    others = Others(lab)
    bought = [others.launch({CLUSTER_TAG: "lab", LAUNCH_TAG: f"call-{n}"}) for n in range(11)]

    listed = cloud_of(lab).instances()

    assert [i.id for i in listed] == sorted(bought)
    assert made(lab, "DescribeInstances") == 3


def test_only_instances_of_ours_are_listed(lab: Lab) -> None:
    others, cloud = Others(lab), cloud_of(lab)
    (ours,) = cloud.launch(request()).instances
    karpenters = others.launch({CLUSTER_TAG: "lab", labels.NODEPOOL: "web"})
    others.launch({CLUSTER_TAG: "other", labels.NODEPOOL: "web", LAUNCH_TAG: "call-1"})
    others.launch({CLUSTER_TAG: "lab", "eks:kubernetes-node-pool-name": "managed"})
    others.launch({"owner": "them"})

    assert [i.id for i in cloud.instances()] == sorted((ours.id, karpenters))
    assert [i.id for i in cloud.launched_by("call-1")] == [ours.id]


def test_what_was_bought_before_this_process_began_is_described_by_its_node_class(lab: Lab) -> None:
    (bought,) = cloud_of(lab).launch(request()).instances
    later = cloud_of(lab)

    (unknown,) = later.launched_by("call-1")
    later.instance_types(request().node_class, request().kubelet)
    (known,) = later.launched_by("call-1")

    assert not unknown.capacity
    assert known.capacity == bought.capacity
    assert known.labels == bought.labels


def test_many_who_look_at_once_share_a_look(lab: Lab) -> None:
    cloud = cloud_of(lab)
    cloud.launch(request(count=3))
    with ThreadPoolExecutor(10) as threads:
        listed = list(threads.map(lambda _: cloud.instances(), range(50)))

    assert {len(one) for one in listed} == {3}
    assert made(lab, "DescribeInstances") <= 3


def test_whoever_terminates_does_not_see_it_alive_after(lab: Lab) -> None:
    cloud = cloud_of(lab)
    (bought,) = cloud.launch(request()).instances
    assert [i.live for i in cloud.instances()] == [True]

    cloud.terminate((bought.id,))

    assert not any(i.live for i in cloud.instances())


def test_thirty_given_back_at_once_are_few_calls(lab: Lab) -> None:
    cloud = cloud_of(lab)
    bought = cloud.launch(request(count=30)).instances
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(lambda one: cloud.terminate((one.id,)), bought))

    assert {i.state for i in cloud.instances()} <= {InstanceState.SHUTTING_DOWN}
    assert made(lab, "TerminateInstances") <= 10


def test_an_instance_that_is_not_there_keeps_no_other(lab: Lab) -> None:
    cloud = cloud_of(lab)
    (bought,) = cloud.launch(request()).instances

    cloud.terminate(("i-00000000000000000", bought.id, "i-00000000000000001"))

    assert set(states(lab, bought.id)) <= {"shutting-down", "terminated"}
    assert made(lab, "TerminateInstances") == 2


def test_a_lost_answer_to_a_termination_is_asked_for_again(lab: Lab) -> None:
    cloud = cloud_of(lab)
    (bought,) = cloud.launch(request()).instances
    lab.fault("ec2", "TerminateInstances", after=True, cut=True)

    cloud.terminate((bought.id,))

    assert made(lab, "TerminateInstances") == 2


def test_a_listing_that_fails_is_told_and_not_remembered(lab: Lab) -> None:
    cloud = cloud_of(lab)
    cloud.launch(request())
    with lab.outage(), pytest.raises(UnavailableError):
        cloud.instances()

    assert len(cloud.instances()) == 1


def test_new_instances_that_are_not_to_be_seen_yet_come_later(lab: Lab) -> None:
    lab.set_pace(hidden=0.5)
    cloud = cloud_of(lab)
    (bought,) = cloud.launch(request()).instances

    seen = [cloud.launched_by("call-1")]
    lab.set_pace(hidden=0.0)
    while not seen[-1]:
        seen.append(cloud.launched_by("call-1"))

    assert seen[0] == ()
    assert [i.id for i in seen[-1]] == [bought.id]
