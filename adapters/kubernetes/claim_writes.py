"""Writes of claims: create, patch metadata and status, delete. NodeClaims or Machines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar, assert_never

from cachetools import LRUCache

from treenail.adapters.api.written.parts import Tree, quantities
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.condition_writes import merged_conditions
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.new_objects import new_claim
from treenail.adapters.kubernetes.resources import MACHINE, NODE_CLAIM, RESOURCES, Resource
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import ConflictError, NotFoundError
from treenail.domain.model.instants import write_instant
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Clock

R = TypeVar("R")

# As many claims as a large cluster has, at some 5 kB each.
_REMEMBERED: Final = 4096


class Part(Enum):
    """Parts of a claim that one request can change: the status is a resource of its own."""

    METADATA = None
    STATUS = "status"


def parts_of(patch: ClaimPatch) -> tuple[Part, ...]:
    """Return the requests a patch takes, in their order.

    Metadata goes first: a claim says that it is launched only when it bears the labels of its instance. A
    finalizer goes last: the claim may go with it.
    """
    parts: list[Part] = []
    if (
        patch.labels
        or patch.remove_labels
        or patch.annotations
        or patch.add_finalizers
        or patch.remove_finalizers
    ):
        parts.append(Part.METADATA)
    texts = (patch.provider_id, patch.node_name, patch.image_id)
    rest = (*texts, patch.capacity, patch.allocatable, patch.last_pod_event_at)
    if patch.conditions or patch.remove_conditions or any(v is not None for v in rest):
        parts.append(Part.STATUS)
    return tuple(reversed(parts)) if patch.remove_finalizers else tuple(parts)


def needs_known(part: Part, patch: ClaimPatch) -> bool:
    """Return whether `part` of a patch builds on what is there: lists and maps of amounts are replaced."""
    match part:
        case Part.METADATA:
            return bool(patch.add_finalizers or patch.remove_finalizers)
        case Part.STATUS:
            amounts = patch.capacity is not None or patch.allocatable is not None
            return bool(patch.conditions or patch.remove_conditions) or amounts
        case _:
            assert_never(part)


def metadata_patch(patch: ClaimPatch, known: Stored | None) -> Tree:
    """Return the JSON merge patch of the metadata. `known` is there where finalizers change."""
    metadata: Tree = {}
    if patch.labels or patch.remove_labels:
        metadata["labels"] = {**patch.labels, **dict.fromkeys(patch.remove_labels)}
    if patch.annotations:
        metadata["annotations"] = dict(patch.annotations)
    if known is not None and needs_known(Part.METADATA, patch):
        kept = [f for f in known.metadata.finalizers if f not in patch.remove_finalizers]
        metadata["finalizers"] = [*kept, *(f for f in patch.add_finalizers if f not in kept)]
    return {"metadata": metadata}


def status_patch(patch: ClaimPatch, known: Stored | None, now: datetime) -> Tree:
    """Return the JSON merge patch of the status. `known` is there where conditions or amounts change."""
    texts = {"providerID": patch.provider_id, "nodeName": patch.node_name, "imageID": patch.image_id}
    status: Tree = {field: text or None for field, text in texts.items() if text is not None}
    if patch.last_pod_event_at is not None:
        status["lastPodEventTime"] = write_instant(patch.last_pod_event_at)
    if known is not None:
        if patch.capacity is not None:
            status["capacity"] = _amounts(patch.capacity, known.status.capacity)
        if patch.allocatable is not None:
            status["allocatable"] = _amounts(patch.allocatable, known.status.allocatable)
        if patch.conditions or patch.remove_conditions:
            status["conditions"] = merged_conditions(
                known, patch.conditions, now, gone=patch.remove_conditions
            )
    return {"status": status}


def _amounts(new: Resources, known: dict[str, Any]) -> Tree:
    return {**dict.fromkeys(known), **quantities(new)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    name: str
    part: Part
    patch: ClaimPatch
    version: int | None


class ClaimWrites:
    """Changes of claims, which are known by name alone: what kind they are of is remembered, or found out.

    What the API server last answered about a claim is remembered too, since it is mostly we who change it. A
    change that builds on it has its version as precondition; where that does not hold, it is read anew. So
    what is remembered saves requests and is never trusted.
    """

    def __init__(self, calls: ApiCalls, *, clock: Clock, retries: ConflictRetries) -> None:
        self._calls = calls
        self._clock = clock
        self._retries = retries
        self._remembered: LRUCache[str, Stored] = LRUCache(_REMEMBERED)
        self._lock = threading.Lock()

    def create(self, claim: NodeClaim) -> NodeClaim:
        """Create a claim, in the kind of its generation: one request."""
        resource = RESOURCES[claim.generation.claim_kind]
        answer = self._calls.create(resource.path(), new_claim(claim))
        return self._remember(claim.name, Stored.of(resource, answer)).value(NodeClaim)

    def patch(self, name: str, patch: ClaimPatch, version: int | None) -> NodeClaim:
        """Change a claim: a request for its metadata and one for its status, where both change.

        `version` must hold for the first request. After a write by another in between, the second is repeated
        on the object as it is then.
        """
        parts = parts_of(patch)
        if not parts:
            known = self._read(name)
            known.check(version)
            return known.value(NodeClaim)
        for part in parts:
            known = self._changed(_Change(name=name, part=part, patch=patch, version=version))
            version = None
        return known.value(NodeClaim)

    def delete(self, name: str, uid: str) -> None:
        """Delete a claim of this uid: one request."""

        def delete(resource: Resource) -> Stored | None:
            return Stored.left(resource, self._calls.delete(resource.path(name), uid=uid))

        left = self._first_there(name, delete)
        if left is not None:
            self._remember(name, left)
        else:
            self._forget(name)

    def _changed(self, change: _Change) -> Stored:
        if change.version is not None:
            return self._change(change)
        return self._retries.run(lambda: self._change(change))

    def _change(self, change: _Change) -> Stored:
        name, part = change.name, change.part
        known = self._known(name, change.version) if needs_known(part, change.patch) else None
        if part is Part.METADATA:
            body = metadata_patch(change.patch, known)
        else:
            body = status_patch(change.patch, known, self._clock.now())
        version = known.version if known is not None else str(change.version or "")
        if version:
            body["metadata"] = {**body.get("metadata", {}), "resourceVersion": version}

        # A JSON merge patch, for of a custom resource there is no strategic one, and server-side apply would
        # take away what an earlier, other patch of ours had set.
        def send(resource: Resource) -> Stored:
            answer = self._calls.merge(resource.path(name, subresource=part.value), body)
            return Stored.of(resource, answer)

        try:
            return self._remember(name, self._first_there(name, send))
        except ConflictError:
            self._forget(name)
            raise

    # --- what is known of a claim

    def _known(self, name: str, version: int | None) -> Stored:
        """Return a claim as it was last seen, or read it; at `version`, where that is given."""
        with self._lock:
            remembered = self._remembered.get(name)
        if remembered is not None and version in (None, int(remembered.version)):
            return remembered
        known = self._read(name)
        known.check(version)
        return known

    def _read(self, name: str) -> Stored:
        def read(resource: Resource) -> Stored:
            return Stored.of(resource, self._calls.read(resource.path(name)))

        return self._remember(name, self._first_there(name, read))

    def _remember(self, name: str, stored: Stored) -> Stored:
        with self._lock:
            self._remembered[name] = stored
        return stored

    def _forget(self, name: str) -> None:
        with self._lock:
            self._remembered.pop(name, None)

    def _first_there(self, name: str, call: Callable[[Resource], R]) -> R:
        """Return what `call` gives for the kind that the claim is of: the one remembered, or whichever.

        Where a kind is not installed at all, there is no such object.
        """
        with self._lock:
            remembered = self._remembered.get(name)
        if remembered is not None:
            try:
                return call(remembered.resource)
            except NotFoundError:
                self._forget(name)
                raise
        try:
            return call(NODE_CLAIM)
        except NotFoundError as error:
            try:
                return call(MACHINE)
            except NotFoundError:
                raise error from None
