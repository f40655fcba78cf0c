"""Sizes of nodes that differ from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.adapters.fake.ec2.machines import Machine
from treenail.domain.model.fleets import FleetRequest, Instance
from treenail.domain.model.resources import MEMORY, NOTHING, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """Resources that nodes come up with less of than was promised, as a start script of theirs may have it.

    Of what `at_most` names they have no more than that, neither as capacity nor for pods, be it what disks
    that nobody mounts leave, or a `--max-pods` of their own; of what `less` names, pods get so much less,
    as with a reserve of the kubelet's. It is so with one `instance_type` or `node_class`, by name, or, where
    they are empty, with all.
    """

    at_most: Resources = NOTHING
    less: Resources = NOTHING
    instance_type: str = ""
    node_class: str = ""

    def concerns(self, instance: Instance, request: FleetRequest) -> bool:
        """Return whether a node of this instance is short."""
        return self.instance_type in ("", instance.instance_type) and self.node_class in (
            "",
            request.node_class.ref.name,
        )

    def of_capacity(self, promised: Resources) -> Resources:
        """Return what there is of a promised capacity."""
        return Resources({k: min(v, self.at_most.get(k, v)) for k, v in promised.items()})

    def of_allocatable(self, promised: Resources) -> Resources:
        """Return what there is for pods, of what was promised to be."""
        return self.of_capacity(promised).minus(self.less).at_least_zero()


class NodeSizes:
    """Resources that nodes come up with: what their instances say, but for what was set here."""

    def __init__(self) -> None:
        self._memory: dict[str, int] = {}
        self._shortfalls: tuple[Shortfall, ...] = ()

    def set_memory(self, instance_type: str, memory: int) -> None:
        """Let nodes of a type that boot from now on have so many bytes. What is kept back stays the same."""
        self._memory[instance_type] = memory

    def set_shortfalls(self, *shortfalls: Shortfall) -> None:
        """Let nodes that boot from now on fall short in these ways, and in no others."""
        self._shortfalls = shortfalls

    def of(self, machine: Machine) -> tuple[Resources, Resources]:
        """Return the capacity and the allocatable of an instance's node."""
        instance, capacity, allocatable = machine.instance, machine.instance.capacity, machine.estimate
        real = self._memory.get(instance.instance_type)
        if real is not None:
            kept = capacity.get(MEMORY, 0) - allocatable.get(MEMORY, 0)
            capacity = Resources({**capacity, MEMORY: real})
            allocatable = Resources({**allocatable, MEMORY: max(0, real - kept)})
        for shortfall in self._shortfalls:
            if shortfall.concerns(instance, machine.request):
                capacity = shortfall.of_capacity(capacity)
                allocatable = shortfall.of_allocatable(allocatable)
        return capacity, allocatable
