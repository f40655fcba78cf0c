"""Problems in a few words: sizes as on EC2, pools, rooms and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from tests.builders import DEFAULT_CLASS, START
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import Expression, NodeAffinity, Pod, PodSpec
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint, Toleration
from treenail.domain.packing.problem import ExistingNode, PackingSettings, PoolOffer, Problem

ZONES = ("zone-a", "zone-b")
# As on an EKS cluster: what its four daemons request together.
DAEMONS = (
    PodSpec(requests=Resources.parse({"cpu": "25m", "memory": "40Mi", "pods": 1})),
    PodSpec(requests=Resources.parse({"cpu": "100m", "memory": "40Mi", "pods": 1})),
    PodSpec(requests=Resources.parse({"cpu": "20m", "memory": "40Mi", "pods": 1})),
    PodSpec(requests=Resources.parse({"cpu": "10m", "pods": 1})),
)


def instance_type(
    name: str,
    *,
    cpu: int,
    memory: int,
    price: float,
    arch: str = "amd64",
    zones: Iterable[str] = ZONES,
    ways: Mapping[str, float] | None = None,
    out_of: Iterable[tuple[str, str]] = (),
    pods: int = 58,
    more: Mapping[str, int] | None = None,
) -> InstanceType:
    """A type of so many cores and GiB. `ways` are shares of the price; `out_of` are offers that ran out."""
    ran_out = set(out_of)
    sold = [
        Offering(zone, way, price * share, available=(zone, way) not in ran_out)
        for zone in zones
        for way, share in (ways or {labels.ON_DEMAND: 1.0, labels.SPOT: 0.4}).items()
    ]
    option, _, size = name.partition(".")
    single = {
        labels.INSTANCE_TYPE: name,
        labels.ARCH: arch,
        labels.OS: "linux",
        labels.INSTANCE_CATEGORY: name[0],
        labels.INSTANCE_FAMILY: option,
        labels.INSTANCE_SIZE: size,
        labels.INSTANCE_CPU: str(cpu),
    }
    return InstanceType(
        name=name,
        requirements=Requirements.from_labels(single).with_(
            (
                Requirement(labels.ZONE, frozenset(o.zone for o in sold)),
                Requirement(labels.CAPACITY_TYPE, frozenset(o.capacity_type for o in sold)),
            )
        ),
        capacity=Resources.parse({"cpu": cpu, "memory": f"{memory}Gi", "pods": pods, **(more or {})}),
        overhead=Overhead(kube_reserved=Resources.parse({"cpu": "80m", "memory": "900Mi"})),
        offerings=tuple(sold),
    )


def catalogue() -> tuple[InstanceType, ...]:
    """Types as on EC2: burstable, compute, general and memory sizes, at their prices."""
    sizes = (("large", 2), ("xlarge", 4), ("2xlarge", 8), ("4xlarge", 16), ("8xlarge", 32))
    options = (
        ("c5", 2, 0.0425, "amd64"),
        ("m5", 4, 0.048, "amd64"),
        ("r5", 8, 0.063, "amd64"),
        ("m6g", 4, 0.0385, "arm64"),
    )
    relaxation = [
        instance_type(f"{option}.{size}", cpu=cpu, memory=cpu * ratio, price=cpu * price, arch=arch)
        for option, ratio, price, arch in options
        for size, cpu in sizes
    ]
    small = [
        instance_type("t3.large", cpu=2, memory=8, price=0.0832, pods=35),
        instance_type("t3.2xlarge", cpu=8, memory=32, price=0.3328),
    ]
    return (*relaxation, *small)


def pool(
    name: str = "default",
    *requirements: Requirement,
    weight: int = 0,
    taints: tuple[Taint, ...] = (),
    node_labels: Mapping[str, str] | None = None,
) -> NodePool:
    return NodePool(
        name=name,
        weight=weight,
        taints=taints,
        labels=node_labels or {},
        requirements=Requirements(requirements),
        node_class=DEFAULT_CLASS,
    )


def offer(
    of: NodePool | None = None,
    types: tuple[InstanceType, ...] | None = None,
    *,
    limits: Mapping[str, str | int] | None = None,
) -> PoolOffer:
    return PoolOffer(
        pool=of or pool(),
        instance_types=catalogue() if types is None else types,
        limits_left=None if limits is None else Resources.parse(limits),
    )


def is_in(key: str, *values: str) -> Requirement:
    return Requirement.of(key, Operator.IN, values)


def expression(key: str, operator: Operator, *values: str) -> Expression:
    return Expression(key, operator, values)


def asking(
    cpu: str | int = 1,
    memory: str | int = 0,
    *,
    selector: Mapping[str, str] | None = None,
    required: Iterable[tuple[Expression, ...]] = (),
    preferred: Iterable[tuple[int, tuple[Expression, ...]]] = (),
    tolerations: Iterable[Toleration] = (),
    more: Mapping[str, int] | None = None,
) -> PodSpec:
    amounts = {"cpu": cpu, "pods": 1, **({"memory": memory} if memory else {}), **(more or {})}
    return PodSpec(
        requests=Resources.parse(amounts),
        node_selector=tuple(sorted((selector or {}).items())),
        node_affinity=NodeAffinity(tuple(required), tuple(preferred)),
        tolerations=tuple(tolerations),
    )


def pods(name: str, count: int, spec: PodSpec | None = None, *, age: int = 0) -> tuple[Pod, ...]:
    """`count` pods of one spec; those of a greater `age` (s) are older."""
    made = START - timedelta(seconds=age)
    return tuple(
        Pod(uid=f"{name}-{i}", name=f"{name}-{i}", spec=spec or asking(), created_at=made)
        for i in range(count)
    )


def existing_node(
    name: str,
    free: Mapping[str, str | int] | None = None,
    *,
    node_labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
) -> ExistingNode:
    free = {"cpu": 4, "memory": "16Gi", "pods": 20} if free is None else free
    return ExistingNode(name=name, labels=node_labels or {}, taints=taints, free=Resources.parse(free))


def problem(
    *pod_groups: tuple[Pod, ...], offers: tuple[PoolOffer, ...] | None = None, **more: object
) -> Problem:
    everybody = tuple(pod for pod_group in pod_groups for pod in pod_group)
    return Problem(pods=everybody, offers=(offer(),) if offers is None else offers, **more)  # type: ignore[arg-type]


def first_fit(of: Problem, **more: object) -> Problem:
    return replace(of, settings=PackingSettings(packing="first-fit-descending", **more))  # type: ignore[arg-type]
