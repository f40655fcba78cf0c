"""Backfill: puts pods into what is left on nodes that are planned already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, count_fitting, holds
from treenail.domain.packing.nodes.filling import fill
from treenail.domain.packing.offers.node_options import NodeOption, NodeOptions
from treenail.domain.packing.planned.node_rules import NodeRules
from treenail.domain.packing.planned.planned_nodes import PlannedNode, added
from treenail.domain.packing.planned.pod_groups import PodGroup


def backfill(
    planned_nodes: Sequence[PlannedNode],
    option: NodeOption,
    pod_groups: Sequence[PodGroup],
    left: Floats,
    options: NodeOptions,
    rules: NodeRules,
) -> list[PlannedNode]:
    """Return `planned_nodes` with units of `pod_groups`, which ask for `option`, added where that is free.

    `left` (I) is how many units of each pod group there are; those that found a place are taken off.
    """
    if not planned_nodes:
        return []
    requests = np.array([pod_group.requests for pod_group in pod_groups])
    ruled = [i for i, pod_group in enumerate(pod_groups) if not rules.free(pod_group)]
    free = np.array([rules.free(pod_group) for pod_group in pod_groups], dtype=np.bool_)
    filled: list[PlannedNode] = []
    least = np.minimum.reduce(requests)
    rooms = np.array([planned_node.option.room[planned_node.row] for planned_node in planned_nodes]).reshape(
        len(planned_nodes), len(least)
    )
    loads = np.array([planned_node.load for planned_node in planned_nodes]).reshape(rooms.shape)
    # All nodes at once: a node that has not even the least that any group asks for is not looked at further.
    roomy = holds(rooms - loads, least).tolist()
    for at, planned_node in enumerate(planned_nodes):
        now = _same_node(planned_node, option, options) if roomy[at] else None
        copies = planned_node.copies
        while now is not None and copies and np.logical_or.reduce(left):
            counts = _added(planned_node, pod_groups, requests, left, free, ruled, rules)
            held = counts > 0
            if not np.logical_or.reduce(held):
                break
            # As many copies as the units last for get the same; the rest of the copies are asked again.
            alike = int(min(copies, (left[held] // counts[held]).min()))
            left -= alike * counts
            copies -= alike
            more = {
                pod_group.index: int(count)
                for pod_group, count in zip(pod_groups, counts, strict=True)
                if count
            }
            parts = added(planned_node.parts, more)
            filled.append(PlannedNode(*now, planned_node.load + counts @ requests, parts, alike))
        if copies:
            filled.append(
                planned_node if copies == planned_node.copies else replace(planned_node, copies=copies)
            )
    return filled


def _added(
    planned_node: PlannedNode,
    pod_groups: Sequence[PodGroup],
    requests: Floats,
    left: Floats,
    free: Bools,
    ruled: Sequence[int],
    rules: NodeRules,
) -> Floats:
    """Return how many units of each pod group fit beside what one copy holds, those with rules first."""
    counts, room = np.zeros(len(pod_groups)), planned_node.free
    able = (left > 0) & holds(room, requests)
    if ruled:
        colocated = rules.colocated(planned_node.parts)
        # Those with rules first: they can go onto fewer nodes, and each may shut others out.
        for i in (able & ~free).nonzero()[0].tolist():
            most = min(rules.most(colocated, pod_groups[i]), left[i])
            units = min(most, float(count_fitting(room, requests[i]))) if most else 0.0
            if units >= 1:
                counts[i] = units
                room = room - units * requests[i]
                rules.join(colocated, pod_groups[i], int(units))
    rest = (able & free).nonzero()[0]
    if len(rest):
        none = np.zeros((1, len(rest)))
        counts[rest] = fill(room[np.newaxis], requests[rest], left[np.newaxis, rest], none)[0]
    return counts


def _same_node(
    planned_node: PlannedNode, option: NodeOption, options: NodeOptions
) -> tuple[NodeOption, int] | None:
    """Return what the node becomes as one of `option` too, if it stays of its type and costs no more."""
    narrowed = options.meet(planned_node.option, option)
    # With minValues, a narrower option has less usable room.
    if narrowed is None or (narrowed is not planned_node.option and narrowed.min_values is not None):
        return None
    rows = (narrowed.types == planned_node.option.types[planned_node.row]).nonzero()[0]
    # The price may have risen by narrowing, where the cheapest offering is not allowed any more.
    if not len(rows) or narrowed.prices[rows[0]] > planned_node.price:
        return None
    return narrowed, int(rows[0])
