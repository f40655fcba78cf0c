"""How large nodes really are: what those that joined teach about those to come."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomLearned:
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
        """Tell whether `types` say of the type that it has more, or less because others had less."""
        return any(one.name == self.instance_type and self._differs(one) for one in types)

    def _differs(self, one: InstanceType) -> bool:
        said, missing = one.allocatable, one.overhead.missing
        return any(
            had < said.get(name, 0) or (name in missing and had > said.get(name, 0))
            for name, had in self.room.items()
        )


SizeLearned: TypeAlias = MemoryLearned | RoomLearned


def memory_lesson(view: NodeView) -> MemoryLearned | None:
    """Return the memory of a node; None before it is registered, and where it is not known what it runs."""
    claim, node = view.claim, view.node
    if claim is None or node is None or not claim.registered:
        return None
    memory = node.capacity.get(MEMORY, 0)
    if not (memory and claim.instance_type and claim.image_id):
        return None
    return MemoryLearned(instance_type=claim.instance_type, image_id=claim.image_id, memory=memory)


def room_lesson(view: NodeView, *, coming: bool) -> RoomLearned | None:
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
    return RoomLearned(
        instance_type=claim.instance_type,
        image_id=claim.image_id,
        sized_by=sized_by,
        node=node.name,
        came_at=node.created_at,
        room=Resources({k: v for k, v in sorted(node.allocatable.items()) if v and k in waited_for}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is known of nodes by instance type, sorted: their memory (bytes), and their room for pods."""

    memory: tuple[tuple[str, int], ...] = ()
    room: tuple[tuple[str, Resources], ...] = ()


NOTHING_LEARNED: Final = Sizes()


class LearnedSizes:
    """What nodes were seen to have, of each type, for each image.

    Of memory, the least: nodes of one type differ by some megabytes with the host they are on, and kernels
    in what they keep. Of room for pods, for each hash of what nodes are made from, the most that any of the
    last three nodes had: what several in a row lack the next will lack too. Of too many types, those go
    that were heard of the longest ago.
    """

    def __init__(self) -> None:
        self._memory: dict[tuple[str, str], int] = {}
        self._room: dict[tuple[str, str], tuple[RoomLearned, ...]] = {}

    def learn(self, lesson: SizeLearned) -> bool:
        """Take in what a node has; tell whether that changes what is known."""
        match lesson:
            case MemoryLearned():
                return self._learn_memory(lesson)
            case RoomLearned():
                return self._learn_room(lesson)

    def _learn_memory(self, lesson: MemoryLearned) -> bool:
        key = lesson.instance_type, lesson.image_id
        known = self._memory.get(key)
        if known is not None and known <= lesson.memory:
            return False
        _put(self._memory, key, lesson.memory)
        return True

    def _learn_room(self, lesson: RoomLearned) -> bool:
        key = lesson.sized_by, lesson.instance_type
        known = self._room.get(key, ())
        others = [one for one in known if one.node != lesson.node]
        for old in known:
            if old.node == lesson.node:  # what it has more of came late, what it has less of goes for a while
                lesson = replace(lesson, room=old.room.largest(lesson.room))
        if lesson in known:
            return False
        latest = sorted([lesson, *others], key=lambda one: (one.came_at, one.node), reverse=True)
        _put(self._room, key, tuple(latest[: len(_BELIEVED)]))
        return _told(known, lesson.image_id) != _told(self._room[key], lesson.image_id)

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
        for (made, name), lessons in sorted(self._room.items()):
            told = [one for one in lessons if one.image_id in images] if made == sized_by else []
            if told and now - told[0].came_at < _BELIEVED[len(told) - 1]:
                yield name, _most(told)


def _told(lessons: Sequence[RoomLearned], image_id: str) -> Resources:
    return _most([one for one in lessons if one.image_id == image_id])


def _most(lessons: Sequence[RoomLearned]) -> Resources:
    """Return the most of each resource that any of some nodes had."""
    most: dict[str, int] = {}
    for lesson in lessons:
        for name, amount in lesson.room.items():
            most[name] = max(amount, most.get(name, 0))
    return Resources(most)


def _put(into: dict[_K, _V], key: _K, value: _V) -> None:
    into.pop(key, None)
    into[key] = value
    if len(into) > _MOST_KINDS:
        del into[next(iter(into))]
