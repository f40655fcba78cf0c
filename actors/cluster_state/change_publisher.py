"""The publisher of changes: it tells the subscribers what changed in the cluster model."""

from __future__ import annotations

from datetime import datetime

from treenail.actors.cluster_state.node_publisher import NodePublisher
from treenail.actors.cluster_state.subscribers import Subscribers
from treenail.domain.cluster.batch_window import NodesToReplace
from treenail.domain.cluster.changes import Changes, PodChanged
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.disruption import PoolChanged
from treenail.domain.disruption.moves_under_way import MovesUnderWay
from treenail.domain.model.node_overlays import heaviest_overlays_first
from treenail.domain.ports import Telemetry
from treenail.domain.scheduling.launch_backoff import LaunchBackoff
from treenail.domain.telemetry import metrics


class ChangePublisher:
    """Publisher of changes to the subscribers: pods that wait, cease to or are bound; nodes; pools."""

    def __init__(
        self,
        model: ClusterModel,
        moves: MovesUnderWay,
        subscribers: Subscribers,
        launch_backoff: LaunchBackoff,
        telemetry: Telemetry,
    ) -> None:
        self._model = model
        self._subscribers = subscribers
        self._launch_backoff = launch_backoff
        self._telemetry = telemetry
        self._nodes = NodePublisher(
            model,
            moves,
            subscribers.of_nodes,
            early_binder=subscribers.early_binder,
            disruptor=subscribers.disruptor,
            recorder=subscribers.recorder,
        )
        self._waiting: dict[str, None] = {}
        # Pods that run, and have a place elsewhere for when their node goes.
        self._placed: dict[str, None] = {}
        self._pools_told: dict[str, None] = {}

    def publish(self, changes: Changes, now: datetime) -> None:
        """Publish the pods and nodes that changed.

        The disruptor of a new pool is there before anybody hears of its nodes.
        """
        pools = self._model.objects.pools.keys()
        for name in sorted(pools - self._pools_told.keys()) if changes.pools else ():
            self._subscribers.open_disruptor(name)
        for uid in changes.pods:
            self._publish_pod(uid, now)
            self._replace_lost_place(uid)
        for bound in changes.bound:
            self._subscribers.pod_watcher.tell(bound)
        moved = self._model.objects.take_moved()
        for name in changes.views:
            self._nodes.tell(name, now, moved=name in moved)
        if changes.views:
            there = max(len(self._model.objects.claims), len(self._model.objects.nodes))
            self._telemetry.gauge(metrics.CLUSTER_STATE_NODES.name, there)

    def _publish_pod(self, uid: str, now: datetime) -> None:
        waiting, pod = self._model.waiting(uid), self._model.objects.pods.get(uid)
        if pod is None or pod.bound:
            self._launch_backoff.forget(uid)
        if waiting == (uid in self._waiting):
            return
        if waiting:
            self._waiting[uid] = None
        else:
            del self._waiting[uid]
        changed = PodChanged(
            uid=uid,
            pod=pod,
            waiting=waiting,
            not_before=self._launch_backoff.until(uid),
            wished=self._model.expected.wished_with(pod, now) if waiting and pod is not None else 0,
        )
        self._subscribers.pod_watcher.tell(changed)

    def _replace_lost_place(self, uid: str) -> None:
        """Have a new place found for a pod that lost the one it was promised, while its node goes."""
        pod = self._model.objects.pods.get(uid)
        if pod is not None and pod.bound and self._model.promises.of(uid) is not None:
            self._placed[uid] = None
            return
        had_one = uid in self._placed
        self._placed.pop(uid, None)
        if not had_one or pod is None or not pod.reschedulable:
            return
        view = self._model.objects.view(self._model.objects.view_name(pod.node_name))
        if view is not None and self._model.marks.ending(view):
            self._subscribers.batcher.tell(NodesToReplace(names=(view.name,)))

    def ask_for_places(self) -> None:
        """Have places found for pods whose nodes go already: at a start nobody has asked for them yet.

        The promises of places on existing nodes ended with the last process, and pods of a node that goes at
        will wait for minutes until they have other ones.
        """
        objects, promises = self._model.objects, self._model.promises
        names = sorted(
            view.name
            for view in objects.views()
            if self._model.marks.ending(view)
            and any(pod.reschedulable and promises.of(pod.uid) is None for pod in objects.pods_of(view))
        )
        if names:
            self._subscribers.batcher.tell(NodesToReplace(names=tuple(names)))

    def publish_pools(self) -> None:
        """Publish all pools and node classes, and close the disruptors of pools that are gone."""
        for name in sorted(self._pools_told.keys() | self._model.objects.pools.keys()):
            pool = self._model.objects.pools.get(name)
            node_class = self._model.objects.node_class(pool.node_class) if pool is not None else None
            changed = PoolChanged(name=name, pool=pool, node_class=node_class)
            self._subscribers.disruptor(name).tell(changed)
            self._subscribers.arbiter.tell(changed)
            if pool is None:
                self._subscribers.close_disruptor(name)
        self._pools_told = dict.fromkeys(sorted(self._model.objects.pools))
        pools, node_classes = self._model.objects.pools.values(), self._model.objects.node_classes.values()
        of_others = tuple(p.name for p in pools if p.static and not self._model.objects.static_capacity)
        seen = PoolsSeen(
            pools=tuple(pools),
            node_classes=tuple(node_classes),
            overlays=heaviest_overlays_first(self._model.objects.overlays.values()),
            left_alone=of_others,
        )
        self._subscribers.reporter.tell(seen)
        self._subscribers.node_class_controller.tell(seen)
        self._subscribers.drift_inspector.tell(seen)
        self._subscribers.overlay_inspector.tell(seen)
        self._subscribers.lifecycle.tell(seen)
        self._subscribers.sizer.tell(seen)
        self._subscribers.pool_usage_reporter.tell(seen)
        for one in (self._subscribers.trial, self._subscribers.zonal_shift_poller):
            if one is not None:
                one.tell(seen)
