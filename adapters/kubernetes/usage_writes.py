"""Writes of usage into the status of pools."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.written.parts import Tree, quantities
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.resources import NODE_POOL, PROVISIONER
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ObjectRef
from treenail.domain.status.pool_usage import PoolUsage

_SHOWING: Final = {resource.kind: resource for resource in (NODE_POOL, PROVISIONER)}


class UsageWrites:
    """Sets the resources and nodes of pools."""

    def __init__(self, calls: ApiCalls) -> None:
        self._calls = calls

    def set(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set the usage of a pool: one read, and one write unless the usage is there already.

        Raises:
            InvalidError: objects of this kind do not show it, or this one is not to be written.
            NotFoundError: it is not there.
        """
        resource = _SHOWING.get(about.kind)
        if resource is None:
            raise InvalidError(f"{about}: nobody reads there what its nodes have")
        stored = Stored.of(resource, self._calls.read(resource.path(about.name)))
        resources = dict(quantities(usage.shown()))
        wanted: Tree = {"resources": resources}
        if resource == NODE_POOL:
            resources["nodes"] = str(usage.nodes)
            wanted["nodes"] = usage.nodes
        if all(stored.usage.get(field) == value for field, value in wanted.items()):
            return
        # A merge patch adds to a map: what is no more must be said to be nothing. Nobody else writes these.
        gone = dict.fromkeys(name for name in stored.usage["resources"] if name not in resources)
        body = {"status": {**wanted, "resources": {**resources, **gone}}}
        self._calls.merge(resource.path(about.name, subresource="status"), body)
