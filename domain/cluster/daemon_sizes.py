"""Sizes of daemons: what the pods of a DaemonSet really request, where that is more than it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources


class DaemonSizes:
    """The requests of the youngest pod of each DaemonSet, of those that have a node. Mutable.

    Admission may add to what the template says: the container of a mesh, the overhead of a runtime class,
    the defaults of a LimitRange. A node bought for a pod beside the template alone has no room for that pod.
    """

    def __init__(self) -> None:
        self._youngest: dict[str, tuple[datetime, Resources]] = {}

    def note(self, pod: Pod) -> str:
        """Take in a pod that has a node; return the uid of its DaemonSet where its size may change, or ""."""
        owner = pod.owner
        if owner is None or owner.kind != "DaemonSet" or pod.unread:
            return ""
        known = self._youngest.get(owner.uid)
        if known is not None and pod.created_at < known[0]:
            return ""
        self._youngest[owner.uid] = pod.created_at, pod.spec.requests
        return owner.uid if known is None or known[1] != pod.spec.requests else ""

    def forget(self, uid: str) -> None:
        """Forget a DaemonSet that is gone."""
        self._youngest.pop(uid, None)

    def sized(self, daemons: DaemonSet) -> DaemonSet:
        """Return a DaemonSet whose template requests as much as its youngest pod does, or more."""
        known = self._youngest.get(daemons.uid)
        if known is None or known[1].fits(daemons.spec.requests):
            return daemons
        requests = daemons.spec.requests.largest(known[1])
        return replace(daemons, spec=replace(daemons.spec, requests=requests))
