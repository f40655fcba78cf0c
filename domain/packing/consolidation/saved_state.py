"""The state of a cluster before a trial, to go back to, and what the trial changed, to make it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treenail.domain.packing.existing.existing_nodes import ExistingNodes, RoomChanges, SavedRoom
from treenail.domain.packing.pods.topology_counts import CountChanges, SavedCounts, TopologyGroup


@dataclass(frozen=True, slots=True, eq=False)
class StateChanges:
    """The changes that a trial made: to nodes, and to the counts of the groups of its pods."""

    nodes: ExistingNodes
    room: RoomChanges
    groups: tuple[tuple[TopologyGroup, CountChanges], ...]

    def make(self) -> None:
        """Make the changes again, from the state that they began in."""
        self.nodes.make(self.room)
        for group, changes in self.groups:
            group.make(changes)


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """Free resources of the existing nodes, and counts of a trial's topology groups, at one moment."""

    nodes: ExistingNodes
    room: SavedRoom
    groups: tuple[tuple[TopologyGroup, SavedCounts], ...]

    @classmethod
    def of(cls, nodes: ExistingNodes, groups: Iterable[TopologyGroup]) -> SavedState:
        """Return the present state."""
        return cls(nodes, nodes.save(), tuple((group, group.save()) for group in groups))

    def again(self) -> SavedState:
        """Return the present state of the same nodes and groups."""
        return SavedState.of(self.nodes, (group for group, _ in self.groups))

    def restore(self) -> None:
        """Go back to this state."""
        self.nodes.restore(self.room)
        for group, counts in self.groups:
            group.restore(counts)

    def changes(self) -> StateChanges:
        """Return what changed since."""
        return StateChanges(
            self.nodes,
            self.nodes.changes_since(self.room),
            tuple((group, group.changes_since(counts)) for group, counts in self.groups),
        )
