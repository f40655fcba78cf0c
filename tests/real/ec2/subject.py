"""The laboratory as the contract of `Cloud` wants it: the cluster demo, and time that need not pass."""

from __future__ import annotations

import time
from datetime import datetime
from functools import cache
from typing import Final

from tests.real.ec2.clouds import aws_of, shipped
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.live_catalogue import LiveCatalogue
from treenail.adapters.ec2.resolved import Resolved
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.observed_capacity import CapacityObserved, ObservedCapacity, Sizes
from treenail.domain.model.template_hash import sizing_hash

CLUSTER: Final = "demo"
PLAIN: Final = NodeClass(
    ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "plain"), ami_family=AmiFamily.AL2023
)
_PATIENCE: Final = 30.0
_CHANGING: Final = [{"Name": "instance-state-name", "Values": ["pending", "shutting-down"]}]


class SkippingClock(SystemClock):
    """The time, of which some may be skipped."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped


class NodeClassesOnLab:
    """Selectors are looked up in the laboratory; what is sold stands in the package, for it takes long."""

    def __init__(self, live: LiveCatalogue) -> None:
        self._live = live
        self._learned = ObservedCapacity()

    def resolve(self, node_class: NodeClass) -> Resolved:
        return self._live.resolve(node_class)

    def node_class_status(self, node_class: NodeClass) -> NodeClassStatus:
        return self._live.node_class_status(node_class)

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        resolved = self.resolve(node_class)
        images, sized_by = {image.id for image in resolved.images}, sizing_hash(node_class, kubelet)
        learned = self._learned.of(images, sized_by, SystemClock().now())
        return with_reserved(_types(resolved.zones, learned), resolved.reservations)

    def learn(self, observation: CapacityObserved) -> bool:
        return self._learned.learn(observation)


@cache
def _types(zones: tuple[tuple[str, str], ...], learned: Sizes) -> tuple[InstanceType, ...]:
    prices = {
        (one.name, zone): price / 2
        for one in shipped().instance_types(PLAIN, DEFAULT_KUBELET, zones=zones)
        for zone, _ in zones
        if (price := shipped().on_demand_price(one.name)) is not None
    }
    types = shipped().instance_types(PLAIN, DEFAULT_KUBELET, zones=zones, spot_prices=prices, learned=learned)
    return tuple(one for one in types if one.offerings)


def _quiet(_message: str, /, **_fields: object) -> None:
    """Log nothing."""


class EC2Subject:
    """A cloud over an account in which nothing runs."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        lab.reset()
        lab.set_pace(pending=0.0, hidden=0.0, shutdown=0.0)
        self._ec2, self._iam = lab.client("ec2"), lab.client("iam")
        self._clock = SkippingClock()
        aws, caches = aws_of(lab), AnswerCaches(self._clock, SystemDice(), _quiet)
        cluster = Cluster(aws, caches, ClusterIdentity(name=CLUSTER), lambda: "v1.34.0")
        self.cloud = EC2Cloud(
            aws,
            self._clock,
            cluster_name=CLUSTER,
            node_classes=NodeClassesOnLab(LiveCatalogue(aws, caches, cluster)),
            facts=cluster.facts,
            default_instance_profile=lab.estate["instance_profile"],
        )

    def now(self) -> datetime:
        """Return the time."""
        return self._clock.now()

    def profiles(self) -> list[str]:
        """Return the names of the instance profiles made for node classes, sorted."""
        found = self._iam.list_instance_profiles()["InstanceProfiles"]
        return sorted(one["InstanceProfileName"] for one in found if one["Path"].startswith("/karpenter/"))

    def fail_check(self, instance_id: str, kind: InterruptionKind) -> None:
        """Let a status check of an instance fail from now on."""
        self._lab.fail_check(instance_id, kind.value.removesuffix("_status"))

    def plan_event(self, instance_id: str) -> None:
        """Plan to stop an instance in an hour."""
        self._lab.plan_event(instance_id, "instance-stop", seconds=3600)

    def reserve(self, instances: int) -> str:
        """Reserve m5.large in the first zone, and return the reservation's id."""
        made = self._ec2.create_capacity_reservation(
            InstanceType="m5.large",
            InstancePlatform="Linux/UNIX",
            AvailabilityZone="us-east-1a",
            InstanceCount=instances,
        )
        return str(made["CapacityReservation"]["CapacityReservationId"])

    def group(self, name: str) -> str:
        """Make a placement group, and return its id."""
        made = self._ec2.create_placement_group(GroupName=name, Strategy="spread")
        return str(made["PlacementGroup"]["GroupId"])

    def settle(self) -> None:
        """Wait until instances are what they were about to be, and skip the time that looks are shared."""
        end = time.monotonic() + _PATIENCE
        while self._ec2.describe_instances(Filters=_CHANGING)["Reservations"]:
            assert time.monotonic() < end, "the laboratory's instances do not settle"
        self._clock.skipped += 2.0
