"""Clouds over the laboratory: as in production, but for the catalogue, which takes seconds to read."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Final

from tests.real.lab.lab import Lab
from tests.real.lab.launching import ARM, X86, image
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.clients import Clients
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.resolved import ClusterFacts, Image, Resolved, Subnet
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, Override
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.runtime import Clock
from treenail.domain.model.taints import UNREGISTERED

ZONES: Final = ("us-east-1a", "us-east-1b", "us-east-1c")
_AGES: Final = datetime(2026, 8, 3, tzinfo=UTC)


@cache
def shipped() -> Catalogue:
    return Catalogue.shipped()


class LaidOut:
    """What node classes mean in the laboratory: all of its subnets, its group, and two images."""

    def __init__(self, lab: Lab) -> None:
        self._estate = lab.estate
        arches = (("amd64", X86), ("arm64", ARM))
        self.images = tuple(
            Image(id=image(lab, parameter), arch=arch, name=arch, created_at=_AGES)
            for arch, parameter in arches
        )

    def resolve(self, _node_class: NodeClass) -> Resolved:
        subnets = [
            Subnet(id=self._estate["subnets"][zone], zone=zone, zone_id=f"use1-az{n}", free_addresses=8000)
            for n, zone in enumerate(ZONES)
        ]
        return Resolved(
            subnets=tuple(subnets),
            security_groups=tuple(self._estate["security_groups"]),
            images=self.images,
        )

    def node_class_status(self, _node_class: NodeClass) -> NodeClassStatus:
        return NodeClassStatus()

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        return shipped().instance_types(node_class, kubelet, zones=ZONES)

    def learn(self, observation: CapacityObserved) -> bool:
        raise AssertionError(f"no node joins here, but {observation}")


@cache
def clients_of(lab: Lab) -> Clients:
    """Make the clients once: reading botocore's models takes its time."""
    return Clients.open(session=lab.session, endpoint_url=lab.endpoint_url)


def aws_of(lab: Lab) -> Aws:
    return Aws(clients_of(lab), CallRetries(SystemClock(), SystemDice()))


def cloud_of(
    lab: Lab,
    node_classes: LaidOut | None = None,
    *,
    aws: Aws | None = None,
    clock: Clock | None = None,
    prices: PriceOverrides = NO_OVERRIDES,
) -> EC2Cloud:
    """Return a cloud as a new process would make it."""
    facts = ClusterFacts(
        name=lab.cluster,
        endpoint="https://api.example.com",
        certificate_authority="Q0E=",
        version="1.34",
        service_cidr="172.20.0.0/16",
    )
    return EC2Cloud(
        aws or aws_of(lab),
        clock or SystemClock(),
        cluster_name=lab.cluster,
        node_classes=node_classes or LaidOut(lab),
        facts=lambda: facts,
        default_instance_profile=lab.estate["instance_profile"],
        prices=prices,
    )


def request(
    *pools: str,
    call: str = "call-1",
    count: int = 1,
    capacity_type: str = labels.ON_DEMAND,
    pool: str = "web",
    cluster: str = "lab",
) -> FleetRequest:
    """request("m5.large/a", "c5.large/b"): a fleet of these types and zones, with the token `call`."""
    pairs = [one.split("/") for one in pools or ("m5.large/a",)]
    return FleetRequest(
        token=call,
        node_class=NodeClass(
            ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
            generation=1,
            ami_family=AmiFamily.AL2023,
            tags={"owner": "us"},
        ),
        capacity_type=capacity_type,
        overrides=tuple(Override(name, f"us-east-1{zone}", 0.1) for name, zone in pairs),
        count=count,
        labels={labels.NODEPOOL: pool, labels.CAPACITY_TYPE: capacity_type, "team": "web"},
        taints=(UNREGISTERED,),
        tags={
            "owner": "us",
            f"kubernetes.io/cluster/{cluster}": "owned",
            CLUSTER_TAG: cluster,
            labels.NODEPOOL: pool,
            LAUNCH_TAG: call,
        },
    )
