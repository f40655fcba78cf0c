from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.adapters.ec2.discovery.account import Account, node_class
from treenail.adapters.ec2.discovery.capacity_reservations import CapacityReservations
from treenail.adapters.ec2.discovery.images import Images
from treenail.adapters.ec2.discovery.node_class_status import image_meant, node_class_status_of
from treenail.adapters.ec2.discovery.placement_groups import PlacementGroups
from treenail.adapters.ec2.discovery.subnets_and_security_groups import SecurityGroups, Subnets
from treenail.adapters.ec2.resolved import Image, Variant
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.model.nodes import Status

GPU = "karpenter.k8s.aws/instance-gpu-count"
CHIP = "karpenter.k8s.aws/instance-accelerator-count"
OWN = SelectorTerm(id="ami-1")
SUBNET = {
    "SubnetId": "subnet-1",
    "AvailabilityZone": "us-east-1a",
    "AvailabilityZoneId": "use1-az1",
    "AvailableIpAddressCount": 10,
}


def stands(account: Account, of: NodeClass) -> NodeClassStatus:
    return node_class_status_of(
        of,
        subnets=Subnets(account.aws, account.caches),
        groups=SecurityGroups(account.aws, account.caches),
        images=Images(account.aws, account.caches, lambda: "1.34"),
        reservations=CapacityReservations(account.aws, account.caches),
        placement_groups=PlacementGroups(account.aws, account.caches),
    )


@pytest.mark.parametrize(
    ("variant", "needs"),
    [
        (Variant.ANY, [("kubernetes.io/arch", "In")]),
        (Variant.STANDARD, [(CHIP, "DoesNotExist"), (GPU, "DoesNotExist"), ("kubernetes.io/arch", "In")]),
        (Variant.NVIDIA, [(GPU, "Exists"), ("kubernetes.io/arch", "In")]),
        (Variant.NEURON, [(CHIP, "Exists"), ("kubernetes.io/arch", "In")]),
    ],
)
def test_an_image_says_what_a_node_must_be_like_for_it(
    variant: Variant, needs: list[tuple[str, str]]
) -> None:
    made = datetime(2026, 1, 1, tzinfo=UTC)
    image = Image(id="ami-1", arch="arm64", name="x", created_at=made, deprecated=True, variant=variant)

    meant = image_meant(image)

    assert (meant.id, meant.name, meant.deprecated) == ("ami-1", "x", True)
    assert [(one.key, one.operator.value) for one in meant.requirements] == needs
    assert meant.requirements[-1].single == "arm64"


def test_each_part_of_a_class_stands_by_itself(account: Account) -> None:
    account.answers("ec2.describe_subnets", {"Subnets": [SUBNET]})
    account.answers("ec2.describe_images", {"Images": []})
    account.refuses("ec2.describe_security_groups", "UnauthorizedOperation", status=403)

    status = stands(account, node_class(images=(OWN,)))

    assert {c.type: (c.status, c.reason) for c in status.conditions} == {
        "AMIsReady": (Status.FALSE, "AMINotFound"),
        "SubnetsReady": (Status.TRUE, "SubnetsReady"),
        "SecurityGroupsReady": (Status.UNKNOWN, "LookupFailed"),
    }
    (subnet,) = status.meaning.subnets
    assert (subnet.id, subnet.zone, subnet.zone_id) == ("subnet-1", "us-east-1a", "use1-az1")
    assert status.meaning.security_groups == ()


def test_of_a_class_with_a_template_of_its_own_the_subnets_alone_are_looked_up(account: Account) -> None:
    account.answers("ec2.describe_subnets", {"Subnets": [SUBNET]})

    status = stands(account, node_class(launch_template="mine"))

    assert [c.type for c in status.conditions] == ["SubnetsReady"]
    assert len(status.meaning.subnets) == 1
