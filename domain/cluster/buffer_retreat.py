"""Retreat of capacity buffers: their nodes make room within the limits of pools for pods that wait."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.emptiness import is_empty
from treenail.domain.model.capacity_buffers import keeps_room_for_buffer
from treenail.domain.model.claims import counted_capacity
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason

# So long buffers do without, at most: who has no node by then gets none by it.
_LONGEST: Final = timedelta(minutes=10)


class BufferRetreat:
    """Places of buffers on nodes with nothing else, which end where limits leave no room for pods. Mutable.

    These nodes are given back as empty then, by the terms of their pools, and the pods are tried again. Until
    they have nodes, for ten minutes at most, no places are looked for. That is done once for each pod: one
    that has no node by it would have buffers bought and given back without end.
    """

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._helped: dict[str, None] = {}
        self._until: datetime | None = None

    def until(self, now: datetime) -> datetime | None:
        """Return until when no places are to be looked for, None where they may be."""
        if self._until is not None and (
            self._until <= now or not any(self._model.waiting(uid) for uid in self._helped)
        ):
            self._until = None
        return self._until

    def consider(self, refused: Iterable[tuple[Pod, RefusedClass]], now: datetime) -> tuple[str, ...]:
        """Take in pods that were refused; return the nodes whose places ended for them, by name."""
        self._helped = {uid: None for uid in self._helped if uid in self._model.objects.pods}
        gone: dict[str, None] = {}
        for pod, group in refused if self._model.promises.buffers() else ():
            limited = [one.pool for one in group.refusals if one.reason is Reason.LIMIT_REACHED]
            if limited and pod.uid not in self._helped and not keeps_room_for_buffer(pod):
                names = next((found for pool in limited if (found := self._retreating(pod, pool))), ())
                if names:
                    self._helped[pod.uid] = None
                    self._until = now + _LONGEST
                    gone |= dict.fromkeys(names)
        for name in gone:
            self._model.end_places_of_buffers(name)
        return tuple(gone)

    def _retreating(self, pod: Pod, pool_name: str) -> tuple[str, ...]:
        """Return the nodes of a pool with nothing but places, if a pod may fit into its limits then."""
        pool = self._model.objects.pools.get(pool_name)
        left = self._model.capacity.limit_left(pool) if pool is not None else None
        views = [view for view in self._model.objects.views() if view.pool == pool_name and self._idle(view)]
        if left is None or not views:
            return ()
        freed = total((*(_counted(view) for view in views), left))
        asked = pod.spec.requests.plus({NODES: 1})
        short = any(asked.get(name, 0) > freed.get(name, 0) for name in left)
        return () if short else tuple(view.name for view in views)

    def _idle(self, view: NodeView) -> bool:
        promises, name = self._model.promises, view.name
        if not promises.at_for_buffers(name) or promises.at_for_pods(name):
            return False
        return not self._model.marks.going(view) and is_empty(self._model.objects.pods_of(view), view.claim)


def _counted(view: NodeView) -> Resources:
    assert view.claim is not None  # noqa: S101 (only claims are of a pool)
    return counted_capacity(view.claim).plus({NODES: 1})
