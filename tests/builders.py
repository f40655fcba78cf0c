"""Objects for tests, with everything that does not matter left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.planning import PlanDecided, Snapshot
from treenail.domain.model import labels
from treenail.domain.model.fleets import Instance, InstanceState
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import (
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Condition,
    Node,
    NodeClaim,
    NodeView,
    Status,
)
from treenail.domain.model.pods import Owner, Phase, Pod, PodSpec
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.plan import PackingPlan, PlannedClaim, RefusedClass

START = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULT_CLASS = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="default")


def at(seconds: float) -> datetime:
    """Return the time of day, so many seconds after the start."""
    return START + timedelta(seconds=seconds)


def resources(**quantities: str | int) -> Resources:
    """resources(cpu=1, memory="1Gi", pods=1)."""
    return Resources.parse(quantities)


def spec(cpu: str | int = 1, **more: object) -> PodSpec:
    return PodSpec(requests=resources(cpu=cpu, pods=1), **more)  # type: ignore[arg-type]


def pending_pod(uid: str, cpu: str | int = 1, *, version: int = 1, owner: str = "web") -> Pod:
    return Pod(
        uid=uid,
        name=uid,
        resource_version=version,
        spec=spec(cpu),
        owners=(Owner(kind="ReplicaSet", name=owner, uid=owner),) if owner else (),
        created_at=START,
        unschedulable_since=START,
    )


def bound_pod(uid: str, node: str, cpu: str | int = 1, *, version: int = 1, owner: str = "web") -> Pod:
    return Pod(
        uid=uid,
        name=uid,
        resource_version=version,
        spec=spec(cpu),
        owners=(Owner(kind="ReplicaSet", name=owner, uid=owner),) if owner else (),
        created_at=START,
        node_name=node,
        phase=Phase.RUNNING,
        ready=True,
    )


def node_pool(name: str = "default", *, version: int = 1, limits: Resources | None = None) -> NodePool:
    return NodePool(name=name, uid=name, resource_version=version, node_class=DEFAULT_CLASS, limits=limits)


def node_class(*, version: int = 1) -> NodeClass:
    return NodeClass(ref=DEFAULT_CLASS, resource_version=version)


def claim(
    name: str,
    *,
    version: int = 1,
    provider_id: str = "",
    initialized: bool = False,
    room: Resources | None = None,
    pool: str = "default",
    leaving: bool = False,
    annotations: Mapping[str, str] | None = None,
) -> NodeClaim:
    true = [Condition(type=REGISTERED, status=Status.TRUE), Condition(type=INITIALIZED, status=Status.TRUE)]
    return NodeClaim(
        name=name,
        uid=f"uid-{name}",
        resource_version=version,
        pool=pool,
        node_class=DEFAULT_CLASS,
        created_at=START,
        provider_id=provider_id,
        annotations=annotations or {},
        capacity=room or Resources(),
        allocatable=room or Resources(),
        conditions=tuple(true) if initialized else (),
        deleting_since=START if leaving else None,
    )


def node(
    name: str,
    *,
    version: int = 1,
    provider_id: str = "",
    room: Resources | None = None,
    labels_: Mapping[str, str] | None = None,
) -> Node:
    return Node(
        name=name,
        uid=f"uid-{name}",
        resource_version=version,
        provider_id=provider_id,
        labels=labels_ or {},
        capacity=room or Resources(),
        allocatable=room or Resources(),
        conditions=(Condition(type=READY, status=Status.TRUE),),
        created_at=START,
    )


def decision(name: str = "d1", *, urgent: str = "") -> Decision:
    return Decision(id=name, opened_at=START, closed_at=START, pods=0, urgent=urgent)


def planned_claim(*pods: str, cpu: int = 4, pool: str = "default") -> PlannedClaim:
    return PlannedClaim(
        pool=pool,
        pods=pods,
        requirements=Requirements(),
        instance_types=("m5.xlarge",),
        requests=resources(cpu=len(pods), pods=len(pods)),
        largest=resources(cpu=cpu, pods=10),
        price=0.1,
    )


def decided(
    snapshot: Snapshot,
    *claims: PlannedClaim,
    nominations: Mapping[str, str] | None = None,
    refused: tuple[RefusedClass, ...] = (),
    name: str = "d1",
) -> PlanDecided:
    return PlanDecided(
        decision=decision(name),
        snapshot=snapshot,
        plan=PackingPlan(claims=claims, nominations=nominations or {}, refused=refused),
        considered=("default",),
        selected_at=START,
        packed_at=START,
    )


def instance_type(name: str, cpu: int, *, price: float, zones: tuple[str, ...] = ("a", "b")) -> InstanceType:
    return InstanceType(
        name=name,
        requirements=Requirements(
            (
                Requirement(labels.INSTANCE_TYPE, frozenset((name,))),
                Requirement(labels.ZONE, frozenset(zones)),
                Requirement(labels.CAPACITY_TYPE, frozenset((labels.SPOT, labels.ON_DEMAND))),
            )
        ),
        capacity=resources(cpu=cpu, memory=f"{4 * cpu}Gi", pods=58),
        offerings=tuple(
            Offering(zone, way, price * (0.4 if way == labels.SPOT else 1))
            for zone in zones
            for way in (labels.ON_DEMAND, labels.SPOT)
        ),
    )


def instance(
    name: str = "i-1",
    *,
    zone: str = "a",
    launched: float = 0,
    tags: Mapping[str, str] | None = None,
    state: InstanceState = InstanceState.RUNNING,
) -> Instance:
    """An instance that was launched so many seconds after the start."""
    return Instance(
        id=name,
        instance_type="m5.large",
        zone=zone,
        capacity_type=labels.SPOT,
        state=state,
        launched_at=at(launched),
        image_id="ami-1",
        price=0.04,
        tags=tags or {},
        capacity=resources(cpu=2, pods=29),
        allocatable=resources(cpu="1900m", pods=29),
    )


def conditions(*kinds: str, since: float = 0) -> tuple[Condition, ...]:
    """Conditions that hold since so many seconds after the start."""
    return tuple(Condition(type=kind, status=Status.TRUE, since=at(since)) for kind in kinds)


def view(
    name: str = "c1",
    *,
    room: Resources | None = None,
    of_claim: Mapping[str, Any] | None = None,
    of_node: Mapping[str, Any] | None = None,
) -> NodeView:
    """A claim `name` in use, with its node `node-name`. Fields of either can be set."""
    size = room or resources(cpu=4, pods=10)
    provider_id = f"aws:///a/i-{name}"
    in_use: dict[str, Any] = {
        "node_name": f"node-{name}",
        "conditions": conditions(LAUNCHED, REGISTERED, INITIALIZED),
    }
    return NodeView(
        claim=replace(claim(name, provider_id=provider_id, room=size), **{**in_use, **(of_claim or {})}),
        node=replace(node(f"node-{name}", provider_id=provider_id, room=size), **(of_node or {})),
    )


def claim_of(view_: NodeView) -> NodeClaim:
    assert view_.claim is not None
    return view_.claim


def node_of(view_: NodeView) -> Node:
    assert view_.node is not None
    return view_.node


def changed(view_: NodeView, *pods: Pod, going: bool = False) -> NodeChanged:
    return NodeChanged(name=view_.name, view=view_, going=going, pods=pods)


def gone(name: str) -> NodeChanged:
    return NodeChanged(name=name, view=None)
