"""Of what an account has at the start: network, roles, cluster, images, templates."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.real.lab.lab import Lab
from tests.real.lab.launching import template

WINDOWS = "/aws/service/ami-windows-latest/Windows_Server"
EKS = "/aws/service/eks/optimized-ami"


def test_a_subnet_in_each_of_three_zones_and_a_group_can_be_found_by_their_tags(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    by_tag = [{"Name": "tag:karpenter.sh/discovery", "Values": [lab.cluster]}]
    by_cluster = [{"Name": f"tag:kubernetes.io/cluster/{lab.cluster}", "Values": ["*"]}]

    subnets = ec2.describe_subnets(Filters=by_tag)["Subnets"]
    groups = ec2.describe_security_groups(Filters=by_tag)["SecurityGroups"]

    assert {s["AvailabilityZone"]: s["SubnetId"] for s in subnets} == lab.estate["subnets"]
    assert all(s["AvailableIpAddressCount"] == 8187 and s["AvailabilityZoneId"] for s in subnets)
    assert [g["GroupId"] for g in groups] == lab.estate["security_groups"]
    assert len(ec2.describe_subnets(Filters=by_cluster)["Subnets"]) == 6


def test_the_profile_of_the_nodes_has_their_role(lab: Lab) -> None:
    profile = lab.client("iam").get_instance_profile(InstanceProfileName=lab.estate["instance_profile"])

    assert [r["RoleName"] for r in profile["InstanceProfile"]["Roles"]] == [lab.estate["role"]]


def test_the_cluster_names_the_api_server_it_is_told_of(lab: Lab) -> None:
    url, ca = "https://127.0.0.1:6443", "Y2E="
    lab.set_cluster_endpoint(url, ca)

    cluster = lab.client("eks").describe_cluster(name=lab.cluster)["cluster"]

    assert (cluster["endpoint"], cluster["certificateAuthority"]["data"]) == (
        "https://127.0.0.1:6443",
        "Y2E=",
    )
    assert cluster["version"] == "1.34"
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        (
            f"{EKS}/1.34/amazon-linux-2023/x86_64/standard/recommended",
            "al2023-x86_64-standard-1.34-v20260803",
        ),
        (f"{EKS}/1.35/amazon-linux-2023/arm64/nvidia/recommended", "al2023-arm64-nvidia-1.35-v20260803"),
        (f"{EKS}/1.27/amazon-linux-2023/x86_64/neuron/recommended", "al2023-x86_64-neuron-1.27-v20260803"),
        (f"{EKS}/1.32/amazon-linux-2-gpu/recommended", "amazon-eks-gpu-node-1.32-v20260803"),
        (f"{EKS}/1.32/amazon-linux-2-arm64/recommended", "amazon-eks-arm64-node-1.32-v20260803"),
        (
            f"{EKS}/1.34/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.34-v20260511",
            "al2023-x86_64-standard-1.34-v20260511",
        ),
        ("/aws/service/bottlerocket/aws-k8s-1.34-nvidia/arm64/latest", "aws-k8s-1.34-nvidia-arm64-v1.54.1"),
        ("/aws/service/bottlerocket/aws-k8s-1.34/x86_64/1.51.0", "aws-k8s-1.34-x86_64-v1.51.0"),
        (
            f"{WINDOWS}-2019-English-Core-EKS_Optimized-1.34",
            "2019-English-Core-EKS_Optimized-1.34-2026.08.03",
        ),
        (
            f"{WINDOWS}-2025-English-Core-EKS_Optimized-1.35",
            "2025-English-Core-EKS_Optimized-1.35-2026.08.03",
        ),
    ],
)
def test_a_parameter_leads_to_an_image(lab: Lab, parameter: str, name: str) -> None:
    found = lab.client("ssm").get_parameter(Name=f"{parameter}/image_id")["Parameter"]["Value"]

    (image,) = lab.client("ec2").describe_images(ImageIds=[found])["Images"]
    assert name in image["Name"]
    assert image["Architecture"] == ("arm64" if "arm64" in parameter else "x86_64")
    assert image["CreationDate"].startswith("2026-0")
    assert image["DeprecationTime"].startswith("2028-0")


def test_there_is_no_image_of_amazon_linux_2_after_its_last_version(lab: Lab) -> None:
    with pytest.raises(ClientError, match="ParameterNotFound"):
        lab.client("ssm").get_parameter(Name=f"{EKS}/1.35/amazon-linux-2/recommended/image_id")


def test_newer_images_have_later_dates(lab: Lab) -> None:
    named = [{"Name": "name", "Values": ["amazon-eks-node-al2023-x86_64-standard-1.34-*"]}]

    images = lab.client("ec2").describe_images(Owners=["amazon"], Filters=named)["Images"]

    dates = {image["Name"].rpartition("-v")[2]: image["CreationDate"][:10] for image in images}
    assert dates == {"20260511": "2026-05-11", "20260803": "2026-08-03"}


# --- launch templates


def test_templates_that_are_missing_give_the_errors_of_ec2(lab: Lab) -> None:
    ec2, missing = lab.client("ec2"), "lt-0123456789abcdef0"

    for call, asked, code in (
        (ec2.describe_launch_templates, {"LaunchTemplateIds": [missing]}, "InvalidLaunchTemplateId.NotFound"),
        (ec2.delete_launch_template, {"LaunchTemplateId": missing}, "InvalidLaunchTemplateId.NotFound"),
        (
            ec2.describe_launch_templates,
            {"LaunchTemplateNames": ["none"]},
            "InvalidLaunchTemplateName.NotFoundException",
        ),
        (
            ec2.delete_launch_template,
            {"LaunchTemplateName": "none"},
            "InvalidLaunchTemplateName.NotFoundException",
        ),
    ):
        with pytest.raises(ClientError) as refused:
            call(**asked)
        assert refused.value.response["Error"]["Code"] == code


def test_many_templates_come_in_pages(lab: Lab) -> None:
    for number in range(20):
        template(lab, f"t{number:02}")
    ec2 = lab.client("ec2")

    first = ec2.describe_launch_templates(MaxResults=15)
    rest = ec2.describe_launch_templates(MaxResults=15, NextToken=first["NextToken"])

    names = [t["LaunchTemplateName"] for page in (first, rest) for t in page["LaunchTemplates"]]
    assert sorted(names) == [f"t{number:02}" for number in range(20)]
    assert len(ec2.describe_launch_templates()["LaunchTemplates"]) == 20


def test_a_template_is_made_once_for_a_token(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    asked = {
        "LaunchTemplateName": "one",
        "LaunchTemplateData": {"EbsOptimized": True},
        "ClientToken": "token",
    }

    made, again = ec2.create_launch_template(**asked), ec2.create_launch_template(**asked)
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        ec2.create_launch_template(**{**asked, "LaunchTemplateName": "two"})

    assert made["LaunchTemplate"]["LaunchTemplateId"] == again["LaunchTemplate"]["LaunchTemplateId"]
