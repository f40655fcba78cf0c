"""Messages about nodes to the actors that look after them, where something is news."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from treenail.actors.cluster_state.candidate_publisher import CandidatePublisher, DisruptorHears
from treenail.actors.cluster_state.pod_event_publisher import PodEventPublisher
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.disruption.moves_under_way import MovesUnderWay
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Ref


class NodePublisher:
    """Sends the state of each node to all `hearers`, and what follows from it to its pool's disruptor.

    Pods come and go on nodes that stay, and most of that concerns nobody: what was told last is not told
    again. An `early_binder` hears of the pods that wait for a node's machine as well. While one of the
    `moves` is incomplete, no node goes for places that it gave, ready as they may be.
    """

    def __init__(
        self,
        model: ClusterModel,
        moves: MovesUnderWay,
        hearers: tuple[Ref[NodeChanged], ...],
        *,
        early_binder: Ref[NodeChanged] | None,
        disruptor: Callable[[str], Ref[DisruptorHears]],
        recorder: Ref[PodsMoved],
    ) -> None:
        self._model = model
        self._moves = moves
        self._hearers = hearers
        self._early_binder = early_binder
        self._candidates = CandidatePublisher(model, moves, disruptor)
        self._pod_events = PodEventPublisher(model, recorder)
        # By name, what was told last: to all, and to the early binder.
        self._told: dict[str, tuple[NodeChanged, NodeChanged]] = {}

    def tell(self, name: str, now: datetime, *, moved: bool = False) -> None:
        """Send the state of a node, or that it is gone; `moved` if pods came or left."""
        view = self._model.objects.view(name)
        changed = self._change(name, view)
        early = changed if self._early_binder is None else replace(changed, promised=self._promised(view))
        told = self._told.get(name)
        if told is None or changed != told[0]:
            for ref in self._hearers:
                ref.tell(changed)
        if self._early_binder is not None and (told is None or early != told[1]):
            self._early_binder.tell(early)
        if view is not None:
            self._told[name] = changed, early
        else:
            self._told.pop(name, None)
        self._candidates.tell(changed, now, first=told is None)
        self._pod_events.tell(name, view, now, moved=moved, first=told is None)

    def _change(self, name: str, view: NodeView | None) -> NodeChanged:
        going = view is not None and self._model.marks.going(view)
        pods = self._model.objects.pods_on(name) if going else ()
        promises = [promise for p in pods if (promise := self._model.promises.of(p.uid)) is not None]
        waits = view is not None and self._model.marks.awaits_places(view)
        pool, node_class = self._model.objects.launches_from(view) if view is not None else (None, None)
        return NodeChanged(
            name=name,
            view=view,
            going=going,
            pods=pods,
            decisions=tuple(sorted({promise.decision for promise in promises})),
            volumes=self._model.objects.storage.volumes_of(pods),
            places={
                promise.pod: self._model.objects.ready(promise.target)
                and not (waits and self._moves.incomplete(promise.decision))
                for promise in promises
            },
            pool=pool,
            node_class=node_class,
            left_alone=self._model.objects.left_alone(view) if view is not None else None,
        )

    def _promised(self, view: NodeView | None) -> tuple[Pod, ...]:
        """Return the pods that wait for the machine of a claim to join."""
        if view is None or view.claim is None or not view.launched or view.registered:
            return ()
        promises = self._model.promises.at(view.name)
        pods = (self._model.objects.pods.get(promise.pod) for promise in promises)
        return tuple(pod for pod in pods if pod is not None)
