"""Names under which AWS publishes the images of each family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from treenail.adapters.ec2.resolved import Variant
from treenail.domain.model.node_classes import AmiFamily

LATEST: Final = "latest"
_EKS: Final = "/aws/service/eks/optimized-ami"

# By the second number of the version of Kubernetes.
_LAST_AL2: Final = 32
_FIRST_WINDOWS2025: Final = 35

_Parameters: TypeAlias = Iterator[tuple[str, Variant]]


@dataclass(frozen=True, slots=True)
class PublishedImage:
    """An SSM parameter that holds an image's id, and which chips that image is for.

    `moves` tells that AWS puts another image there from time to time.
    """

    parameter: str
    variant: Variant
    moves: bool


def published(family: AmiFamily, version: str, kubernetes: str) -> tuple[PublishedImage, ...]:
    """Return where the images of a family are published: none where AWS publishes none that way.

    `version` is that of the image ("latest", "v20260101"), `kubernetes` as "1.34".
    """
    name = _PARAMETERS.get(family)
    if name is None:
        return ()
    return tuple(
        PublishedImage(path, variant, version == LATEST) for path, variant in name(version, kubernetes)
    )


def unpublished(family: AmiFamily, kubernetes: str) -> str:
    """Return why AWS publishes no images of the family for a version ("1.34"), "" where it does."""
    minor = int(kubernetes.partition(".")[2])
    if family is AmiFamily.AL2 and minor > _LAST_AL2:
        return f"there is no AL2 for Kubernetes {kubernetes}, the last is for 1.{_LAST_AL2}"
    if family is AmiFamily.WINDOWS2025 and minor < _FIRST_WINDOWS2025:
        return f"there is no Windows2025 for Kubernetes {kubernetes}, the first is for 1.{_FIRST_WINDOWS2025}"
    return ""


def _al2023(version: str, kubernetes: str) -> _Parameters:
    variants = {
        "x86_64": (Variant.STANDARD, Variant.NVIDIA, Variant.NEURON),
        "arm64": (Variant.STANDARD, Variant.NVIDIA),
    }
    for arch, offered in variants.items():
        for variant in offered:
            image = f"amazon-eks-node-al2023-{arch}-{variant}-{kubernetes}-{version}"
            release = "recommended" if version == LATEST else image
            yield f"{_EKS}/{kubernetes}/amazon-linux-2023/{arch}/{variant}/{release}/image_id", variant


def _al2(version: str, kubernetes: str) -> _Parameters:
    # One image has the drivers of all chips.
    offered = (
        ("", Variant.STANDARD),
        ("arm64-", Variant.STANDARD),
        ("gpu-", Variant.NVIDIA),
        ("gpu-", Variant.NEURON),
    )
    for kind, variant in offered:
        image = f"amazon-eks-{kind}node-{kubernetes}-{version}"
        release = "recommended" if version == LATEST else image
        folder = f"amazon-linux-2-{kind}".removesuffix("-")
        yield f"{_EKS}/{kubernetes}/{folder}/{release}/image_id", variant


def _bottlerocket(version: str, kubernetes: str) -> _Parameters:
    offered = (
        ("", "x86_64", Variant.STANDARD),
        ("", "x86_64", Variant.NEURON),
        ("", "arm64", Variant.STANDARD),
        ("-nvidia", "x86_64", Variant.NVIDIA),
        ("-nvidia", "arm64", Variant.NVIDIA),
    )
    release = version.removeprefix("v")
    for kind, arch, variant in offered:
        yield f"/aws/service/bottlerocket/aws-k8s-{kubernetes}{kind}/{arch}/{release}/image_id", variant


def _ubuntu(version: str, kubernetes: str) -> _Parameters:
    if version == LATEST:
        for arch in ("amd64", "arm64"):
            path = f"/aws/service/canonical/ubuntu/eks/20.04/{kubernetes}/stable/current/{arch}"
            yield f"{path}/hvm/ebs-gp2/ami-id", Variant.ANY


def _windows(year: int) -> Callable[[str, str], _Parameters]:
    def parameters(version: str, kubernetes: str) -> _Parameters:
        if version == LATEST:
            image = f"Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}"
            yield f"/aws/service/ami-windows-latest/{image}/image_id", Variant.ANY

    return parameters


_PARAMETERS: Final[Mapping[AmiFamily, Callable[[str, str], _Parameters]]] = MappingProxyType(
    {
        AmiFamily.AL2: _al2,
        AmiFamily.AL2023: _al2023,
        AmiFamily.BOTTLEROCKET: _bottlerocket,
        AmiFamily.UBUNTU: _ubuntu,
        AmiFamily.WINDOWS2019: _windows(2019),
        AmiFamily.WINDOWS2022: _windows(2022),
        AmiFamily.WINDOWS2025: _windows(2025),
    }
)
