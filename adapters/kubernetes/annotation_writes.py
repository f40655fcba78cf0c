"""Writes of annotations on pools and node classes: their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.resources import EC2_NODE_CLASS, NODE_POOL, PROVISIONER, Resource
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ObjectRef

_ANNOTATED: Final = {r.kind: r for r in (NODE_POOL, PROVISIONER, EC2_NODE_CLASS)}


class AnnotationWrites:
    """Annotates pools and node classes."""

    def __init__(self, calls: ApiCalls, retries: ConflictRetries) -> None:
        self._calls = calls
        self._retries = retries

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Set annotations: two requests, one where all are there already.

        Raises:
            InvalidError: objects of this kind are not annotated, or this one is not to be written.
            NotFoundError: it is not there.
        """
        resource = _ANNOTATED.get(about.kind)
        if resource is None:
            raise InvalidError(f"{about}: nobody looks for annotations of ours there")
        self._retries.run(lambda: self._annotate(resource, about.name, annotations))

    def _annotate(self, resource: Resource, name: str, annotations: Mapping[str, str]) -> None:
        stored = Stored.of(resource, self._calls.read(resource.path(name)))
        if annotations.items() <= stored.metadata.annotations.items():
            return
        # With a precondition: if the pool changed since it was read, its hash is another one.
        body = {"metadata": {"resourceVersion": stored.version, "annotations": dict(annotations)}}
        self._calls.merge(resource.path(name), body)
