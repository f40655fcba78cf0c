from __future__ import annotations

import base64
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.ec2.launch.orders import FACTS, node_class, request
from treenail.adapters.ec2.launch.template import Build, Template, template_of
from treenail.domain.model import labels
from treenail.domain.model.fleets import LAUNCH_TAG, FleetRequest
from treenail.domain.model.node_classes import MetadataOptions
from treenail.domain.model.taints import Effect, Taint

ROOT = Path(__file__).parents[4]


def template(of: FleetRequest | None = None, **more: Any) -> Template:
    given = {
        "security_groups": ("sg-1", "sg-2"),
        "instance_profile": "nodes",
        "build": Build(max_pods=29),
        **more,
    }
    return template_of(of or request(), FACTS, **given)


def classed(**more: Any) -> FleetRequest:
    return request(node_class=node_class(**more))


def test_a_template_says_all_that_its_instances_have_in_common() -> None:
    data = template().data

    assert data["IamInstanceProfile"] == {"Name": "nodes"}
    assert data["Monitoring"] == {"Enabled": False}
    assert data["NetworkInterfaces"] == [{"DeviceIndex": 0, "Groups": ["sg-1", "sg-2"]}]
    assert data["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "HttpPutResponseHopLimit": 1,
        "HttpTokens": "required",
        "InstanceMetadataTags": "disabled",
    }
    assert b"apiServerEndpoint" in base64.b64decode(data["UserData"])
    assert "ImageId" not in data


@pytest.mark.parametrize(("dedicated", "placement"), [(False, None), (True, {"Tenancy": "dedicated"})])
def test_instances_share_hardware_unless_claims_take_none_that_is_shared(
    *, dedicated: bool, placement: object
) -> None:
    assert template(request(dedicated=dedicated)).data.get("Placement") == placement


def test_instances_are_in_the_group_of_their_class() -> None:
    assert template(placement_group="pg-1").data["Placement"] == {"GroupId": "pg-1"}
    own = template(request(dedicated=True), placement_group="pg-1")
    assert own.data["Placement"] == {"Tenancy": "dedicated", "GroupId": "pg-1"}
    asked = request()
    parted = replace(asked, overrides=tuple(replace(one, partition=3) for one in asked.overrides))
    assert template(parted, placement_group="pg-1").data["Placement"] == {
        "GroupId": "pg-1",
        "PartitionNumber": 3,
    }


def test_ec2_is_told_of_no_reservations_where_none_are_to_be_used() -> None:
    assert template().data["CapacityReservationSpecification"] == {"CapacityReservationPreference": "none"}
    assert "CapacityReservationSpecification" not in template(reserved=False).data


@pytest.mark.parametrize("word", ["enabled", "disabled"])
def test_virtual_machines_within_are_as_the_class_has_them(word: str) -> None:
    assert template(classed(nested_virtualization=word)).data["CpuOptions"] == {"NestedVirtualization": word}
    assert "CpuOptions" not in template().data


def test_what_the_node_class_sets_is_in_it() -> None:
    metadata = MetadataOptions(
        http_endpoint="disabled", http_put_response_hop_limit=2, http_tokens="optional"
    )
    data = template(
        classed(detailed_monitoring=True, associate_public_ip=False, metadata_options=metadata)
    ).data

    assert data["Monitoring"] == {"Enabled": True}
    assert data["NetworkInterfaces"][0]["AssociatePublicIpAddress"] is False
    assert data["MetadataOptions"]["HttpEndpoint"] == "disabled"
    assert data["MetadataOptions"]["HttpPutResponseHopLimit"] == 2
    assert data["MetadataOptions"]["HttpTokens"] == "optional"


def test_what_is_made_with_an_instance_bears_the_tags_of_its_pool_but_not_of_the_call() -> None:
    made = template()

    (interfaces,) = made.data["TagSpecifications"]
    assert interfaces["ResourceType"] == "network-interface"
    tags = {tag["Key"]: tag["Value"] for tag in interfaces["Tags"]}
    assert tags == made.tags
    assert tags[labels.NODEPOOL] == "web"
    assert tags["karpenter.k8s.aws/ec2nodeclass"] == "default"
    assert LAUNCH_TAG not in tags


def test_spot_has_requests_to_tag_too() -> None:
    spot = template(request(capacity_type=labels.SPOT))

    kinds = [one["ResourceType"] for one in spot.data["TagSpecifications"]]
    assert kinds == ["network-interface", "spot-instances-request"]


def test_calls_that_differ_in_what_templates_do_not_say_share_one() -> None:
    other_call = request("c5.large/us-east-1b", token="call-2", count=7)  # noqa: S106
    other_call = replace(other_call, tags={**other_call.tags, LAUNCH_TAG: "call-2"})

    assert template(other_call) == template()


def test_the_order_in_which_tags_and_labels_come_does_not_matter() -> None:
    plain = request(labels={"a": "1", "b": "2"})
    turned = request(labels={"b": "2", "a": "1"}, tags=dict(sorted(plain.tags.items(), reverse=True)))

    assert list(turned.tags) != list(plain.tags)
    assert template(turned).name == template(plain).name


@pytest.mark.parametrize(
    "other",
    [
        template(build=Build(max_pods=58)),
        template(build=Build(max_pods=29, efa=2)),
        template(request(dedicated=True)),
        template(placement_group="pg-1"),
        template(security_groups=("sg-1",)),
        template(instance_profile="others"),
        template(request(labels={labels.NODEPOOL: "batch"})),
        template(request(taints=(Taint("a", Effect.NO_SCHEDULE),))),
        template(request(capacity_type=labels.SPOT)),
        template(classed(user_data="echo hello")),
        template(classed(tags={"a": "b"}, detailed_monitoring=True)),
    ],
)
def test_what_differs_in_content_differs_in_name(other: Template) -> None:
    assert other.name != template().name


def test_a_name_is_one_that_ec2_takes_and_that_is_the_same_in_every_process() -> None:
    name = template().name

    assert name.startswith("treenail.sh/")
    assert name.removeprefix("treenail.sh/").isdigit()
    code = "from tests.adapters.ec2.launch.test_template import template; print(template().name)"
    env = {"PYTHONHASHSEED": "1", "PYTHONPATH": f"{ROOT / '.dev'}:{ROOT}"}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)  # noqa: S603
    assert done.stdout.decode().strip() == name
