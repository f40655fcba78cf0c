"""Messages about pods that came to nodes and left them."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.runtime import Ref


class PodEventPublisher:
    """Publisher, to the `recorder`, of nodes of claims that pods came to or left."""

    def __init__(self, model: ClusterModel, recorder: Ref[PodsMoved]) -> None:
        self._model = model
        self._recorder = recorder
        # Nodes of the old API, by view: what was told last that their annotation does not say yet.
        self._told: dict[str, bool] = {}

    def tell(self, name: str, view: NodeView | None, now: datetime, *, moved: bool, first: bool) -> None:
        """Send what a change of a view means. The times of what was there at `first` are unknown."""
        if view is None or view.claim is None or view.node is None or self._kept_out(view):
            self._told.pop(name, None)
            return
        claim, node = view.claim, view.node
        if claim.generation is Generation.V1ALPHA5:
            self._tell_emptiness(name, claim, node, now)
        elif moved and (not first or claim.last_pod_event_at is None):
            self._model.pod_events.note(name, now)
            self._recorder.tell(PodsMoved(claim=claim, node=node.name, at=now, empty=False))

    def _kept_out(self, view: NodeView) -> bool:
        """Return whether nothing is written of a node: it goes, or is left alone entirely."""
        alone = self._model.objects.left_alone(view)
        return self._model.marks.ending(view) or (alone is not None and alone.entirely)

    def _tell_emptiness(self, name: str, claim: NodeClaim, node: Node, now: datetime) -> None:
        """Send an emptiness annotation that must change. Only pools with `consolidateAfter` have one."""
        pool = self._model.objects.pools.get(claim.pool)
        counts = pool is not None and pool.disruption.consolidate_after is not None
        empty = counts and claim.initialized and self._model.empty(name)
        if empty == (labels.EMPTY_SINCE in node.annotations):
            self._told.pop(name, None)
        elif self._told.get(name) is not empty:
            self._told[name] = empty
            self._recorder.tell(PodsMoved(claim=claim, node=node.name, at=now, empty=empty))
