"""Early binding of pods to a node whose machine has not joined: which pods, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.nodes import (
    MACHINE_NOT_JOINED,
    READY,
    Condition,
    Node,
    NodeClaim,
    NodeView,
    Status,
    awaited,
)
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.taints import NOT_READY, UNREACHABLE, Effect, Taint, untolerated

DEFAULT_SCHEDULER: Final = "default-scheduler"
_BOOT_SECONDS: Final = 180
# Taints of the controller manager on nodes that are not ready. By default pods tolerate them for 300 s.
_DRIVING_OUT: Final = (Taint(NOT_READY.key, Effect.NO_EXECUTE), Taint(UNREACHABLE, Effect.NO_EXECUTE))


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeNode:
    """Make the node of a claim, as its machine's kubelet would find it."""

    claim: NodeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class BindPods:
    """Bind these pods to a node that was made early."""

    node: str
    pods: tuple[Pod, ...]


EarlyStep: TypeAlias = "MakeNode | BindPods | None"


def early_step(view: NodeView, promised: Sequence[Pod]) -> EarlyStep:
    """Return what can be done for `promised` pods before the machine of their claim joins.

    A node that came by itself is left to the scheduler, and so is one that somebody speaks for already.
    """
    claim, node = view.claim, view.node
    if claim is None or claim.leaving or not claim.launched or claim.registered:
        return None
    pods = tuple(pod for pod in promised if may_bind(pod, claim))
    if not pods:
        return None
    if node is None:
        return MakeNode(claim=claim)
    return BindPods(node=node.name, pods=pods) if awaited(node) else None


def may_bind(pod: Pod, claim: NodeClaim) -> bool:
    """Return whether nothing is left to the scheduler about a pod that was promised a place on `claim`.

    Its volumes could still be bound elsewhere, topology counts every pod that is bound meanwhile, and a
    startup taint asks to wait for something: such pods go the ordinary way. So do those that would not
    stay on a node that is not ready while a machine boots.
    """
    spec = pod.spec
    open_topology = any(s.hard for s in spec.spread) or any(a.weight is None for a in spec.pod_affinity)
    return (
        pod.provisionable
        and spec.scheduler_name == DEFAULT_SCHEDULER
        and not (spec.scheduling_gates or spec.volumes or spec.resource_claims or open_topology)
        and _patient(pod)
        and untolerated((*claim.taints, *claim.startup_taints), spec.tolerations) is None
    )


def _patient(pod: Pod) -> bool:
    """Return whether a pod stays on a node that is not ready or not reachable for as long as a boot takes."""
    return not any(
        toleration.seconds is not None and toleration.seconds < _BOOT_SECONDS and toleration.tolerates(taint)
        for toleration in pod.spec.tolerations
        for taint in _DRIVING_OUT
    )


def early_node(claim: NodeClaim, name: str, now: datetime) -> Node:
    """Return the node to make for `claim`. Its machine goes by `name`.

    The taint that keeps pods away must not evict the pods that are bound here, so it is not the taint of an
    unregistered node. A kubelet that finds its node there uses it as it is.
    """
    return Node(
        name=name,
        labels={**claim.labels, labels.HOSTNAME: name},
        annotations={labels.MADE_EARLY: claim.name},
        owners=(
            Owner(
                kind=claim.generation.claim_kind,
                name=claim.name,
                uid=claim.uid,
                api_version=f"karpenter.sh/{claim.generation.value}",
                controller=False,
                block_deletion=True,
            ),
        ),
        finalizers=(labels.TERMINATION_FINALIZER,),
        taints=(*claim.taints, *claim.startup_taints, NOT_READY),
        provider_id=claim.provider_id,
        capacity=claim.capacity,
        allocatable=claim.allocatable,
        # From a node that says nothing of itself the controller manager takes the taint away.
        conditions=(
            Condition(
                type=READY,
                status=Status.FALSE,
                reason=MACHINE_NOT_JOINED,
                message="the machine has not joined yet",
                since=now,
            ),
        ),
        created_at=now,
    )
