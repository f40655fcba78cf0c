"""The result of applying an object over one of the same name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from treenail.adapters.api.workloads import ApiObject, Job, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster.objects import address_of, spoken
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota

# What may be applied to objects that others write to as well.
_APPLICABLE: Final = {
    Pod: ("labels", "annotations"),
    Node: ("labels", "annotations", "taints", "unschedulable"),
    NodeClaim: ("labels", "annotations"),
}
_FIXED: Final = {
    Pod: ("spec",),
    Node: ("provider_id",),
    NodeClaim: (
        "pool",
        "node_class",
        "requirements",
        "requests",
        "taints",
        "startup_taints",
        "termination_grace_period",
        "expire_after",
    ),
}


def updated(known: ApiObject, new: ApiObject) -> ApiObject:
    """Return `known` as it is after `new` was applied to it.

    Raises:
        InvalidError: it would change what is fixed.
    """
    if isinstance(new, Pod | Node | NodeClaim):
        return _with_applicable(known, new)
    new = replace(new, uid=known.uid, resource_version=known.resource_version)
    match new:
        case NodePool():
            return _pool(known, new)
        case NodeClass():
            return _node_class(known, new)
        case PodDisruptionBudget() if isinstance(known, PodDisruptionBudget):
            return replace(new, disruptions_allowed=known.disruptions_allowed)
        case ReplicaSet() if isinstance(known, ReplicaSet):
            return replace(new, owners=known.owners, failure=known.failure)
        case ResourceQuota() if isinstance(known, ResourceQuota):
            return replace(new, used=known.used)
        case StatefulSet() if isinstance(known, StatefulSet):
            return replace(new, revision=known.revision)
        case CapacityBuffer() | StoredPodTemplate() if isinstance(known, CapacityBuffer | StoredPodTemplate):
            same = replace(new, generation=known.generation)
            return same if same == known else replace(new, generation=known.generation + 1)
        case Job() if isinstance(known, Job):
            return _job(known, new)
        case _:
            return new


def _job(known: Job, new: Job) -> Job:
    """Return a Job whose parallelism may be changed, and whether it is suspended."""
    for name in ("template", "completions", "indexed"):
        if getattr(known, name) != getattr(new, name):
            raise InvalidError(f"{spoken(address_of(new))}: {name} cannot be changed")
    return replace(known, parallelism=new.parallelism, suspended=new.suspended, labels=new.labels)


def _with_applicable(known: ApiObject, new: Pod | Node | NodeClaim) -> ApiObject:
    taken: dict[str, Any] = {field: getattr(new, field) for field in _APPLICABLE[type(new)]}
    if isinstance(new, Pod) and isinstance(known, Pod):
        known = _opened(known, new)
    for field in _FIXED[type(new)]:
        if getattr(known, field) != getattr(new, field):
            raise InvalidError(f"{spoken(address_of(new))}: {field} cannot be changed")
    return replace(known, **taken)


def _opened(known: Pod, new: Pod) -> Pod:
    """Return a pod without the scheduling gates that `new` has not: they alone may go from a spec."""
    gates = tuple(gate for gate in known.spec.scheduling_gates if gate in new.spec.scheduling_gates)
    if gates == known.spec.scheduling_gates:
        return known
    return replace(known, spec=replace(known.spec, scheduling_gates=gates))


def _pool(known: ApiObject, new: NodePool) -> ApiObject:
    if not isinstance(known, NodePool) or known.generation is not new.generation:
        raise InvalidError(f"{spoken(address_of(new))}: there is one of another API generation")
    return replace(new, deleting=known.deleting)


def _node_class(known: ApiObject, new: NodeClass) -> ApiObject:
    if not isinstance(known, NodeClass):
        return replace(new, generation=1, deleting=False, finalizers=())
    same = replace(new, generation=known.generation, deleting=known.deleting, finalizers=known.finalizers)
    return known if same == known else replace(same, generation=same.generation + 1)
