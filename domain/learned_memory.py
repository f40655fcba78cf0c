"""How much memory nodes really have: what those that joined teach about those to come."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from treenail.domain.instance_types import InstanceType
from treenail.domain.nodes import NodeView
from treenail.domain.resources import MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLearned:
    """A node of this type that runs this image has so many bytes of memory, less than any before it."""

    instance_type: str
    image_id: str
    memory: int

    def disproves(self, types: Collection[InstanceType]) -> bool:
        """Tell whether `types` say something else of the type."""
        return any(
            one.name == self.instance_type and one.capacity.get(MEMORY, 0) != self.memory for one in types
        )


def lesson_of(view: NodeView) -> MemoryLearned | None:
    """Return what a node teaches; None before it is registered, and where it is not known what it runs."""
    claim, node = view.claim, view.node
    if claim is None or node is None or not claim.registered:
        return None
    memory = node.capacity.get(MEMORY, 0)
    if not (memory and claim.instance_type and claim.image_id):
        return None
    return MemoryLearned(instance_type=claim.instance_type, image_id=claim.image_id, memory=memory)


class LearnedMemory:
    """The least memory (bytes) that nodes of a type were seen to have, for each image.

    The least, as nodes of one type differ by some megabytes with the host they are on. By image, as
    kernels differ in what they keep.
    """

    def __init__(self) -> None:
        self._least: dict[tuple[str, str], int] = {}

    def learn(self, instance_type: str, image_id: str, memory: int) -> bool:
        """Take in what a node has; tell whether it is the first of its kind, or has less than all before."""
        key = instance_type, image_id
        known = self._least.get(key)
        if known is not None and known <= memory:
            return False
        self._least[key] = memory
        return True

    def of(self, images: Collection[str]) -> Mapping[str, int]:
        """Return the least by instance type that nodes with any of `images` had, sorted by type."""
        found: dict[str, int] = {}
        for (name, image), memory in sorted(self._least.items()):
            if image in images:
                found[name] = min(memory, found.get(name, memory))
        return found
