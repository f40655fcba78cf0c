"""Writes of the status of capacity buffers."""

from __future__ import annotations

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.condition_writes import merged_conditions
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.resources import CAPACITY_BUFFER
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.runtime import Clock
from treenail.domain.status.buffer_status import BufferStatus


class BufferWrites:
    """Sets the conditions of capacity buffers, and what was found for them."""

    def __init__(self, calls: ApiCalls, *, clock: Clock, retries: ConflictRetries) -> None:
        self._calls = calls
        self._clock = clock
        self._retries = retries

    def set(self, status: BufferStatus) -> None:
        """Set the status of a buffer: one read, and one write unless the status is there already.

        Raises:
            InvalidError: it is not to be written.
            NotFoundError: it is not there.
        """
        self._retries.run(lambda: self._set(status))

    def _set(self, status: BufferStatus) -> None:
        about = status.about
        body = self._calls.read(CAPACITY_BUFFER.path(about.name, about.namespace))
        stored = Stored.of(CAPACITY_BUFFER, body)
        observed = status.generation
        conditions = merged_conditions(stored, status.conditions, self._clock.now(), observed=observed)
        fields = _fields(status)
        there = {name: stored.buffer[name] for name in fields}
        if (conditions, fields) == (stored.status.conditions, there):
            return
        path = CAPACITY_BUFFER.path(about.name, about.namespace, subresource="status")
        change = {"resourceVersion": stored.version}
        self._calls.merge(path, {"metadata": change, "status": {"conditions": conditions, **fields}})


def _fields(status: BufferStatus) -> Tree:
    """Return what is said beside conditions, with None for what is to say nothing."""
    if not status.strategy:
        return {}
    named = bool(status.template_name)
    return {
        "podTemplateRef": {"name": status.template_name} if named else None,
        "podTemplateGeneration": status.template_generation if named else None,
        "replicas": status.replicas,
        "provisioningStrategy": status.strategy,
    }
