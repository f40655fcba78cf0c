from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import node_class_tree, problem_of, read
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.domain.model.node_classes import (
    AmiFamily,
    BlockDevice,
    ConnectionTracking,
    Kubelet,
    MetadataOptions,
    NetworkInterface,
    NodeClass,
    NodeClassRef,
    SelectorTerm,
)
from treenail.domain.model.resources import Resources


def node_class(**spec: Any) -> NodeClass:
    return read(node_class_tree(**spec), NodeClass)


def template_tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "default"},
        "spec": {"subnetSelector": {"Name": "a"}, "securityGroupSelector": {"Name": "b"}, **spec},
    }


def template(**spec: Any) -> NodeClass:
    return read(template_tree(**spec), NodeClass)


def test_every_field_of_a_node_class_comes_through() -> None:
    own = node_class(
        subnetSelectorTerms=[{"tags": {"b": "2", "a": "1"}}, {"id": "subnet-1"}],
        securityGroupSelectorTerms=[{"name": "web"}],
        userData="#!/bin/sh",
        context="c-1",
        tags={"team": "a"},
        blockDeviceMappings=[
            {
                "deviceName": "/dev/xvda",
                "rootVolume": True,
                "ebs": {"volumeSize": "100Gi", "volumeType": "gp3", "iops": 3000, "kmsKeyID": "k"},
            }
        ],
        metadataOptions={"httpTokens": "optional"},
        kubelet={"maxPods": 42, "kubeReserved": {"cpu": "200m"}},
        instanceStorePolicy="RAID0",
        detailedMonitoring=True,
        associatePublicIPAddress=False,
    )

    assert own == NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        ami_family=AmiFamily.AL2023,
        ami_terms=(SelectorTerm(alias="al2023@latest"),),
        subnet_terms=(SelectorTerm(tags=(("a", "1"), ("b", "2"))), SelectorTerm(id="subnet-1")),
        security_group_terms=(SelectorTerm(name="web"),),
        role="node",
        user_data="#!/bin/sh",
        context="c-1",
        tags={"team": "a"},
        block_devices=(
            BlockDevice(
                device_name="/dev/xvda",
                root_volume=True,
                volume_size=100 * 2**30,
                volume_type="gp3",
                iops=3000,
                kms_key_id="k",
            ),
        ),
        metadata_options=MetadataOptions(http_tokens="optional", http_put_response_hop_limit=1),
        kubelet=Kubelet(max_pods=42, kube_reserved=Resources({"cpu": 200})),
        instance_store_raid0=True,
        detailed_monitoring=True,
        associate_public_ip=False,
    )


@pytest.mark.parametrize(
    ("alias", "family", "expected"),
    [
        ("al2@v20240101", None, AmiFamily.AL2),
        ("bottlerocket@latest", "Bottlerocket", AmiFamily.BOTTLEROCKET),
        ("windows2022@latest", None, AmiFamily.WINDOWS2022),
        ("al2023@latest", "Custom", AmiFamily.CUSTOM),
    ],
)
def test_an_alias_tells_the_family_of_images(alias: str, family: str | None, expected: AmiFamily) -> None:
    own = node_class(amiSelectorTerms=[{"alias": alias}], **({"amiFamily": family} if family else {}))

    assert own.ami_family is expected


def test_images_may_be_chosen_by_what_ec2_knows_of_them() -> None:
    own = node_class(
        amiFamily="AL2023",
        amiSelectorTerms=[{"name": "my-*", "owner": "self"}, {"ssmParameter": "/my/ami"}, {"id": "ami-1"}],
    )

    assert own.ami_terms == (
        SelectorTerm(name="my-*", owner="self"),
        SelectorTerm(ssm_parameter="/my/ami"),
        SelectorTerm(id="ami-1"),
    )


def test_one_term_with_id_and_tags_among_good_ones_passes_as_it_does_for_karpenter() -> None:
    mixed = {"id": "subnet-1", "tags": {"a": "1"}}

    assert len(node_class(subnetSelectorTerms=[mixed, {"id": "subnet-2"}]).subnet_terms) == 2
    assert problem_of(node_class_tree(subnetSelectorTerms=[mixed])).endswith(
        "cannot stand beside other fields"
    )


def test_options_of_network_and_cpu_come_through() -> None:
    own = node_class(
        ipPrefixCount=2,
        connectionTracking={"udpTimeout": 45},
        cpuOptions={"nestedVirtualization": "disabled"},
        associatePublicIPAddress=True,
        placementGroupSelector={"id": "pg-1"},
    )

    assert own.ip_prefix_count == 2
    assert own.connection_tracking == ConnectionTracking(udp_timeout=45)
    assert own.nested_virtualization == "disabled"
    assert own.associate_public_ip is True
    assert own.placement_group == SelectorTerm(id="pg-1")


def test_the_terms_of_capacity_reservations_come_through() -> None:
    own = node_class(
        capacityReservationSelectorTerms=[
            {"id": "cr-1"},
            {"tags": {"team": "*"}, "ownerID": "012345678901", "instanceMatchCriteria": "targeted"},
        ]
    )

    assert own.reservation_terms == (
        SelectorTerm(id="cr-1"),
        SelectorTerm(tags=(("team", "*"),), owner="012345678901", match_criteria="targeted"),
    )


def test_interfaces_come_through_in_order() -> None:
    own = node_class(
        networkInterfaces=[
            {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"},
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        ]
    )

    assert own.network_interfaces == (NetworkInterface(0, 0), NetworkInterface(1, 1, efa_only=True))


def test_a_node_template_is_a_node_class_of_amazon_linux_with_two_hops() -> None:
    own = template()

    assert own.ref == NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
    assert own.ami_family is AmiFamily.AL2
    assert own.metadata_options.http_put_response_hop_limit == 2


def test_values_listed_together_are_alternatives_in_every_combination() -> None:
    own = template(subnetSelector={"Name": "a, b", "env": "x,y"})

    assert own.subnet_terms == tuple(
        SelectorTerm(tags=(("Name", name), ("env", env))) for name in ("a", "b") for env in ("x", "y")
    )


def test_ids_of_subnets_and_groups_are_alternatives() -> None:
    own = template(
        subnetSelector={"aws-ids": "subnet-1,subnet-2"}, securityGroupSelector={"aws::ids": "sg-1"}
    )

    assert own.subnet_terms == (SelectorTerm(id="subnet-1"), SelectorTerm(id="subnet-2"))
    assert own.security_group_terms == (SelectorTerm(id="sg-1"),)


def test_images_of_a_template_combine_owners_names_and_tags() -> None:
    own = template(
        amiFamily="Custom", amiSelector={"aws::owners": "self,amazon", "aws::name": "my-ami", "env": "prod"}
    )

    assert own.ami_terms == tuple(
        SelectorTerm(owner=owner, name="my-ami", tags=(("env", "prod"),)) for owner in ("self", "amazon")
    )


def test_a_launch_template_stands_for_what_it_says_itself() -> None:
    tree = template_tree(launchTemplate="mine")
    del tree["spec"]["securityGroupSelector"]

    own = read(tree, NodeClass)

    assert own.launch_template == "mine"
    assert own.security_group_terms == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"subnetSelector": {}}, "subnetSelector: is missing"),
        (
            {"securityGroupSelector": {}},
            "securityGroupSelector: is missing: it is needed without launchTemplate",
        ),
        ({"launchTemplate": "x"}, "securityGroupSelector: cannot stand beside launchTemplate, which says it"),
        (
            {"launchTemplate": "x", "securityGroupSelector": {}, "userData": "x"},
            "userData: cannot stand beside launchTemplate, which says it",
        ),
        ({"amiFamily": "Custom"}, "amiSelector: is missing: amiFamily Custom needs it"),
        ({"subnetSelector": {"aws-ids": "sg-1"}}, 'subnetSelector: "sg-1" is not an id (subnet-...)'),
        (
            {"subnetSelector": {"aws-ids": "subnet-1", "a": "b"}},
            "subnetSelector: aws-ids cannot stand beside other keys",
        ),
        ({"subnetSelector": {"a": "b,"}}, "subnetSelector.a: neither a key nor a value may be empty"),
        (
            {"subnetSelector": {str(n): "a,b" for n in range(10)}},
            "subnetSelector: lists more than 1000 combinations of values",
        ),
        (
            {"tags": {"karpenter.sh/managed-by": "x"}},
            'tags: "karpenter.sh/managed-by" is restricted: instances get it by themselves',
        ),
        ({"blockDeviceMappings": [{"deviceName": "a"}]}, "blockDeviceMappings[0].ebs: is missing"),
        ({"role": "x"}, "role: is not a known field"),
    ],
)
def test_a_node_template_whose_fields_do_not_go_together_is_refused(
    spec: dict[str, Any], expected: str
) -> None:
    assert problem_of(template_tree(**spec)) == f"AWSNodeTemplate default: spec.{expected}"


def test_a_provider_within_a_provisioner_knows_fewer_fields() -> None:
    text = """
        {apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: p}, spec: {provider: {
          subnetSelector: {a: b}, securityGroupSelector: {a: b}, userData: x}}}"""

    decoded_leniently = decode_all(parse_manifests(text.encode(), "x.yaml"), lenient=True)

    (error,) = decoded_leniently.set_aside
    assert str(error) == "x.yaml: Provisioner p: spec.provider.userData: is not a known field"
