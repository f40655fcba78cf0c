"""What an account has before a test begins: a network, roles, a cluster, its queue and its rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlparse

from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.eks.models import eks_backends
from moto.events.models import events_backends
from moto.iam.models import iam_backends
from moto.sqs.models import sqs_backends
from moto.ssm.models import ssm_backends

from tests.real.lab.images import publish

ACCOUNT: Final = DEFAULT_ACCOUNT_ID
_ZONES: Final = "abc"
_TRUST: Final = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
_RULES: Final = (
    ("health", "aws.health", "AWS Health Event"),
    ("spot", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("state", "aws.ec2", "EC2 Instance State-change Notification"),
    ("reservation", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """What was laid out. `subnets` are by zone; `security_groups` are their ids."""

    region: str
    cluster: str
    vpc_id: str
    subnets: dict[str, str]
    security_groups: list[str]
    role: str
    instance_profile: str
    queue_url: str


def lay_out(region: str, cluster: str, *, kubernetes: str, endpoint: str) -> Estate:
    """Make it all in moto's backends, which are empty; `endpoint` is where they are served."""
    ec2 = ec2_backends[ACCOUNT][region]
    owned = {f"kubernetes.io/cluster/{cluster}": "owned", "karpenter.sh/discovery": cluster}
    vpc = ec2.create_vpc("10.0.0.0/16", tags=[{"Key": "Name", "Value": cluster}])
    zones = [f"{region}{letter}" for letter in _ZONES]
    subnets = {zone: _private(ec2, vpc.id, zone, number, owned) for number, zone in enumerate(zones)}
    for number, zone in enumerate(zones):
        _public(ec2, vpc.id, zone, number, cluster)
    group = ec2.create_security_group(
        f"{cluster}-node",
        "Of all nodes of the cluster",
        vpc_id=vpc.id,
        tags={"Name": f"{cluster}-node", **owned},
    )
    role = f"KarpenterNodeRole-{cluster}"
    _roles(role)
    publish(ec2, ssm_backends[ACCOUNT][region])
    _cluster(region, cluster, kubernetes, list(subnets.values()))
    return Estate(
        region=region,
        cluster=cluster,
        vpc_id=vpc.id,
        subnets=subnets,
        security_groups=[group.id],
        role=role,
        instance_profile=role,
        queue_url=_queue(region, cluster, endpoint),
    )


def _private(ec2: Any, vpc: str, zone: str, number: int, tags: dict[str, str]) -> str:
    # 8,187 addresses each.
    named = {"Name": f"private-{zone}", "kubernetes.io/role/internal-elb": "1", **tags}
    subnet = ec2.create_subnet(vpc, f"10.0.{number * 32}.0/19", availability_zone=zone)
    subnet.add_tags(named)
    return str(subnet.id)


def _public(ec2: Any, vpc: str, zone: str, number: int, cluster: str) -> None:
    named = {
        "Name": f"public-{zone}",
        f"kubernetes.io/cluster/{cluster}": "shared",
        "kubernetes.io/role/elb": "1",
    }
    subnet = ec2.create_subnet(vpc, f"10.0.{224 + number}.0/24", availability_zone=zone)
    subnet.add_tags(named)
    subnet.map_public_ip_on_launch = True


def _roles(name: str) -> None:
    iam = iam_backends[ACCOUNT]["aws"]
    iam.create_role(
        role_name=name,
        assume_role_policy_document=json.dumps(_TRUST),
        path="/",
        permissions_boundary=None,
        description="",
        tags=[],
        max_session_duration=None,
    )
    iam.create_instance_profile(name=name, path="/", role_names=[])
    iam.add_role_to_instance_profile(name, name)


def _cluster(region: str, name: str, kubernetes: str, subnets: list[str]) -> None:
    eks_backends[ACCOUNT][region].create_cluster(
        name=name,
        role_arn=f"arn:aws:iam::{ACCOUNT}:role/{name}-control-plane",
        resources_vpc_config={"subnetIds": subnets, "endpointPublicAccess": True},
        version=kubernetes,
        kubernetes_network_config={"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"},
    )


def _queue(region: str, name: str, endpoint: str) -> str:
    queue = sqs_backends[ACCOUNT][region].create_queue(
        name=name, tags={}, region=region, MessageRetentionPeriod=300, VisibilityTimeout=30
    )
    events = events_backends[ACCOUNT][region]
    for number, (rule, source, kind) in enumerate(_RULES):
        pattern = json.dumps({"source": [source], "detail-type": [kind]})
        events.put_rule(name=f"{name}-{rule}", event_pattern=pattern, state="ENABLED")
        events.put_targets(
            name=f"{name}-{rule}", event_bus_arn=None, targets=[{"Id": str(number), "Arn": queue.queue_arn}]
        )
    return str(queue.url(urlparse(endpoint)))
