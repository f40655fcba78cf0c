"""The claim that is written for a planned node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.model import labels
from treenail.domain.model.claims import COUNTS_AS, DECISION, EXPECTED, PROMISED, REPLACES, write_amounts
from treenail.domain.model.gpu_models import NVIDIA_DRIVER
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import FOREVER, NodeClaim
from treenail.domain.model.pods import Owner
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.pods.counted_devices import is_device_kind, without_devices

# The types, which are written anew, and names, which no claim can ask for: a node has none before it exists.
_NOT_WRITTEN: Final = (labels.INSTANCE_TYPE, labels.HOSTNAME, labels.NODE_NAME)
# The domains whose labels are Karpenter's to define.
_OURS: Final = ("karpenter.sh", "karpenter.k8s.aws")
# Labels that a launch decides on, or that a node has by itself.
_TOLD: Final = labels.WELL_KNOWN.union(_NOT_WRITTEN)


def claim_name(pool: str, decision: str, index: int) -> str:
    """Return the name of a decision's claim: writing it twice meets itself."""
    return f"{pool}-{decision}-{index}"


def claim_for(
    planned: PlannedClaim,
    pods: Iterable[str],
    *,
    pool: NodePool,
    decision: Decision,
    index: int,
    now: datetime,
    replaces: Iterable[str] = (),
    expected: Resources = NOTHING,
) -> NodeClaim:
    """Return the claim to be written for `planned`, the decision's claim number `index`.

    `pods` are the uids of the pods promised a place on it. The claim says so itself, and by which decision,
    so that a restart finds the promises again. `replaces` are the names of the nodes that some of these pods
    are to leave for it; `expected` has, by the uid of an owner, how many pods to come it is for.
    """
    left = ",".join(replaces)
    planned = replace(planned, requirements=_writable(planned.requirements, pool))
    asked = planned.requirements.get(labels.INSTANCE_TYPE)
    least = asked.min_values if asked is not None else None
    asked_of_node = with_own_labels(planned.requirements, pool)
    if planned.instance_types:
        types = Requirement(labels.INSTANCE_TYPE, frozenset(planned.instance_types), min_values=least)
        requirements = asked_of_node.without(_NOT_WRITTEN).with_((types,))
    else:  # planned for no pods: whatever the pool allows
        requirements = asked_of_node.without((labels.HOSTNAME, labels.NODE_NAME))
    custom = {key: value for key, value in requirements.labels().items() if key not in labels.WELL_KNOWN}
    return NodeClaim(
        name=claim_name(pool.name, decision.id, index),
        generation=pool.generation,
        pool=pool.name,
        node_class=pool.node_class,
        labels={**custom, **pool.node_labels},
        annotations={
            **pool.annotations,
            **_choice(planned, pool),
            **({labels.PRICE_OVERLAY_APPLIED: "true"} if planned.price_overlaid else {}),
            **({labels.CAPACITY_OVERLAY_APPLIED: "true"} if planned.capacity_overlaid else {}),
            labels.TRACEPARENT: decision.context.traceparent,
            COUNTS_AS: write_amounts(without_devices(planned.largest)),
            **_drivers(planned),
            DECISION: decision.id,
            PROMISED: ",".join(pods),
            **({REPLACES: left} if left else {}),
            **({EXPECTED: write_amounts(expected)} if expected else {}),
        },
        owners=(Owner(kind=pool.generation.pool_kind, name=pool.name, uid=pool.uid, block_deletion=True),),
        finalizers=(labels.TERMINATION_FINALIZER,),
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        requirements=requirements,
        instance_types=planned.instance_types,
        requests=without_devices(planned.requests),
        termination_grace_period=pool.termination_grace_period,
        expire_after=_expire_after(pool),
        created_at=now,
    )


def _writable(requirements: Requirements, pool: NodePool) -> Requirements:
    """Return the `requirements` that the API server takes in a claim of a pool.

    Pods may ask that a node lacks labels of Karpenter's own domains. New nodes do lack them, unless their
    pool has them, and a NodeClaim may not say so.
    """
    open_to_claims = labels.LEFT_OPEN | {pool.generation.pool_label}
    ours = [key for key in requirements if any(labels.of_domain(key, one) for one in _OURS)]
    return requirements.without(
        key for key in ours if key not in open_to_claims and key not in pool.requirements
    )


def with_own_labels(requirements: Requirements, pool: NodePool) -> Requirements:
    """Return the `requirements` of a new claim with one value left of each label that its pool made up.

    Nothing else gives a node such a label. No two claims of a pool get different values by this alone.
    """
    open_ones = (r for r in requirements.in_order() if r.key in pool.requirements and r.key not in _TOLD)
    chosen = {r.key: value for r in open_ones if r.single is None and (value := r.chosen) is not None}
    return requirements.without(chosen).with_(Requirements.from_labels(chosen))


def _drivers(planned: PlannedClaim) -> dict[str, str]:
    """Return the annotation that names the drivers of the devices a claim is for: all are NVIDIA's."""
    asked = any(map(is_device_kind, planned.requests))
    return {labels.REQUESTED_DRIVERS: NVIDIA_DRIVER} if asked else {}


def _choice(planned: PlannedClaim, pool: NodePool) -> dict[str, str]:
    """Return the annotation that tells whether a claim leaves less choice than its pool asks for."""
    asked = {key: r.min_values for key, r in pool.requirements.items() if r.min_values is not None}
    if not asked:
        return {}
    left = {key: r.min_values or 0 for key, r in planned.requirements.items()}
    relaxed = any(left.get(key, 0) < least for key, least in asked.items())
    return {labels.MIN_VALUES_RELAXED: "true" if relaxed else "false"}


def _expire_after(pool: NodePool) -> timedelta | None:
    """Return what a claim says of its life: claims of the old API leave it to their pool."""
    if pool.generation is Generation.V1ALPHA5:
        return None
    life = pool.disruption.expire_after
    return FOREVER if life is None else life
