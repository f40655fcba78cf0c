"""Instances of a fleet, as its launch template wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.iam.models import iam_backends
from moto.moto_api._internal import mock_random

from tests.real.lab.allocation import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What all instances of a fleet have in common. `tags` are by resource type."""

    fleet_id: str
    capacity_type: str
    token: str | None
    tags: Mapping[str, Mapping[str, str]]


def launch(backend: Any, pool: Pool, count: int, order: Order) -> list[Any]:
    """Launch `count` instances from a pool and return them.

    Raises:
        EC2ClientError: the launch template names what is not there.
    """
    data = pool.template.data
    interfaces = data.get("NetworkInterfaces") or []
    first: Mapping[str, Any] = next((n for n in interfaces if int(n.get("DeviceIndex", 0)) == 0), {})
    profile = data.get("IamInstanceProfile") or {}
    _check_profile(backend, profile)
    reservation = backend.run_instances(
        pool.image_id,
        count,
        data.get("UserData"),
        [],
        instance_type=pool.instance_type,
        is_instance_type_default=False,
        region_name=backend.region_name,
        subnet_id=pool.subnet_id,
        placement=None if pool.subnet_id else pool.zone,
        security_group_ids=list(data.get("SecurityGroupIds") or first.get("Groups") or []),
        tags=_tags(pool, order),
        ebs_optimized=data.get("EbsOptimized", False),
        metadata_options=data.get("MetadataOptions", {}),
        monitoring_state="enabled" if data.get("Monitoring", {}).get("Enabled") else "disabled",
        associate_public_ip=first.get("AssociatePublicIpAddress"),
        lifecycle="spot" if order.capacity_type == "spot" else None,
        client_token=order.token,
        **_block_devices(data),
    )
    for instance in reservation.instances:
        _make_volumes_as_wanted(backend, instance, data)
        instance.placement.tenancy = data.get("Placement", {}).get("Tenancy", "default")
        if profile:
            backend.associate_iam_instance_profile(
                instance_id=instance.id,
                iam_instance_profile_name=profile.get("Name"),
                iam_instance_profile_arn=profile.get("Arn"),
            )
        if order.capacity_type == "spot":
            instance.spot_instance_request_id = f"sir-{mock_random.get_random_hex(8)}"
    return list(reservation.instances)


def _tags(pool: Pool, order: Order) -> dict[str, dict[str, str]]:
    tags: dict[str, dict[str, str]] = {}
    for specification in pool.template.data.get("TagSpecifications") or ():
        said = {tag["Key"]: tag["Value"] for tag in specification.get("Tags", ())}
        tags.setdefault(specification["ResourceType"], {}).update(said)
    for kind, more in order.tags.items():
        tags.setdefault(kind, {}).update(more)
    tags.setdefault("instance", {}).update(
        {
            "aws:ec2:fleet-id": order.fleet_id,
            "aws:ec2launchtemplate:id": pool.template.template.id,
            "aws:ec2launchtemplate:version": str(pool.template.number),
        }
    )
    return tags


def _block_devices(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument that replaces moto's own root volume, where the template has volumes."""
    devices = [
        # moto makes volumes without what they are to do, and so none of a type that must be told it.
        {**device, "Ebs": {**device["Ebs"], "VolumeType": "gp3"}}
        for device in _volumes(data)
    ]
    return {"block_device_mappings": devices} if devices else {}


def _volumes(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [device for device in data.get("BlockDeviceMappings") or () if "Ebs" in device]


def _make_volumes_as_wanted(backend: Any, instance: Any, data: Mapping[str, Any]) -> None:
    """Give the volumes of an instance the type and the speed that its template says."""
    for device in _volumes(data):
        volume = backend.get_volume(instance.block_device_mapping[device["DeviceName"]].volume_id)
        volume.volume_type = device["Ebs"].get("VolumeType", "gp2")
        iops, throughput = device["Ebs"].get("Iops"), device["Ebs"].get("Throughput")
        volume.iops = int(iops) if iops else (volume.iops if volume.volume_type == "gp3" else None)
        volume.throughput = int(throughput) if throughput else None


def _check_profile(backend: Any, profile: Mapping[str, str]) -> None:
    known = iam_backends[backend.account_id]["aws"].instance_profiles.values()
    names, arns = {p.name for p in known}, {p.arn for p in known}
    for kind, values in (("Name", names), ("Arn", arns)):
        if profile.get(kind, "") not in {"", *values}:
            message = f"Value ({profile[kind]}) for parameter iamInstanceProfile.{kind.lower()} is invalid."
            raise EC2ClientError("InvalidParameterValue", f"{message} Invalid IAM Instance Profile {kind}")
