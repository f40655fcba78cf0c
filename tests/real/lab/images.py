"""The machine images EKS publishes, and the SSM parameters that lead to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from moto.ec2.models.amis import Ami
from moto.ssm.models import Parameter

_KUBERNETES: Final = tuple(f"1.{minor}" for minor in range(27, 36))
# Later than in AWS, where it ends with 1.32: the walkthroughs of the old API need one for our API server.
_LAST_AL2: Final = 34
_OWNER: Final = "602401143452"
# Each image is published twice; the later one is what "recommended" and "latest" lead to.
_RELEASES: Final = (datetime(2026, 5, 11, 9, tzinfo=UTC), datetime(2026, 8, 3, 9, tzinfo=UTC))
_BOTTLEROCKET: Final = ("1.51.0", "1.54.1")
# The releases of Windows Server, and the first version of Kubernetes that has them.
_WINDOWS: Final = ((2019, 27), (2022, 27), (2025, 35))
_WINDOWS_PREFIX: Final = "Windows_Server-"
_DEPRECATED_AFTER: Final = timedelta(days=730)


@dataclass(frozen=True, slots=True)
class Published:
    """An image and the names of the parameters that have its id."""

    name: str
    architecture: str
    created: datetime
    parameters: tuple[str, ...]

    @property
    def windows(self) -> str:
        """The release of Windows Server ("2022"), "" where it is none."""
        _, is_windows, rest = self.name.rpartition(_WINDOWS_PREFIX)
        return rest.partition("-")[0] if is_windows else ""

    @property
    def id(self) -> str:
        """The image's id, which follows from its name."""
        return "ami-" + hashlib.sha256(self.name.encode()).hexdigest()[:17]


def published() -> Iterator[Published]:
    """Yield all images."""
    for version in _KUBERNETES:
        for number, created in enumerate(_RELEASES):
            latest = number == len(_RELEASES) - 1
            yield from _al2023(version, created, latest=latest)
            if int(version.partition(".")[2]) <= _LAST_AL2:
                yield from _al2(version, created, latest=latest)
            yield from _bottlerocket(version, number, created, latest=latest)
            yield from _windows(version, created, latest=latest)


def _al2023(version: str, created: datetime, *, latest: bool) -> Iterator[Published]:
    root = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023"
    for arch, variants in (("x86_64", ("standard", "nvidia", "neuron")), ("arm64", ("standard", "nvidia"))):
        for variant in variants:
            name = f"amazon-eks-node-al2023-{arch}-{variant}-{version}-v{created:%Y%m%d}"
            yield _eks(f"{root}/{arch}/{variant}", name, arch, created, latest=latest)


def _al2(version: str, created: datetime, *, latest: bool) -> Iterator[Published]:
    root = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2"
    for suffix, part, arch in (("", "", "x86_64"), ("-arm64", "arm64-", "arm64"), ("-gpu", "gpu-", "x86_64")):
        name = f"amazon-eks-{part}node-{version}-v{created:%Y%m%d}"
        yield _eks(f"{root}{suffix}", name, arch, created, latest=latest)


def _eks(folder: str, name: str, arch: str, created: datetime, *, latest: bool) -> Published:
    names = (name, "recommended") if latest else (name,)
    return Published(name, arch, created, tuple(f"{folder}/{n}/image_id" for n in names))


def _bottlerocket(version: str, number: int, created: datetime, *, latest: bool) -> Iterator[Published]:
    release = _BOTTLEROCKET[number]
    for variant in (f"aws-k8s-{version}", f"aws-k8s-{version}-nvidia"):
        for arch in ("x86_64", "arm64"):
            folder = f"/aws/service/bottlerocket/{variant}/{arch}"
            names = (release, "latest") if latest else (release,)
            parameters = tuple(f"{folder}/{n}/image_id" for n in names)
            yield Published(f"bottlerocket-{variant}-{arch}-v{release}", arch, created, parameters)


def _windows(version: str, created: datetime, *, latest: bool) -> Iterator[Published]:
    for release, first in _WINDOWS:
        if int(version.partition(".")[2]) >= first:
            name = f"{_WINDOWS_PREFIX}{release}-English-Core-EKS_Optimized-{version}"
            # Of Windows the latest image alone has a parameter.
            parameters = (f"/aws/service/ami-windows-latest/{name}/image_id",) if latest else ()
            yield Published(f"{name}-{created:%Y.%m.%d}", "x86_64", created, parameters)


@cache
def windows_releases() -> Mapping[str, str]:
    """Return the release of Windows Server of each image that is of one, by the image's id."""
    return {image.id: image.windows for image in published() if image.windows}


def publish(ec2: Any, ssm: Any) -> None:
    """Put all images and parameters into moto's backends."""
    for image in published():
        made = Ami(
            ec2,
            image.id,
            name=image.name,
            architecture=image.architecture,
            owner_id=_OWNER,
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            root_device_name="/dev/sda1" if image.windows else "/dev/xvda",
            platform="windows" if image.windows else None,
            root_device_type="ebs",
            creation_date=image.created,
        )
        made.deprecation_time = (image.created + _DEPRECATED_AFTER).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        ec2.amis[image.id] = made
        for name in image.parameters:
            put_parameter(ssm, name, image.id, image.created)


def put_parameter(ssm: Any, name: str, value: str, at: datetime) -> None:
    """Set a public parameter, which AWS's own API does not let anybody set."""
    versions = ssm._parameters[name]
    versions.append(
        Parameter(
            account_id=ssm.account_id,
            name=name,
            value=value,
            parameter_type="String",
            description=None,
            allowed_pattern=None,
            keyid=None,
            last_modified_date=at,
            version=len(versions) + 1,
            data_type="aws:ec2:image",
        )
    )
