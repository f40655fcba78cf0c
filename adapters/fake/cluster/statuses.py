"""Statuses, finalizers and annotations of pools and node classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from treenail.adapters.fake.cluster.objects import Address, Change, address
from treenail.adapters.fake.cluster.patches import with_conditions
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.status.buffer_status import BufferStatus
from treenail.domain.status.pool_usage import PoolUsage

_HELD: Final = "EC2NodeClass"
_POOLS: Final = ("NodePool", "Provisioner")
_ANNOTATED: Final = (*_POOLS, "EC2NodeClass")


@dataclass(slots=True)
class _Shown:
    conditions: tuple[Condition, ...] = ()
    meaning: NodeClassMeaning | None = None
    class_generation: int = 0
    usage: PoolUsage | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    buffer: BufferStatus | None = None


class Statuses:
    """The conditions of pools, node classes and overlays, what these mean and those have, and finalizers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shown: defaultdict[Address, _Shown] = defaultdict(_Shown)
        store.listen(self._forget, "NodePool", "NodeClass", "NodeOverlay", "CapacityBuffer")

    def set_conditions(
        self,
        about: ObjectRef,
        news: Iterable[Condition],
        meaning: NodeClassMeaning | None,
        class_generation: int = 0,
    ) -> None:
        """Set conditions and a meaning; new ones, or some that say something else, change the object.

        Raises:
            NotFoundError: the object is not there.
        """
        where = address(about.kind, about.name)
        thing = self._store.find(where)
        if thing is None and where not in self._store.broken:
            raise NotFoundError(f"{about} is not there")
        shown = self._shown[where]
        observed = class_generation if about.kind == "NodePool" and class_generation else 0
        changed = replace(
            shown,
            conditions=with_conditions(shown.conditions, news, self._store.now()),
            meaning=meaning or shown.meaning,
            class_generation=observed or shown.class_generation,
        )
        if changed == shown:
            return
        self._shown[where] = changed
        if thing is not None:
            self._store.put(thing)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        """Return the conditions of an object, in the order they were first set."""
        thing = self._store.find(address(about.kind, about.name))
        if isinstance(thing, Node | NodeClaim):
            return thing.conditions
        return self._of(about).conditions

    def class_generation(self, about: ObjectRef) -> int:
        """Return the generation of the node class that a pool's conditions are about, 0 if unknown."""
        return self._of(about).class_generation

    def meaning(self, about: ObjectRef) -> NodeClassMeaning | None:
        """Return what the status of a node class says it means; None where it says nothing yet."""
        return self._of(about).meaning

    def set_usage(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set what the nodes of a pool have together.

        Raises:
            InvalidError: it is no pool.
            NotFoundError: the object is not there.
        """
        where = address(about.kind, about.name)
        if about.kind not in _POOLS:
            raise InvalidError(f"{about}: nobody reads there what its nodes have")
        thing, shown = self._store.there(where), self._shown[where]
        if shown.usage != usage:
            shown.usage = usage
            self._store.put(thing)

    def set_buffer_status(self, status: BufferStatus) -> None:
        """Set what was found for a capacity buffer.

        Raises:
            NotFoundError: the object is not there.
        """
        where = address(status.about.kind, status.about.name, status.about.namespace)
        thing, shown = self._store.there(where), self._shown[where]
        conditions = with_conditions(shown.conditions, status.conditions, self._store.now())
        if (shown.buffer, shown.conditions) != (status, conditions):
            shown.buffer, shown.conditions = status, conditions
            self._store.put(thing)

    def buffer_status(self, about: ObjectRef) -> BufferStatus | None:
        """Return what the status of a capacity buffer says; None where it says nothing yet."""
        return self._of(about).buffer

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Add annotations to those present; a new or different one changes the object.

        Raises:
            InvalidError: objects of this kind are not annotated.
            NotFoundError: the object is not there.
        """
        if about.kind not in _ANNOTATED:
            raise InvalidError(f"{about}: nobody looks for annotations of ours there")
        where = address(about.kind, about.name)
        thing, shown = self._store.there(where), self._shown[where]
        if not annotations.items() <= shown.annotations.items():
            shown.annotations = {**shown.annotations, **annotations}
            self._store.put(thing)

    def annotations(self, about: ObjectRef) -> Mapping[str, str]:
        """Return what an object was annotated with."""
        return self._of(about).annotations

    def usage(self, about: ObjectRef) -> PoolUsage | None:
        """Return what the status of a pool says that its nodes have; None where it says nothing yet."""
        return self._of(about).usage

    def hold(self, about: ObjectRef, finalizer: str) -> None:
        """Add a finalizer to a node class, unless it has it or is being deleted.

        Raises:
            InvalidError: objects of this kind are not held.
            NotFoundError: there is no such node class.
        """
        thing = self._node_class(about)
        if finalizer not in thing.finalizers and not thing.deleting:
            self._store.put(replace(thing, finalizers=(*thing.finalizers, finalizer)))

    def release(self, about: ObjectRef, finalizer: str) -> None:
        """Take a finalizer off a node class, which goes where it is being deleted and that was the last.

        Raises:
            InvalidError: objects of this kind are not held.
            NotFoundError: there is no such node class.
        """
        thing = self._node_class(about)
        if finalizer in thing.finalizers:
            left = tuple(one for one in thing.finalizers if one != finalizer)
            self._store.put(replace(thing, finalizers=left))

    def _node_class(self, about: ObjectRef) -> NodeClass:
        if about.kind != _HELD:
            raise InvalidError(f"{about}: nobody holds objects of this kind")
        return self._store.get(NodeClass, address(about.kind, about.name))

    def _forget(self, change: Change) -> None:
        if change.after is None:
            self._shown.pop(change.address, None)

    def _of(self, about: ObjectRef) -> _Shown:
        return self._shown.get(address(about.kind, about.name, about.namespace), _Shown())
