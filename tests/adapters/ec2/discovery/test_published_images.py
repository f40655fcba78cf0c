from __future__ import annotations

import pytest

from treenail.adapters.ec2.discovery.published_images import published
from treenail.adapters.ec2.resolved import Variant
from treenail.domain.model.node_classes import AmiFamily

EKS = "/aws/service/eks/optimized-ami/1.31"


@pytest.mark.parametrize(
    ("family", "version", "first"),
    [
        (AmiFamily.AL2023, "latest", f"{EKS}/amazon-linux-2023/x86_64/standard/recommended/image_id"),
        (
            AmiFamily.AL2023,
            "v20260101",
            f"{EKS}/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.31-v20260101/image_id",
        ),
        (AmiFamily.AL2, "latest", f"{EKS}/amazon-linux-2/recommended/image_id"),
        (AmiFamily.AL2, "v20260101", f"{EKS}/amazon-linux-2/amazon-eks-node-1.31-v20260101/image_id"),
        (AmiFamily.BOTTLEROCKET, "latest", "/aws/service/bottlerocket/aws-k8s-1.31/x86_64/latest/image_id"),
        (AmiFamily.BOTTLEROCKET, "v1.40.0", "/aws/service/bottlerocket/aws-k8s-1.31/x86_64/1.40.0/image_id"),
        (
            AmiFamily.UBUNTU,
            "latest",
            "/aws/service/canonical/ubuntu/eks/20.04/1.31/stable/current/amd64/hvm/ebs-gp2/ami-id",
        ),
        (
            AmiFamily.WINDOWS2022,
            "latest",
            "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.31/image_id",
        ),
    ],
)
def test_images_are_published_under_names_of_their_family_and_version(
    family: AmiFamily, version: str, first: str
) -> None:
    places = published(family, version, "1.31")

    assert places[0].parameter == first
    assert all(place.moves == (version == "latest") for place in places)


def test_al2_has_images_for_arm64_and_one_for_all_chips() -> None:
    places = published(AmiFamily.AL2, "v1", "1.31")

    assert [(place.parameter.removeprefix(EKS), place.variant) for place in places[1:]] == [
        ("/amazon-linux-2-arm64/amazon-eks-arm64-node-1.31-v1/image_id", Variant.STANDARD),
        ("/amazon-linux-2-gpu/amazon-eks-gpu-node-1.31-v1/image_id", Variant.NVIDIA),
        ("/amazon-linux-2-gpu/amazon-eks-gpu-node-1.31-v1/image_id", Variant.NEURON),
    ]


@pytest.mark.parametrize("family", [AmiFamily.CUSTOM, AmiFamily.WINDOWS2019, AmiFamily.UBUNTU])
def test_some_families_have_no_image_of_a_version(family: AmiFamily) -> None:
    assert published(family, "v20260101", "1.31") == ()
