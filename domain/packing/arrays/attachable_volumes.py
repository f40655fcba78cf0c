"""Numbers of volumes that can still be attached to nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.arrays.changes import Changes
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds


@dataclass(frozen=True, slots=True, eq=False)
class SavedAttachments:
    """Numbers of volumes that could be attached at one moment, by driver, and that were attached by then."""

    left: Mapping[str, Floats]
    attached: int


@dataclass(frozen=True, slots=True, eq=False)
class AttachmentChanges:
    """Changes of how many volumes could be attached, by driver, and what was attached: (row, volume)."""

    left: Mapping[str, Changes]
    attached: tuple[tuple[int, tuple[str, str]], ...]


class AttachableVolumes:
    """Numbers of volumes that N nodes can still attach, by driver. Only named drivers have a limit."""

    def __init__(self, existing_nodes: Sequence[ExistingNode]) -> None:
        drivers = sorted({driver for existing_node in existing_nodes for driver in existing_node.attachable})
        self._left: dict[str, Floats] = {
            driver: np.array(
                [existing_node.attachable.get(driver, np.inf) for existing_node in existing_nodes]
            )
            for driver in drivers
        }
        # Without any limit nothing is looked up, however many volumes pods have.
        self._attached = [set(existing_node.attached) for existing_node in existing_nodes] if drivers else []
        # What was attached since, in order: (row, volume).
        self._log: list[tuple[int, tuple[str, str]]] = []

    def save(self) -> SavedAttachments:
        """Return the present state, to go back to with `restore`."""
        return SavedAttachments({driver: left.copy() for driver, left in self._left.items()}, len(self._log))

    def restore(self, saved: SavedAttachments) -> None:
        """Detach what was attached since `saved`."""
        self._left = {driver: left.copy() for driver, left in saved.left.items()}
        for row, known in self._log[saved.attached :]:
            self._attached[row].discard(known)
        del self._log[saved.attached :]

    def changes_since(self, saved: SavedAttachments) -> AttachmentChanges:
        """Return what changed since `saved`, to make again with `make`."""
        return AttachmentChanges(
            {driver: Changes.between(saved.left[driver], left) for driver, left in self._left.items()},
            tuple(self._log[saved.attached :]),
        )

    def make(self, changes: AttachmentChanges) -> None:
        """Make changes again, from the state that they began in."""
        for driver, left in self._left.items():
            changes.left[driver].make(left)
        for row, known in changes.attached:
            self._attached[row].add(known)
        self._log += changes.attached

    def fits(self, rows: Indices, volumes: VolumeNeeds) -> Floats:
        """Return how many pods with `volumes` each of `rows` (M) can take (M)."""
        fits = np.full(len(rows), np.inf)
        for driver, left in self._left.items():
            fresh, handles = volumes.of(driver)
            if fresh or handles:
                # Volumes that are attached already take no place: of a volume that several pods share only
                # the first one counts.
                new = [sum(known not in self._attached[row] for known in handles) for row in rows]
                rest = left[rows] - np.array(new, dtype=np.float64)
                most = np.floor(rest / fresh) if fresh else np.where(rest >= 0, np.inf, 0.0)
                np.minimum(fits, np.maximum(most, 0.0), out=fits)
        return fits

    def take(self, rows: Indices, counts: Floats, volumes: VolumeNeeds) -> None:
        """Attach to `rows` (M) the volumes of `counts` (M) pods each."""
        for driver, left in self._left.items():
            fresh, handles = volumes.of(driver)
            for row, count in zip(rows, counts, strict=True):
                new = [known for known in handles if known not in self._attached[row]]
                self._attached[row].update(new)
                self._log += [(int(row), known) for known in new]
                # Each pod has fresh volumes of its own; known ones are attached once for all of them.
                left[row] -= count * fresh + len(new)


def with_attached(existing_node: ExistingNode, needs: Iterable[VolumeNeeds]) -> ExistingNode:
    """Return `existing_node` as it is once the volumes of pods with these needs are attached to it."""
    every = tuple(needs)
    attached = existing_node.attached.union(*(one.known for one in every))
    left: dict[str, int] = {}
    for driver, places in existing_node.attachable.items():
        more = sum(of == driver for of, _ in attached - existing_node.attached)
        # Never below zero: a driver may have lowered its limit since, and a node has no less than no place.
        left[driver] = max(0, places - more - sum(one.of(driver)[0] for one in every))
    return replace(existing_node, attachable=left, attached=attached)
