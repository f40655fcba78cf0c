"""A cloud over an account that answers as it is told, and what EC2 says of fleets and instances."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.adapters.ec2.discovery.account import ANY, Account
from tests.adapters.ec2.launch.orders import FACTS, node_class, request
from tests.adapters.ec2.launch.test_fleet_call import RESOLVED, TYPES, A, B
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.discovery.cache import unheard
from treenail.adapters.ec2.resolved import Resolved
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.runtime import Log

LIST, FLEET, TEMPLATES, CREATE = (
    "ec2.describe_instances",
    "ec2.create_fleet",
    "ec2.describe_launch_templates",
    "ec2.create_launch_template",
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STATES = ["pending", "running", "shutting-down", "stopping", "stopped"]
OWN = request(f"m5.large/{A}", f"m5.large/{B}", node_class=node_class(launch_template="theirs"))
GONE = "InvalidLaunchTemplateName.NotFoundException"


class Shelf:
    """Node classes that all mean the same."""

    def __init__(self) -> None:
        self.resolved = RESOLVED

    def resolve(self, _node_class: NodeClass) -> Resolved:
        return self.resolved

    def node_class_status(self, _node_class: NodeClass) -> NodeClassStatus:
        return NodeClassStatus()

    def instance_types(self, _node_class: NodeClass, _kubelet: Kubelet) -> tuple[InstanceType, ...]:
        return tuple(TYPES.values())

    def learn(self, observation: CapacityObserved) -> bool:
        raise AssertionError(f"no node joins here, but {observation}")


def cloud(account: Account, profile: str = "", shelf: Shelf | None = None, log: Log = unheard) -> EC2Cloud:
    return EC2Cloud(
        account.aws,
        account.time,
        cluster_name="demo",
        node_classes=shelf or Shelf(),
        facts=lambda: FACTS,
        default_instance_profile=profile,
        log=log,
    )


def instance(name: str, tags: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "InstanceId": name,
        "InstanceType": "m5.large",
        "ImageId": "ami-x",
        "LaunchTime": NOON,
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": A},
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
        **more,
    }


def reservations(*instances: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Instances": [one]} for one in instances]


def answer(*ids: str, errors: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    override = {"InstanceType": "m5.large", "AvailabilityZone": A, "SubnetId": "subnet-a"}
    group = {"InstanceType": "m5.large", "InstanceIds": list(ids)}
    return {
        "FleetId": "fleet-1",
        "Instances": [{**group, "LaunchTemplateAndOverrides": {"Overrides": override}}] if ids else [],
        "Errors": list(errors),
        "ResponseMetadata": {"RequestId": "request-1"},
    }


def error(code: str, **override: str) -> dict[str, Any]:
    where = {"LaunchTemplateAndOverrides": {"Overrides": override}} if override else {}
    return {"ErrorCode": code, "ErrorMessage": "no", **where}


def any_call(token: str) -> dict[str, Any]:
    """Return the parameters of a call with this token, whatever else they are."""
    others = (
        "Type",
        "LaunchTemplateConfigs",
        "TargetCapacitySpecification",
        "OnDemandOptions",
        "TagSpecifications",
    )
    return {"ClientToken": token, **dict.fromkeys(others, ANY)}


def into(subnet: str, zone: str) -> list[dict[str, Any]]:
    """Return the configuration of a call that launches m5.large by the user's template into one subnet."""
    override = {
        "InstanceType": "m5.large",
        "SubnetId": subnet,
        "AvailabilityZone": zone,
        "ImageId": "ami-x",
    }
    template = {"LaunchTemplateName": "theirs", "Version": "$Latest"}
    return [{"LaunchTemplateSpecification": template, "Overrides": [override]}]
