"""The account of a snapshot, read over the wire."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.real.ec2.test_capacity_reservations import reserved
from tests.real.lab.lab import Lab
from tests.real.lab.launching import ARM, image
from tests.scenarios.manifests import node_class
from treenail.adapters.api.account import Account
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.snapshot_account import AccountWritten, write_account
from treenail.adapters.cli.snapshot_cluster import ClusterWritten

DISCOVERY = [{"tags": {"karpenter.sh/discovery": "lab"}}]


@pytest.fixture(autouse=True)
def _credentials(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lab.environment.items():
        monkeypatch.setenv(name, value)


def cluster(*images: dict[str, Any]) -> ClusterWritten:
    own = node_class()
    own["spec"] |= {
        "subnetSelectorTerms": DISCOVERY,
        "securityGroupSelectorTerms": DISCOVERY,
        "amiFamily": "AL2023",
        "amiSelectorTerms": list(images) or [{"alias": "al2023@latest"}],
    }
    return ClusterWritten("lab", "1.34", (own,), (), 0)


def account(written: AccountWritten) -> Account:
    """Return the account as the commands read it from the file."""
    text = yaml.safe_dump(written.document).encode()
    [found] = decode_all(parse_manifests(text, "snapshot.yaml")).accounts
    return found


def test_an_account_is_written_as_it_is_and_can_be_read_again(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    own = image(lab, ARM)
    [described] = ec2.describe_images(ImageIds=[own])["Images"]
    kept = reserved(lab, instances=3)
    reserved(lab, InstancePlatform="Windows")
    reserved(lab, Tenancy="dedicated")
    ec2.create_placement_group(GroupName="apart", Strategy="spread")

    written = write_account(cluster({"name": described["Name"]}), "")

    found = account(written)
    assert written.not_read == ()
    assert found.region == lab.region
    assert {one.id for one in found.subnets or ()} >= set(lab.estate["subnets"].values())
    assert {one.id for one in found.security_groups or ()} >= set(lab.estate["security_groups"])
    assert [(one.id, one.arch, one.name) for one in found.images or ()] == [(own, "arm64", described["Name"])]
    assert [(one.id, one.instances) for one in found.capacity_reservations] == [(kept, 3)]
    assert [(one.name, one.spread) for one in found.placement_groups or ()] == [("apart", True)]
    assert found.on_demand_prices["m5.large"] == lab.on_demand_price("m5.large")
    assert found.spot_prices["m5.large", "us-east-1a"] == lab.spot_price("m5.large", "us-east-1a")


def test_what_an_account_has_none_of_is_written_as_such(lab: Lab) -> None:
    found = account(write_account(cluster(), lab.region))

    assert (found.images, found.placement_groups, found.capacity_reservations) == (None, (), ())


def test_subnets_of_two_networks_may_have_the_same_addresses(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    other = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.create_subnet(VpcId=other, CidrBlock="10.0.0.0/19", AvailabilityZone="us-east-1a")

    found = account(write_account(ClusterWritten("lab", "1.34", (), (), 0), lab.region))

    assert len({one.cidr for one in found.subnets or ()}) == len(found.subnets or ())


def test_a_part_that_may_not_be_read_is_named_and_the_others_are_written(lab: Lab) -> None:
    for action in ("DescribeCapacityReservations", "DescribeSubnets"):
        lab.fault("ec2", action, code="UnauthorizedOperation", status=403, times=None)

    written = write_account(cluster(), lab.region)

    assert [one.partition(":")[0] for one in written.not_read] == ["subnets", "capacity reservations"]
    assert account(written).subnets is None


def test_a_region_that_is_none_is_bad_input() -> None:
    with pytest.raises(BadInputError, match="--region not a region: is no name of a region"):
        write_account(cluster(), "not a region")
