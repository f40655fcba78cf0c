"""Subnets that run out of addresses, over the wire."""

from __future__ import annotations

from dataclasses import replace

from tests.real.ec2.clouds import LaidOut, cloud_of, request
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.resolved import Resolved, Subnet
from treenail.domain.model.node_classes import NodeClass

ZONE = "us-east-1a"


class TwoInAZone(LaidOut):
    """The laboratory, where a class has a small subnet beside the usual one, and takes it for the larger."""

    def __init__(self, lab: Lab, small: str) -> None:
        super().__init__(lab)
        self._small = Subnet(id=small, zone=ZONE, zone_id="use1-az0", free_addresses=9000)

    def resolve(self, node_class: NodeClass) -> Resolved:
        usual = super().resolve(node_class)
        return replace(usual, subnets=(self._small, *(one for one in usual.subnets if one.zone == ZONE)))


def small_subnet(lab: Lab) -> str:
    ec2 = lab.client("ec2")
    vpc = ec2.describe_subnets(SubnetIds=[lab.estate["subnets"][ZONE]])["Subnets"][0]["VpcId"]
    block = ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.99.0.0/24")
    assert block
    made = ec2.create_subnet(VpcId=vpc, CidrBlock="10.99.0.0/28", AvailabilityZone=ZONE)
    return str(made["Subnet"]["SubnetId"])


def test_a_full_subnet_is_told_apart_from_a_zone_that_is_full(lab: Lab) -> None:
    small = small_subnet(lab)
    cloud = cloud_of(lab, TwoInAZone(lab, small))

    first = cloud.launch(request("m5.large/a", call="one", count=13))
    second = cloud.launch(request("m5.large/a", call="two", count=2))

    assert 0 < len(first.instances) < 13
    assert {(e.code, e.elsewhere) for e in first.errors} == {("InsufficientFreeAddressesInSubnet", True)}
    assert len(second.instances) == 2
    there = lab.client("ec2").describe_instances(InstanceIds=[one.id for one in second.instances])
    assert {i["SubnetId"] for r in there["Reservations"] for i in r["Instances"]} == {
        lab.estate["subnets"][ZONE]
    }
