"""AMI families: the differences that change how much a node can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from treenail.adapters.ec2.records import TypeRecord
from treenail.domain.model.node_classes import AmiFamily

_GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTraits:
    """Properties of the nodes of an image family.

    `pods_device` is the block device that pods write to, None where we cannot know it; `volume_size` (bytes)
    is its default size. The flags tell whether the number of pods follows from the network interfaces,
    whether the memory reserved for the kubelet does too (whatever number of pods is set), and whether the
    kubelet is given `podsPerCore`.
    """

    pods_device: str | None
    volume_size: int = 20 * _GIB
    pods_by_interfaces: bool = True
    reserved_by_interfaces: bool = True
    pods_per_core: bool = True
    windows_build: str | None = None


def _windows(build: str) -> FamilyTraits:
    return FamilyTraits(
        pods_device="/dev/sda1",
        volume_size=50 * _GIB,
        pods_by_interfaces=False,
        reserved_by_interfaces=False,
        windows_build=build,
    )


TRAITS: Final[Mapping[AmiFamily, FamilyTraits]] = MappingProxyType(
    {
        AmiFamily.AL2: FamilyTraits(pods_device="/dev/xvda"),
        AmiFamily.AL2023: FamilyTraits(pods_device="/dev/xvda"),
        AmiFamily.BOTTLEROCKET: FamilyTraits(
            pods_device="/dev/xvdb", reserved_by_interfaces=False, pods_per_core=False
        ),
        AmiFamily.UBUNTU: FamilyTraits(pods_device="/dev/sda1"),
        AmiFamily.WINDOWS2019: _windows("10.0.17763"),
        AmiFamily.WINDOWS2022: _windows("10.0.20348"),
        AmiFamily.WINDOWS2025: _windows("10.0.26100"),
        AmiFamily.CUSTOM: FamilyTraits(pods_device=None),
    }
)


def can_boot(family: AmiFamily, record: TypeRecord) -> bool:
    """Return whether images of `family` run on the type: Windows has none for arm64, AL2023 none for a1."""
    if family.windows:
        return record.arch == "amd64"
    return not (family is AmiFamily.AL2023 and record.family == "a1")
