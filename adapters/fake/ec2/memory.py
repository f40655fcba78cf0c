"""How much memory nodes come up with, where that is not what the catalogue says."""

from __future__ import annotations

from treenail.domain.fleets import Instance
from treenail.domain.resources import MEMORY, Resources


class NodeMemory:
    """The memory (bytes) of nodes of some types; of all others it is what their instances say."""

    def __init__(self) -> None:
        self._real: dict[str, int] = {}

    def set(self, instance_type: str, memory: int) -> None:
        """Let nodes of a type that boot from now on have so much."""
        self._real[instance_type] = memory

    def size_of(self, instance: Instance) -> tuple[Resources, Resources]:
        """Return the capacity and the allocatable of an instance's node. What is kept back stays the same."""
        real = self._real.get(instance.instance_type)
        if real is None:
            return instance.capacity, instance.allocatable
        kept = instance.capacity.get(MEMORY, 0) - instance.allocatable.get(MEMORY, 0)
        return (
            Resources({**instance.capacity, MEMORY: real}),
            Resources({**instance.allocatable, MEMORY: max(0, real - kept)}),
        )
