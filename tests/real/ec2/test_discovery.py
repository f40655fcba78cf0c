from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.real.ec2.accounts import Account, node_class
from tests.real.lab.lab import Lab
from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.adapters.ec2.discovery.prices import OnDemand, Spot, shipped_prices
from treenail.adapters.ec2.resolved import Variant
from treenail.domain.model.errors import (
    InvalidError,
    NodeClassNotReadyError,
    TooManyRequestsError,
    UnavailableError,
)
from treenail.domain.model.node_classes import AmiFamily, NodeClass, SelectorTerm

WALKTHROUGH = Path(__file__).parents[3] / "examples" / "001-inflate.yaml"
LATEST = SelectorTerm(alias="al2023@latest")
NOWHERE = SelectorTerm(tags=(("no", "such"),))


def test_a_class_means_the_network_and_the_images_of_its_cluster(lab: Lab) -> None:
    found = Account(lab).catalogue.resolve(node_class(LATEST))

    assert {one.zone: one.id for one in found.subnets} == lab.estate["subnets"]
    assert all(one.free_addresses == 8187 for one in found.subnets)
    assert [zone for zone, _ in found.zones] == sorted(lab.estate["subnets"])
    assert all(zone_id.startswith("use1-az") for _, zone_id in found.zones)
    assert list(found.security_groups) == lab.estate["security_groups"]
    assert {(one.arch, one.variant) for one in found.images} == {
        ("amd64", Variant.STANDARD),
        ("amd64", Variant.NVIDIA),
        ("amd64", Variant.NEURON),
        ("arm64", Variant.STANDARD),
        ("arm64", Variant.NVIDIA),
    }
    assert all(one.name.endswith("-1.34-v20260803") for one in found.images)


def test_an_alias_with_a_version_means_images_of_that_version(lab: Lab) -> None:
    found = Account(lab).catalogue.resolve(node_class(SelectorTerm(alias="al2023@v20260511")))

    assert len(found.images) == 5
    assert all(one.name.endswith("-1.34-v20260511") for one in found.images)


@pytest.mark.parametrize(
    ("term", "name"),
    [
        (
            SelectorTerm(name="amazon-eks-node-al2023-x86_64-standard-1.33-*", owner="602401143452"),
            "1.33-v20260803",
        ),
        (
            SelectorTerm(
                ssm_parameter="/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id"
            ),
            "1.33-v20260803",
        ),
    ],
)
def test_images_are_found_by_name_and_owner_and_by_parameter(lab: Lab, term: SelectorTerm, name: str) -> None:
    (image,) = Account(lab).catalogue.resolve(node_class(term)).images

    assert image.name.endswith(name)
    assert (image.arch, image.variant) == ("amd64", Variant.ANY)


def test_an_image_of_ones_own_is_found_by_its_tags_and_its_id(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    (arm,) = ec2.describe_images(
        Filters=[{"Name": "name", "Values": ["amazon-eks-node-al2023-arm64-standard-1.34-v20260803"]}]
    )["Images"]
    own = ec2.copy_image(Name="golden", SourceImageId=arm["ImageId"], SourceRegion=lab.region)["ImageId"]
    ec2.create_tags(Resources=[own], Tags=[{"Key": "team", "Value": "a"}])
    account = Account(lab)

    for term in (SelectorTerm(tags=(("team", "a"),)), SelectorTerm(id=own)):
        assert [one.id for one in account.catalogue.resolve(node_class(term)).images] == [own]


def walkthrough() -> NodeClass:
    (found,) = decode_all(read_manifests([WALKTHROUGH])).node_classes
    return found


def test_the_first_walkthrough_finds_its_network_by_any_value_of_a_tag_and_images_of_al2(lab: Lab) -> None:
    tagged = [*lab.estate["subnets"].values(), *lab.estate["security_groups"]]
    tags = [{"Key": "kubernetes.io/cluster/demo", "Value": "owned"}]
    lab.client("ec2").create_tags(Resources=tagged, Tags=tags)

    found = Account(lab, kubernetes="v1.32.1").catalogue.resolve(walkthrough())

    assert sorted(one.id for one in found.subnets) == sorted(lab.estate["subnets"].values())
    assert list(found.security_groups) == lab.estate["security_groups"]
    assert {(one.name, one.variant) for one in found.images} == {
        ("amazon-eks-node-1.32-v20260803", Variant.STANDARD),
        ("amazon-eks-arm64-node-1.32-v20260803", Variant.STANDARD),
        ("amazon-eks-gpu-node-1.32-v20260803", Variant.NVIDIA),
        ("amazon-eks-gpu-node-1.32-v20260803", Variant.NEURON),
    }


@pytest.mark.parametrize(
    ("of", "selector", "says"),
    [
        (node_class(LATEST, subnets=(NOWHERE,)), "subnets", "(tag no such)"),
        (
            node_class(LATEST, subnets=(SelectorTerm(id="subnet-00000000"),)),
            "subnets",
            "(id subnet-00000000)",
        ),
        (node_class(LATEST, groups=(SelectorTerm(name="none"),)), "security groups", "(name none)"),
        (
            node_class(SelectorTerm(alias="al2023@v19990101")),
            "images",
            "(alias al2023@v19990101, for Kubernetes 1.34)",
        ),
        (node_class(SelectorTerm(id="ami-00000000")), "images", "(id ami-00000000)"),
    ],
)
def test_a_selector_that_finds_nothing_is_named(lab: Lab, of: NodeClass, selector: str, says: str) -> None:
    with pytest.raises(NodeClassNotReadyError) as raised:
        Account(lab).catalogue.resolve(of)

    assert raised.value.selector == selector
    assert str(raised.value) == f"EC2NodeClass/default: its selector of {selector} finds nothing {says}"


def test_a_family_that_ended_is_named_with_the_version_there_is_none_for(lab: Lab) -> None:
    account = Account(lab, kubernetes="v1.35.0")

    with pytest.raises(NodeClassNotReadyError, match=r"\(alias al2@latest, for Kubernetes 1\.35\)"):
        account.catalogue.resolve(node_class(family=AmiFamily.AL2))


def test_what_was_not_there_is_found_soon_after_it_is(lab: Lab) -> None:
    account = Account(lab)
    of = node_class(LATEST, subnets=(NOWHERE,))
    with pytest.raises(NodeClassNotReadyError):
        account.catalogue.resolve(of)
    (subnet, *_) = lab.estate["subnets"].values()
    lab.client("ec2").create_tags(Resources=[subnet], Tags=[{"Key": "no", "Value": "such"}])
    account.time.seconds += 10

    assert [one.id for one in account.catalogue.resolve(of).subnets] == [subnet]


def test_calls_that_are_throttled_are_made_again(lab: Lab) -> None:
    lab.throttle("DescribeSubnets", rate=0.001, burst=1)
    account = Account(lab)
    account.catalogue.resolve(node_class(LATEST))
    with pytest.raises(TooManyRequestsError):
        account.catalogue.resolve(node_class(LATEST, subnets=(NOWHERE,)))

    assert lab.calls()["ec2:DescribeSubnets"] == 5
    assert len([seconds for seconds in account.time.slept if seconds > 0]) >= 3


def test_while_aws_is_away_what_is_known_stays_in_use(lab: Lab) -> None:
    account = Account(lab)
    first = account.catalogue.resolve(node_class(LATEST))
    account.time.seconds += 301
    with lab.outage():
        meanwhile = account.catalogue.resolve(node_class(LATEST))
        with pytest.raises(UnavailableError):
            Account(lab).catalogue.resolve(node_class(LATEST))
    account.time.seconds += 61

    assert meanwhile == first == account.catalogue.resolve(node_class(LATEST))
    said = {message for message, _ in account.lines if message.startswith("cannot")}
    assert sorted(said) == [
        f"cannot look up {what}, going on with what is known"
        for what in ("images", "security groups", "subnets")
    ]


def test_threads_that_ask_at_once_share_the_calls(lab: Lab) -> None:
    account = Account(lab)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(account.catalogue.resolve, [node_class(LATEST)] * 8))

    assert all(one == found[0] for one in found)
    assert lab.calls() == {
        "ec2:DescribeSubnets": 1,
        "ec2:DescribeSecurityGroups": 1,
        "ec2:DescribeImages": 1,
        "ssm:GetParameter": 5,
    }


def test_without_permission_or_price_list_shipped_prices_stand_in(lab: Lab) -> None:
    lab.set_on_demand_price("m5.large", 0.5)
    lab.fault("pricing", "GetProducts", code="AccessDeniedException", status=400, message="not allowed")
    account = Account(lab)
    on_demand = OnDemand(account.aws, account.caches)
    found = [on_demand.read()["m5.large"]]
    account.time.seconds += 601
    found.append(on_demand.read()["m5.large"])

    assert found == [shipped_prices("us-east-1")["m5.large"], 0.5]
    assert "AccessDeniedException" in str(account.lines[0][1]["error"])


def test_spot_prices_of_all_pages_are_read(lab: Lab) -> None:
    lab.set_spot_price("m5.large", "us-east-1a", 0.0123)
    account = Account(lab)

    prices = Spot(account.aws, account.caches).read()

    assert prices["m5.large", "us-east-1a"] == 0.0123
    assert prices["c5.xlarge", "us-east-1c"] == lab.spot_price("c5.xlarge", "us-east-1c")
    assert len(prices) > 6000


def test_eks_tells_what_nodes_must_know(lab: Lab) -> None:
    lab.set_cluster_endpoint("https://127.0.0.1:6443", "Q0E=")

    facts = Account(lab).cluster.facts()

    assert (facts.name, facts.endpoint, facts.certificate_authority) == (
        "lab",
        "https://127.0.0.1:6443",
        "Q0E=",
    )
    assert (facts.version, facts.service_cidr) == ("1.34", "172.20.0.0/16")


def test_a_cluster_eks_does_not_know_needs_settings(lab: Lab) -> None:
    lab.client("eks").delete_cluster(name="lab")

    with pytest.raises(InvalidError, match="EKS does not tell"):
        Account(lab).cluster.facts()
