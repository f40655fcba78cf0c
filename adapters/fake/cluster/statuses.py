"""Statuses, finalizers and annotations of pools and node classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from treenail.adapters.fake.cluster.objects import Address, Change, address
from treenail.adapters.fake.cluster.patches import with_conditions
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.status.pool_usage import PoolUsage

_HELD: Final = "EC2NodeClass"
_POOLS: Final = ("NodePool", "Provisioner")
_ANNOTATED: Final = (*_POOLS, "EC2NodeClass")


class Statuses:
    """The conditions of pools and node classes, what these mean and those have, and finalizers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._conditions: dict[Address, tuple[Condition, ...]] = {}
        self._meanings: dict[Address, NodeClassMeaning] = {}
        self._class_generations: dict[Address, int] = {}
        self._usages: dict[Address, PoolUsage] = {}
        self._annotations: dict[Address, dict[str, str]] = {}
        store.listen(self._forget, "NodePool", "NodeClass")

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
        known = self._conditions.get(where, ()), self._meanings.get(where), self.class_generation(about)
        conditions = with_conditions(known[0], news, self._store.now())
        observed = class_generation if about.kind == "NodePool" and class_generation else known[2]
        if (conditions, meaning or known[1], observed) == known:
            return
        self._class_generations[where] = observed
        self._conditions[where] = conditions
        if meaning is not None:
            self._meanings[where] = meaning
        if thing is not None:
            self._store.put(thing)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        """Return the conditions of an object, in the order they were first set."""
        where = address(about.kind, about.name)
        thing = self._store.find(where)
        if isinstance(thing, Node | NodeClaim):
            return thing.conditions
        return self._conditions.get(where, ())

    def class_generation(self, about: ObjectRef) -> int:
        """Return of which generation of its node class the conditions of a pool tell, 0 where they do not."""
        return self._class_generations.get(address(about.kind, about.name), 0)

    def meaning(self, about: ObjectRef) -> NodeClassMeaning | None:
        """Return what the status of a node class says it means; None where it says nothing yet."""
        return self._meanings.get(address(about.kind, about.name))

    def set_usage(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set what the nodes of a pool have together.

        Raises:
            InvalidError: it is no pool.
            NotFoundError: the object is not there.
        """
        where = address(about.kind, about.name)
        if about.kind not in _POOLS:
            raise InvalidError(f"{about}: nobody reads there what its nodes have")
        thing = self._store.find(where)
        if thing is None:
            raise NotFoundError(f"{about} is not there")
        if self._usages.get(where) != usage:
            self._usages[where] = usage
            self._store.put(thing)

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Set annotations, beside those that are there; new ones, or other ones, change the object.

        Raises:
            InvalidError: objects of this kind are not annotated.
            NotFoundError: the object is not there.
        """
        if about.kind not in _ANNOTATED:
            raise InvalidError(f"{about}: nobody looks for annotations of ours there")
        where = address(about.kind, about.name)
        thing = self._store.find(where)
        if thing is None:
            raise NotFoundError(f"{about} is not there")
        known = self._annotations.get(where, {})
        if not annotations.items() <= known.items():
            self._annotations[where] = {**known, **annotations}
            self._store.put(thing)

    def annotations(self, about: ObjectRef) -> Mapping[str, str]:
        """Return what an object was annotated with."""
        return self._annotations.get(address(about.kind, about.name), {})

    def usage(self, about: ObjectRef) -> PoolUsage | None:
        """Return what the status of a pool says that its nodes have; None where it says nothing yet."""
        return self._usages.get(address(about.kind, about.name))

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
            self._conditions.pop(change.address, None)
            self._meanings.pop(change.address, None)
            self._class_generations.pop(change.address, None)
            self._usages.pop(change.address, None)
            self._annotations.pop(change.address, None)
