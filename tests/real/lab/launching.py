"""How the laboratory's own tests buy instances."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.real.lab.lab import Lab

X86: Final = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"
ARM: Final = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/recommended/image_id"


def image(lab: Lab, parameter: str = X86) -> str:
    return str(lab.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"])


def template(
    lab: Lab, name: str = "nodes", *, parameter: str = X86, user_data: str = "hello", **more: Any
) -> str:
    data = {
        "ImageId": image(lab, parameter),
        "SecurityGroupIds": lab.estate["security_groups"],
        "IamInstanceProfile": {"Name": lab.estate["instance_profile"]},
        "UserData": base64.b64encode(user_data.encode()).decode(),
        **more,
    }
    made = lab.client("ec2").create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    return str(made["LaunchTemplate"]["LaunchTemplateId"])


def override(lab: Lab, instance_type: str, zone: str = "us-east-1a", **more: Any) -> dict[str, Any]:
    return {"InstanceType": instance_type, "SubnetId": lab.estate["subnets"][zone], **more}


def fleet(
    lab: Lab,
    overrides: Sequence[Mapping[str, Any]],
    *,
    count: int = 1,
    capacity_type: str = "on-demand",
    strategy: str = "lowest-price",
    template_id: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    options = "SpotOptions" if capacity_type == "spot" else "OnDemandOptions"
    specification = {"LaunchTemplateId": template_id or template(lab), "Version": "$Latest"}
    return dict(
        lab.client("ec2").create_fleet(
            Type="instant",
            LaunchTemplateConfigs=[
                {"LaunchTemplateSpecification": specification, "Overrides": list(overrides)}
            ],
            TargetCapacitySpecification={
                "TotalTargetCapacity": count,
                "DefaultTargetCapacityType": capacity_type,
            },
            **{options: {"AllocationStrategy": strategy}},
            **more,
        )
    )


def bought(answer: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return type, zone and number of what a fleet gave."""
    return [
        (
            g["InstanceType"],
            g["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"],
            len(g["InstanceIds"]),
        )
        for g in answer["Instances"]
    ]


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [i for group in answer["Instances"] for i in group["InstanceIds"]]


def described(lab: Lab, *instance_ids: str) -> list[dict[str, Any]]:
    pages = lab.client("ec2").get_paginator("describe_instances").paginate(InstanceIds=list(instance_ids))
    return [i for page in pages for r in page["Reservations"] for i in r["Instances"]]


def states(lab: Lab, *instance_ids: str) -> list[str]:
    return [i["State"]["Name"] for i in described(lab, *instance_ids)]
