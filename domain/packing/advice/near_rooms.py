"""How near pods came to a place on each of the nodes that are there, or on their way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treenail.domain.model.pods import HostPort, PodSpec
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import PODS, format_amount
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import TINY, Bools, Floats, Indices
from treenail.domain.packing.arrays.likeness import hint, likest, likest_of
from treenail.domain.packing.existing.rooms import tolerated
from treenail.domain.packing.offers.masks import NodeMasks
from treenail.domain.packing.pods.demands import Demands
from treenail.domain.packing.pods.ladder import Rung, Wants, ladder_of
from treenail.domain.packing.pods.terms import ports_conflict
from treenail.domain.packing.problem import Room, VolumeNeeds
from treenail.domain.packing.reasons import Reason, Refusal, Values
from treenail.domain.packing.refusals.refusal_details import not_tolerated, out_of_reach, port_taken

_TAINTED, _UNLIKE, _FULL, _TAKEN = range(4)


class NearRooms:
    """Ranks N open rooms by how far a pod would come in each: taints, then labels, then what is free."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        self._rooms = tuple(room for room in rooms if room.open)
        self._masks = NodeMasks([room.labels for room in self._rooms])
        self._overdrawn: Bools = np.array(
            [min(room.free.values(), default=0) < 0 for room in self._rooms], bool
        )
        self._free: dict[str, Floats] = {}

    def nearest(self, spec: PodSpec, count: int) -> tuple[Room, ...]:
        """Return the `count` rooms in which a pod would come furthest, those first."""
        required = ladder_of(spec, Wants(soft_taints=True), Demands()).required
        if not required or not self._rooms:
            return ()
        stage, share = self._progress(spec, required)
        return tuple(self._rooms[at] for at in np.lexsort((-share, -stage))[:count])

    def _progress(self, spec: PodSpec, required: Sequence[Rung]) -> tuple[Indices, Floats]:
        """Return how far a pod comes in each room (N), and what share of its requests is free there (N)."""
        alike = np.zeros(len(self._rooms), dtype=np.bool_)
        for rung in required:
            alike |= self._masks.meeting((*rung.requirements.values(), *rung.present.values()))
        share = np.where(self._overdrawn, 0.0, 1.0)
        for name, amount in spec.requests.items():
            np.minimum(share, self._free_of(name) / max(amount, TINY), out=share)
        stage = np.full(len(self._rooms), _TAKEN, dtype=np.intp)
        stage[share < 1.0] = _FULL
        stage[~alike] = _UNLIKE
        stage[~tolerated(self._rooms, required[0].tolerations)] = _TAINTED
        return stage, share

    def _free_of(self, name: str) -> Floats:
        if name not in self._free:
            self._free[name] = np.array([float(room.free.get(name, 0)) for room in self._rooms])
        return self._free[name]


def against(spec: PodSpec, volumes: VolumeNeeds | None, room: Room) -> Refusal | None:
    """Return the first reason against a pod in `room`, None where only topology terms can be."""
    required = ladder_of(spec, Wants(soft_taints=True), Demands()).required
    if not required:
        return None
    taint = untolerated(room.taints, required[0].tolerations)
    if taint is not None:
        return Refusal("", Reason.UNTOLERATED_TAINT, *not_tolerated(taint, spec.tolerations), node=room.name)
    known = Requirements.from_labels(room.labels)
    conflicts = [known.conflict(r.requirements) or known.conflict(r.present) for r in required]
    if all(conflicts):
        first = next(c for c in conflicts if c is not None)
        return Refusal("", *_unlike(first, known), node=room.name)
    short = spec.requests.shortages(room.free)
    overdrawn = sorted(name for name, amount in room.free.items() if amount < 0)
    if overdrawn and not short:
        name = overdrawn[0]
        detail = f"it is overdrawn by {format_amount(name, -room.free[name])} of {name}"
        return Refusal("", Reason.NODE_FULL, detail, Values(name), node=room.name)
    if short:
        return Refusal("", Reason.NODE_FULL, *_full(spec, room, short), node=room.name)
    port = _taken(spec, room)
    if port is not None:
        return Refusal("", Reason.HOST_PORT_TAKEN, *port_taken(port, "there"), node=room.name)
    return _against_volumes(volumes, room) if volumes is not None else None


def _against_volumes(volumes: VolumeNeeds, room: Room) -> Refusal | None:
    known = Requirements.from_labels(room.labels)
    unreached = [known.conflict(alternative) for alternative in volumes.alternatives]
    if all(unreached):
        first = next(c for c in unreached if c is not None)
        said = out_of_reach(first, known.get(first.key), "node")
        return Refusal("", Reason.VOLUME_TOPOLOGY, *said, node=room.name)
    for driver, left in sorted(room.attachable.items()):
        fresh, known_there = volumes.of(driver)
        wanted = fresh + sum(one not in room.attached for one in known_there)
        if wanted > left:
            named = "volume" if wanted == 1 else "volumes"
            detail = f"{wanted} more {named} of {driver} would have to be attached, and {left} can be"
            values = Values(driver, str(wanted), (str(left),))
            return Refusal("", Reason.VOLUME_LIMIT, detail, values, node=room.name)
    return None


def _unlike(conflict: Requirement, known: Requirements) -> tuple[Reason, str, Values]:
    own, asked = known.get(conflict.key), str(conflict)
    if own is None:
        near = likest(conflict.key, known)
        detail = f"{conflict} is asked for, and the node does not have that label{hint(near)}"
        return Reason.UNDEFINED_LABEL, detail, Values(conflict.key, asked, (), near)
    near = likest_of(conflict.values, own.values)
    detail = f"{conflict} is asked for, and the node has {own}{hint(near)}"
    return (
        Reason.INCOMPATIBLE_REQUIREMENT,
        detail,
        Values(conflict.key, asked, tuple(sorted(own.values)), near),
    )


def _full(spec: PodSpec, room: Room, short: Sequence[str]) -> tuple[str, Values]:
    """Say of which resource the least share of what is asked for is free; a full node is full of pods."""
    name = (
        PODS if PODS in short else min(short, key=lambda name: room.free.get(name, 0) / spec.requests[name])
    )
    wanted = format_amount(name, spec.requests[name])
    free = format_amount(name, max(room.free.get(name, 0), 0))
    return f"{name} {wanted} is asked for, and {free} is free", Values(name, wanted, (free,))


def _taken(spec: PodSpec, room: Room) -> HostPort | None:
    """Return the first host port of a pod that another one has in `room`, if any."""
    held = [port for resident, _ in room.residents for port in resident.host_ports]
    return next((own for own in spec.host_ports if any(ports_conflict(own, other) for other in held)), None)
