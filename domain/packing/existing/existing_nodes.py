"""Existing nodes as arrays, and what is free on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treenail.domain.model.taints import Taint, Toleration, untolerated
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats, Indices, count_fitting, holds
from treenail.domain.packing.arrays.attachable_volumes import (
    AttachableVolumes,
    AttachmentChanges,
    SavedAttachments,
)
from treenail.domain.packing.arrays.changes import Changes
from treenail.domain.packing.offers.masks import NodeMasks
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds


@dataclass(frozen=True, slots=True, eq=False)
class SavedRoom:
    """The free room on existing nodes (N, R), and the number of volumes attached, at one moment."""

    free: Floats
    attached: SavedAttachments


@dataclass(frozen=True, slots=True, eq=False)
class RoomChanges:
    """Changes of the free resources of existing nodes, and of the volumes attached to them."""

    free: Changes
    attached: AttachmentChanges


class ExistingNodes:
    """N existing nodes in the order they are filled, and what is free on each."""

    def __init__(self, existing_nodes: Sequence[ExistingNode], axis: Axis) -> None:
        self.names = tuple(existing_node.name for existing_node in existing_nodes)
        self._existing_nodes = existing_nodes
        self._free: Floats = axis.rooms([existing_node.free for existing_node in existing_nodes])
        # Overdrawn in whatever resource, a node holds nothing more.
        self._usable = np.array(
            [
                existing_node.open and min(existing_node.free.values(), default=0) >= 0
                for existing_node in existing_nodes
            ],
            dtype=np.bool_,
        )
        # Labels and taints never change while a plan is made, so the nodes of a demand are found once. Only
        # what is free changes.
        self._masks = NodeMasks([existing_node.labels for existing_node in existing_nodes])
        # Volumes are no column of the resources: one that is attached already takes no place, and several
        # pods may share it.
        self._attachments = AttachableVolumes(existing_nodes)
        self._open_to: dict[Demand, Indices] = {}
        self._parts: dict[tuple[str, ...], tuple[Indices, int]] = {}
        self._at_first = self._free.copy()
        # The last answer of `fits`, for which rows and requests, until a pod is placed: a class is asked for
        # the same at each of its relaxation levels.
        self._looked: tuple[Indices, Floats, Floats] | None = None

    def save(self) -> SavedRoom:
        """Return what is free now, to go back to with `restore`."""
        return SavedRoom(self._free.copy(), self._attachments.save())

    def restore(self, saved: SavedRoom) -> None:
        """Take off all pods placed since `saved`, and open what was closed since."""
        self._free = saved.free.copy()
        self._attachments.restore(saved.attached)
        self._looked = None

    def changes_since(self, saved: SavedRoom) -> RoomChanges:
        """Return what changed since `saved`, to make again with `make`."""
        return RoomChanges(
            Changes.between(saved.free, self._free), self._attachments.changes_since(saved.attached)
        )

    def make(self, changes: RoomChanges) -> None:
        """Make changes again, from the state that they began in."""
        changes.free.make(self._free)
        self._attachments.make(changes.attached)
        self._looked = None

    def free(self, rows: Indices) -> Floats:
        """Return the free resources (M, R) of `rows` (M), for `reopen`."""
        return self._free[rows].copy()

    def reopen(self, rows: Indices, free: Floats) -> None:
        """Open `rows` (M), which were closed, with the free resources `free` (M, R)."""
        self._free[rows] = free
        self._looked = None

    def close(self, rows: Indices) -> None:
        """Close `rows` (M): no more pods are placed there."""
        # Each pod takes one of the places for pods at least, so less than nothing holds none.
        self._free[rows] = -1.0
        self._looked = None

    def clear(self) -> None:
        """Take off all pods that were placed: the next attempt begins with what was free at first."""
        self._free = self._at_first.copy()
        self._attachments = AttachableVolumes(self._existing_nodes)
        self._looked = None

    def open_to(self, demand: Demand) -> Indices:
        """Return the rows (M), in order, of the existing nodes whose labels and taints suit `demand`."""
        rows = self._open_to.get(demand)
        if rows is None:
            mask = self._usable & tolerated(self._existing_nodes, demand.tolerations)
            # Tainted or closed nodes leave nothing in many clusters: then labels need no look.
            if np.logical_or.reduce(mask):
                mask &= self._masks.meeting((*demand.requirements.values(), *demand.present.values()))
            rows = self._open_to[demand] = mask.nonzero()[0]
        return rows

    def could_take(self, demand: Demand, requests: Floats) -> bool:
        """Return whether some node that suits `demand` held `requests` (R) before any pod was placed."""
        rows = self.open_to(demand)
        return bool(len(rows)) and bool(np.logical_or.reduce(holds(self._at_first[rows], requests)))

    def described(self, row: int) -> ExistingNode:
        """Return an existing node (by row) as it was told at first."""
        return self._existing_nodes[row]

    def labels(self, row: int) -> Mapping[str, str]:
        """Return the labels of an existing node (by row)."""
        return self._existing_nodes[row].labels

    def parts(self, keys: tuple[str, ...]) -> tuple[Indices, int]:
        """Return a number for each node (N), equal where the labels `keys` are, and how many there are.

        Labels never change while a plan is made, so nodes are parted once for each tuple of keys.
        """
        known = self._parts.get(keys)
        if known is None:
            numbers: Indices = np.zeros(len(self.names), dtype=np.intp)
            many = 1
            for key in keys:
                values, codes = self._masks.values(key)
                # Numbered anew after each key, so that no product of many keys grows too large.
                found, numbers = np.unique(numbers * max(1, len(values)) + codes, return_inverse=True)
                many = len(found)
            known = self._parts[keys] = (numbers, many)
        return known

    def fits(self, rows: Indices, requests: Floats, volumes: VolumeNeeds | None) -> Floats:
        """Return how many pods of `requests` (R) each of `rows` (M) can take (M). Not to be changed."""
        looked = self._looked
        # By identity: rows of one demand and requests of one class are one array each.
        if looked is None or looked[0] is not rows or looked[1] is not requests:
            looked = self._looked = (rows, requests, count_fitting(self._free[rows], requests))
        if volumes is not None:
            return np.minimum(looked[2], self._attachments.fits(rows, volumes))
        return looked[2]

    def take(self, rows: Indices, counts: Floats, requests: Floats, volumes: VolumeNeeds | None) -> None:
        """Place `counts` (M) pods of `requests` (R) on each of `rows` (M); take them off where negative."""
        self._free[rows] -= counts[:, np.newaxis] * requests
        self._looked = None
        if volumes is not None:
            self._attachments.take(rows, counts, volumes)


def tolerated(existing_nodes: Sequence[ExistingNode], tolerations: tuple[Toleration, ...]) -> Bools:
    """Return which existing nodes (N) have no taint but those tolerated."""
    # Nodes of one pool bear equal taints: each different tuple is judged once.
    verdicts: dict[tuple[Taint, ...], bool] = {}
    for existing_node in existing_nodes:
        if existing_node.taints not in verdicts:
            verdicts[existing_node.taints] = untolerated(existing_node.taints, tolerations) is None
    return np.array([verdicts[existing_node.taints] for existing_node in existing_nodes], dtype=np.bool_)
