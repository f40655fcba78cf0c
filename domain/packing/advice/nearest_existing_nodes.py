"""The existing nodes on which pods came nearest to a place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from treenail.domain.model.counted import counted
from treenail.domain.model.pods import HostPort, PodSpec
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import PODS, format_amount
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import TINY, Bools, Floats, Indices
from treenail.domain.packing.arrays.likeness import hint, likest, likest_of
from treenail.domain.packing.existing.existing_nodes import tolerated
from treenail.domain.packing.offers.masks import NodeMasks
from treenail.domain.packing.pods.demands import Demands
from treenail.domain.packing.pods.relaxation import RelaxationLevel, Wants, relaxation_of
from treenail.domain.packing.pods.terms import ports_conflict
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values
from treenail.domain.packing.refusals.refusal_details import not_tolerated, out_of_reach, port_taken

# Stages in the order of the scheduler's filters: whoever fails late came nearer. A cluster has far more nodes
# that are tainted or unlike than nodes that are nearly free.
_TAINTED, _UNLIKE, _FULL, _TAKEN = range(4)


class NearestExistingNodes:
    """Ranks N open nodes by how far a pod would come on each: taints, then labels, then what is free."""

    def __init__(self, existing_nodes: Sequence[ExistingNode]) -> None:
        self._existing_nodes = tuple(existing_node for existing_node in existing_nodes if existing_node.open)
        self._masks = NodeMasks([existing_node.labels for existing_node in self._existing_nodes])
        self._overdrawn: Bools = np.array(
            [min(existing_node.free.values(), default=0) < 0 for existing_node in self._existing_nodes], bool
        )
        self._free: dict[str, Floats] = {}

    def nearest(self, spec: PodSpec, count: int) -> tuple[ExistingNode, ...]:
        """Return the `count` nodes on which a pod would come furthest, the furthest first."""
        # All preferences are given up, tolerance of PreferNoSchedule taints included: a preference never is
        # what refuses the pod.
        required = relaxation_of(spec, Wants(soft_taints=True), Demands()).required
        if not required or not self._existing_nodes:
            return ()
        # Sorted by two keys, the stage first. The sort is stable: of equal nodes the first in Karpenter's
        # order.
        stage, share = self._progress(spec, required)
        return tuple(self._existing_nodes[at] for at in np.lexsort((-share, -stage))[:count])

    def _progress(self, spec: PodSpec, required: Sequence[RelaxationLevel]) -> tuple[Indices, Floats]:
        """Return how far a pod comes on each node (N), and what share of its requests is free there (N)."""
        # One met alternative is enough. Over all nodes in one array: there may be thousands, and few are
        # named in the end.
        alike = np.zeros(len(self._existing_nodes), dtype=np.bool_)
        for level in required:
            alike |= self._masks.meeting((*level.requirements.values(), *level.present.values()))
        # The scarcest resource decides how much of the pod fits: a node with nine tenths of all it asks for
        # is nearer than one with all its memory and no cpu.
        share = np.where(self._overdrawn, 0.0, 1.0)
        for name, amount in spec.requests.items():
            np.minimum(share, self._free_of(name) / max(amount, TINY), out=share)
        stage = np.full(len(self._existing_nodes), _TAKEN, dtype=np.intp)
        # Written from the last stage to the first, so that the first failure is what stays.
        stage[share < 1.0] = _FULL
        stage[~alike] = _UNLIKE
        stage[~tolerated(self._existing_nodes, required[0].tolerations)] = _TAINTED
        return stage, share

    def _free_of(self, name: str) -> Floats:
        if name not in self._free:
            self._free[name] = np.array(
                [float(existing_node.free.get(name, 0)) for existing_node in self._existing_nodes]
            )
        return self._free[name]


def against(spec: PodSpec, volumes: VolumeNeeds | None, existing_node: ExistingNode) -> Refusal | None:
    """Return the first reason against a pod in `existing_node`, None where only topology terms can be."""
    required = relaxation_of(spec, Wants(soft_taints=True), Demands()).required
    if not required:
        return None
    refuse = partial(Refusal, "", node=existing_node.name)
    # In the order of `Reason`, so that what is said of a node can be compared with what pools say.
    taint = untolerated(existing_node.taints, required[0].tolerations)
    if taint is not None:
        return refuse(Reason.UNTOLERATED_TAINT, *not_tolerated(taint, spec.tolerations))
    known = Requirements.from_labels(existing_node.labels)
    conflicts = [known.conflict(r.requirements) or known.conflict(r.present) for r in required]
    if all(conflicts):
        first = next(c for c in conflicts if c is not None)
        return refuse(*_unlike(first, known))
    short = spec.requests.shortages(existing_node.free)
    # More may be bound than is allocatable: after the kubelet's reserve grew, say. Such a node takes no pod,
    # not even one that asks for none of that.
    overdrawn = sorted(name for name, amount in existing_node.free.items() if amount < 0)
    if overdrawn and not short:
        name = overdrawn[0]
        detail = f"it is overdrawn by {format_amount(name, -existing_node.free[name])} of {name}"
        return refuse(Reason.NODE_FULL, detail, Values(name))
    if short:
        return refuse(Reason.NODE_FULL, *_full(spec, existing_node, short))
    port = _taken(spec, existing_node)
    if port is not None:
        return refuse(Reason.HOST_PORT_TAKEN, *port_taken(port, "there"))
    return _against_volumes(volumes, existing_node) if volumes is not None else None


def _against_volumes(volumes: VolumeNeeds, existing_node: ExistingNode) -> Refusal | None:
    known = Requirements.from_labels(existing_node.labels)
    unreached = [known.conflict(alternative) for alternative in volumes.alternatives]
    if all(unreached):
        first = next(c for c in unreached if c is not None)
        said = out_of_reach(first, known.get(first.key), "node", volumes)
        return Refusal("", *said, node=existing_node.name)
    for driver, left in sorted(existing_node.attachable.items()):
        fresh, known_there = volumes.of(driver)
        # A volume that is attached already, for another pod on the node, takes no further place.
        wanted = fresh + sum(one not in existing_node.attached for one in known_there)
        if wanted > left:
            detail = (
                f"{counted(wanted, 'more volume')} of {driver} would have to be attached, and {left} can be"
            )
            values = Values(driver, str(wanted), (str(left),))
            return Refusal("", Reason.VOLUME_LIMIT, detail, values, node=existing_node.name)
    return None


def _unlike(conflict: Requirement, known: Requirements) -> tuple[Reason, str, Values]:
    own, asked = known.get(conflict.key), str(conflict)
    if own is None:
        near = likest(conflict.key, known)
        detail = f"{conflict} is asked for, and the node does not have that label{hint(near)}"
        return Reason.UNDEFINED_LABEL, detail, Values(conflict.key, asked, (), near)
    near = likest_of(conflict.values, own.values)
    detail = f"{conflict} is asked for, and the node has {own}{hint(near)}"
    values = Values(conflict.key, asked, tuple(sorted(own.values)), near)
    return Reason.INCOMPATIBLE_REQUIREMENT, detail, values


def _full(spec: PodSpec, existing_node: ExistingNode, short: Sequence[str]) -> tuple[str, Values]:
    """Return the sentence and values for the resource that falls short most; pods first, of a full node."""
    name = (
        PODS
        if PODS in short
        else min(short, key=lambda name: existing_node.free.get(name, 0) / spec.requests[name])
    )
    wanted = format_amount(name, spec.requests[name])
    free = format_amount(name, max(existing_node.free.get(name, 0), 0))
    return f"{name} {wanted} is asked for, and {free} is free", Values(name, wanted, (free,))


def _taken(spec: PodSpec, existing_node: ExistingNode) -> HostPort | None:
    """Return the first host port of a pod that another one has in `existing_node`, if any."""
    held = [port for resident, _ in existing_node.residents for port in resident.host_ports]
    return next((own for own in spec.host_ports if any(ports_conflict(own, other) for other in held)), None)
