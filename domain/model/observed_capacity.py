"""Observed capacity: what nodes that joined turned out to have, for nodes still to be bought."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias, TypeVar

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from treenail.domain.model.template_hash import SIZED_BY

# What a kubelet knows of itself from the start. All else is told by plugins, which come and go.
_OF_KUBELET: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
# How long is believed what one node had, or two or three in a row: one alone may have come up badly.
_BELIEVED: Final = (timedelta(hours=1), timedelta(days=1), timedelta(days=60))
_MOST_KINDS: Final = 4096

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryObserved:
    """A node of this type that runs this image has so many bytes of memory, less than any before it."""

    instance_type: str
    image_id: str
    memory: int

    def disproves(self, types: Collection[InstanceType]) -> bool:
        """Return whether `types` say something else of the type."""
        return any(
            one.name == self.instance_type and one.capacity.get(MEMORY, 0) != self.memory for one in types
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatableObserved:
    """A node of this type had so much `room` for pods when it came into use, or came to have it later.

    It names the resources that were sure to be told by then. The node runs this image, and was made from
    what has the hash `sized_by`.
    """

    instance_type: str
    image_id: str
    sized_by: str
    node: str
    came_at: datetime
    room: Resources

    def disproves(self, types: Collection[InstanceType]) -> bool:
        """Return whether `types` say of the type that it has more, or less because others had less."""
        return any(one.name == self.instance_type and self._differs(one) for one in types)

    def _differs(self, one: InstanceType) -> bool:
        said, missing = one.allocatable, one.overhead.missing
        return any(
            had < said.get(name, 0) or (name in missing and had > said.get(name, 0))
            for name, had in self.room.items()
        )


CapacityObserved: TypeAlias = MemoryObserved | AllocatableObserved


def memory_observation(view: NodeView) -> MemoryObserved | None:
    """Return the memory of a node; None before it is registered, and where its type or image is unknown."""
    claim, node = view.claim, view.node
    if claim is None or node is None or not claim.registered:
        return None
    memory = node.capacity.get(MEMORY, 0)
    if not (memory and claim.instance_type and claim.image_id):
        return None
    return MemoryObserved(instance_type=claim.instance_type, image_id=claim.image_id, memory=memory)


def allocatable_observation(view: NodeView, *, coming: bool) -> AllocatableObserved | None:
    """Return the room of a node that is in use, or is just `coming` into it; None where it teaches nothing.

    What plugins tell of is known only then, and only if the claim asked for it: it was waited for. Later
    it may be less for a while.
    """
    claim, node = view.claim, view.node
    if claim is None or node is None or not claim.registered or not (coming or claim.initialized):
        return None
    sized_by = claim.annotations.get(SIZED_BY, "")
    if not (sized_by and claim.instance_type and claim.image_id):
        return None
    waited_for = {*_OF_KUBELET, *(claim.requests if coming else ())}
    return AllocatableObserved(
        instance_type=claim.instance_type,
        image_id=claim.image_id,
        sized_by=sized_by,
        node=node.name,
        came_at=node.created_at,
        room=Resources({k: v for k, v in sorted(node.allocatable.items()) if v and k in waited_for}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The known sizes of nodes by instance type, sorted: their memory (bytes), and their room for pods."""

    memory: tuple[tuple[str, int], ...] = ()
    room: tuple[tuple[str, Resources], ...] = ()


NOTHING_OBSERVED: Final = Sizes()


class ObservedCapacity:
    """The capacity that nodes were seen to have, of each type, for each image.

    Of memory, the least: nodes of one type differ by some megabytes with the host they are on, and kernels
    in what they keep. Of room for pods, for each hash of what nodes are made from, the most that any of the
    last three nodes had: what several in a row lack the next will lack too. Of too many types, those go
    that were heard of the longest ago.
    """

    def __init__(self) -> None:
        self._memory: dict[tuple[str, str], int] = {}
        self._room: dict[tuple[str, str], tuple[AllocatableObserved, ...]] = {}

    def learn(self, observation: CapacityObserved) -> bool:
        """Take in what a node has; return whether that changes what is known."""
        match observation:
            case MemoryObserved():
                return self._learn_memory(observation)
            case AllocatableObserved():
                return self._learn_room(observation)

    def _learn_memory(self, observation: MemoryObserved) -> bool:
        key = observation.instance_type, observation.image_id
        known = self._memory.get(key)
        if known is not None and known <= observation.memory:
            return False
        _put(self._memory, key, observation.memory)
        return True

    def _learn_room(self, observation: AllocatableObserved) -> bool:
        key = observation.sized_by, observation.instance_type
        known = self._room.get(key, ())
        others = [one for one in known if one.node != observation.node]
        for old in known:
            if (
                old.node == observation.node
            ):  # what it has more of came late, what it has less of goes for a while
                observation = replace(observation, room=old.room.largest(observation.room))
        if observation in known:
            return False
        latest = sorted([observation, *others], key=lambda one: (one.came_at, one.node), reverse=True)
        _put(self._room, key, tuple(latest[: len(_BELIEVED)]))
        return _told(known, observation.image_id) != _told(self._room[key], observation.image_id)

    def of(self, images: Collection[str], sized_by: str, now: datetime) -> Sizes:
        """Return what nodes with any of `images` had: room, where they were made from the same."""
        memory: dict[str, int] = {}
        for (name, image), least in sorted(self._memory.items()):
            if image in images:
                memory[name] = min(least, memory.get(name, least))
        return Sizes(memory=tuple(memory.items()), room=tuple(self._room_of(images, sized_by, now)))

    def _room_of(
        self, images: Collection[str], sized_by: str, now: datetime
    ) -> Iterator[tuple[str, Resources]]:
        for (made, name), observations in sorted(self._room.items()):
            told = [one for one in observations if one.image_id in images] if made == sized_by else []
            if told and now - told[0].came_at < _BELIEVED[len(told) - 1]:
                yield name, _most(told)


def _told(observations: Sequence[AllocatableObserved], image_id: str) -> Resources:
    return _most([one for one in observations if one.image_id == image_id])


def _most(observations: Sequence[AllocatableObserved]) -> Resources:
    """Return the most of each resource that any of some nodes had."""
    most: dict[str, int] = {}
    for observation in observations:
        for name, amount in observation.room.items():
            most[name] = max(amount, most.get(name, 0))
    return Resources(most)


def _put(into: dict[_K, _V], key: _K, value: _V) -> None:
    into.pop(key, None)
    into[key] = value
    if len(into) > _MOST_KINDS:
        del into[next(iter(into))]
