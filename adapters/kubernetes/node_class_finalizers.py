"""Writes of finalizers on node classes: added and removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.resources import EC2_NODE_CLASS, Resource
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ObjectRef

_HELD: Final = {EC2_NODE_CLASS.kind: EC2_NODE_CLASS}


class FinalizerWrites:
    """Holds node classes, and lets them go."""

    def __init__(self, calls: ApiCalls, retries: ConflictRetries) -> None:
        self._calls = calls
        self._retries = retries

    def hold(self, about: ObjectRef, finalizer: str) -> None:
        """Add a finalizer, unless it is there or the object is being deleted: two requests, or one.

        Raises:
            InvalidError: objects of this kind are not held.
            NotFoundError: it is not there.
        """
        self._retries.run(lambda: self._hold(_resource(about), about.name, finalizer))

    def release(self, about: ObjectRef, finalizer: str) -> None:
        """Take a finalizer off where it is there: two requests, or one.

        Raises:
            InvalidError: objects of this kind are not held.
            NotFoundError: it is not there.
        """
        self._retries.run(lambda: self._release(_resource(about), about.name, finalizer))

    def _hold(self, resource: Resource, name: str, finalizer: str) -> None:
        stored = Stored.of(resource, self._calls.read(resource.path(name)))
        if finalizer not in stored.metadata.finalizers and not stored.deleting:
            self._write(stored, name, [*stored.metadata.finalizers, finalizer])

    def _release(self, resource: Resource, name: str, finalizer: str) -> None:
        stored = Stored.of(resource, self._calls.read(resource.path(name)))
        if finalizer in stored.metadata.finalizers:
            self._write(stored, name, [one for one in stored.metadata.finalizers if one != finalizer])

    def _write(self, stored: Stored, name: str, finalizers: Sequence[str]) -> None:
        # A merge patch replaces the list: so it holds for what was read alone.
        body = {"metadata": {"resourceVersion": stored.version, "finalizers": list(finalizers)}}
        self._calls.merge(stored.resource.path(name), body)


def _resource(about: ObjectRef) -> Resource:
    resource = _HELD.get(about.kind)
    if resource is None:
        raise InvalidError(f"{about}: nobody holds objects of this kind")
    return resource
