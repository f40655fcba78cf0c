from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.agenda import HeapAgenda
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings, FakeEC2, Subnet
from treenail.adapters.fake.queue import FakeQueue, QueueSettings
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, Instance, Override
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass, NodeClassRef, SelectorTerm
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources

A, B, C = ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
ANY_TAG = (SelectorTerm(tags=(("kubernetes.io/cluster/demo", "*"),)),)
QUIET = EC2Settings(visible=(0.0, 0.0), state_notices=False)


class SmallCatalogue:
    """Four types; the accelerated one is sold on demand in one zone only."""

    _types: Mapping[str, tuple[float, str, int, tuple[str, ...]]] = {
        "c5.large": (0.085, "amd64", 2, ZONES),
        "m5.large": (0.096, "amd64", 2, ZONES),
        "m6g.large": (0.077, "arm64", 2, ZONES),
        "p3.2xlarge": (3.06, "amd64", 8, (C,)),
    }

    def __init__(self) -> None:
        self.asked = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return (*ZONES, "us-east-1d")

    def on_demand_price(self, instance_type: str, /) -> float | None:
        found = self._types.get(instance_type)
        return None if found is None else found[0]

    def instance_types(
        self,
        node_class: NodeClass,  # noqa: ARG002
        kubelet: Kubelet,
        *,
        zones: Sequence[str] | None = None,
        spot_prices: Mapping[tuple[str, str], float] | None = None,
    ) -> tuple[InstanceType, ...]:
        self.asked += 1
        if ("memory.available", "much") in kubelet.eviction_hard:
            raise ValueError("memory.available: 'much' is not a quantity")
        return tuple(
            _instance_type(name, *what, zones or self.zones, spot_prices)
            for name, what in sorted(self._types.items())
        )


def _instance_type(
    name: str,
    price: float,
    arch: str,
    cpu: int,
    sold: Sequence[str],
    zones: Sequence[str],
    spot_prices: Mapping[tuple[str, str], float] | None,
) -> InstanceType:
    offered = [zone for zone in sold if zone in zones]
    on_demand = [Offering(zone, labels.ON_DEMAND, price, zone_id=f"use1-az{zone[-1]}") for zone in offered]
    spot = [
        Offering(
            zone, labels.SPOT, (spot_prices or {}).get((name, zone), price), zone_id=f"use1-az{zone[-1]}"
        )
        for zone in offered
        if not name.startswith("p3")
    ]
    return InstanceType(
        name=name,
        requirements=Requirements(
            (
                Requirement(labels.INSTANCE_TYPE, frozenset((name,))),
                Requirement(labels.ARCH, frozenset((arch,))),
                Requirement(labels.ZONE, frozenset(offered)),
                Requirement(labels.CAPACITY_TYPE, frozenset((labels.SPOT, labels.ON_DEMAND))),
            )
        ),
        capacity=Resources.parse({"cpu": cpu, "memory": f"{4 * cpu}Gi", "pods": 29}),
        overhead=Overhead(kube_reserved=Resources.parse({"cpu": "70m", "memory": "574Mi"})),
        offerings=(*on_demand, *spot),
    )


def node_class(
    name: str = "default",
    *,
    subnets: tuple[SelectorTerm, ...] = ANY_TAG,
    groups: tuple[SelectorTerm, ...] = ANY_TAG,
    amis: tuple[SelectorTerm, ...] = (),
    family: AmiFamily = AmiFamily.AL2023,
    launch_template: str = "",
) -> NodeClass:
    return NodeClass(
        ref=NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name=name),
        ami_family=family,
        ami_terms=amis,
        subnet_terms=subnets,
        security_group_terms=groups,
        launch_template=launch_template,
    )


def request(
    *pools: str,
    call: str = "call-1",
    count: int = 1,
    capacity_type: str = labels.ON_DEMAND,
    of: NodeClass | None = None,
    cluster: str = "demo",
    kubelet: Kubelet | None = None,
) -> FleetRequest:
    """request("m5.large/a", "c5.large/b"): a fleet of these types and zones, with the token `call`."""
    pairs = [pool.split("/") for pool in pools or ("m5.large/a",)]
    return FleetRequest(
        token=call,
        node_class=of or node_class(),
        capacity_type=capacity_type,
        overrides=tuple(Override(name, f"us-east-1{zone}", 0.1) for name, zone in pairs),
        count=count,
        labels={"team": "web"},
        kubelet=kubelet or Kubelet(),
        tags={CLUSTER_TAG: cluster, LAUNCH_TAG: call, "owner": "us"},
    )


def spot_request(*pools: str, call: str = "call-1", count: int = 1) -> FleetRequest:
    return request(*pools, call=call, count=count, capacity_type=labels.SPOT)


class Mailbox:
    """Remembers every message it is told, and when."""

    def __init__(self, agenda: HeapAgenda, *, deletes_from: FakeQueue | None = None) -> None:
        self.messages: list[QueueMessage] = []
        self.times: list[float] = []
        self._agenda = agenda
        self._queue = deletes_from

    def tell(self, message: QueueMessage, /) -> None:
        self.messages.append(message)
        self.times.append(self._agenda.monotonic())
        if self._queue is not None:
            self._queue.delete((message.receipt,))

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(m.body) for m in self.messages]


class Rig:
    """An EC2 with its queue, and the time they live in."""

    def __init__(
        self,
        *,
        seed: int = 0,
        settings: EC2Settings = QUIET,
        faults: EC2Faults | None = None,
        subnets: Sequence[Subnet] | None = None,
        catalogue: SmallCatalogue | None = None,
    ) -> None:
        dice = random.Random(seed)
        self.agenda = HeapAgenda()
        self.queue = FakeQueue(self.agenda, dice, settings=QueueSettings(delay=(0.5, 0.5)))
        self.ec2 = FakeEC2(
            self.agenda,
            dice,
            catalogue or SmallCatalogue(),
            cluster_name="demo",
            queue=self.queue,
            settings=settings,
            faults=faults,
            subnets=subnets,
        )

    def launch_one(self, *pools: str, call: str = "call-1") -> Instance:
        (instance,) = self.ec2.launch(request(*pools, call=call)).instances
        return instance

    def launch_spot(self, *pools: str, call: str = "call-1") -> Instance:
        (instance,) = self.ec2.launch(spot_request(*pools, call=call)).instances
        return instance

    def state(self, instance: Instance) -> str:
        (found,) = (r for r in self.ec2.all_instances() if r.instance.id == instance.id)
        return found.instance.state.value

    def mailbox(self) -> Mailbox:
        mailbox = Mailbox(self.agenda, deletes_from=self.queue)
        self.queue.feed(mailbox)
        return mailbox
