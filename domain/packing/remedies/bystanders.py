"""Nodes that pods are not tried on, put together as far as those on them mean the same to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from treenail.domain import labels
from treenail.domain.packing.problem import Resident, Room
from treenail.domain.pods import PodSpec
from treenail.domain.taints import Taint

_Kind: TypeAlias = tuple[tuple[str | None, ...], tuple[Taint, ...]]


def bystanders(rooms: Sequence[Room], spec: PodSpec) -> tuple[Room, ...]:
    """Return one closed room for all those of `rooms` that `spec` and those on them cannot tell apart.

    Of rooms put together the first gives its name: that they are several nodes is lost. For a new node,
    which is a host of its own, it makes no difference.
    """
    keys = sorted(_keys(rooms, spec) - {labels.HOSTNAME})
    kinds: dict[_Kind, list[Room]] = {}
    for room in rooms:
        kind = tuple(room.labels.get(key) for key in keys), room.taints
        kinds.setdefault(kind, []).append(room)
    return tuple(_together(alike) for alike in kinds.values())


def _together(alike: Sequence[Room]) -> Room:
    counts: dict[Resident, int] = {}
    for room in alike:
        for resident, count in room.residents:
            counts[resident] = counts.get(resident, 0) + count
    return replace(alike[0], open=False, residents=tuple(counts.items()))


def _keys(rooms: Iterable[Room], spec: PodSpec) -> set[str]:
    """Return the labels by which nodes may differ to the pods on them, or to those to be placed."""
    residents = {resident for room in rooms for resident, _ in room.residents}
    keys = {term.topology_key for resident in residents for term in resident.anti_affinity}
    keys |= {term.topology_key for term in spec.pod_affinity} | {s.topology_key for s in spec.spread}
    return keys | {key for wanted in spec.alternatives() for key in wanted}
