"""A cluster state with probes for all it tells."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.builders import START, claim_of, decided, node_class, node_of, node_pool, view
from tests.probes import Probe
from treenail.actors.cluster_state.cluster_state import ClusterState
from treenail.actors.cluster_state.subscribers import Subscribers
from treenail.domain.cluster.batch_window import BatchClosed, Decision
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.cluster.planning import PlanCommitted, SnapshotTaken
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.model.causes import Cause
from treenail.domain.model.resources import Resources
from treenail.domain.packing.plan import PlannedClaim

LASTS = timedelta(seconds=20)
IN_USE = (claim_of(view()), node_of(view()))


class Knowing(Stage):
    """A cluster state that knows one pool and its class, and has been told of everything once.

    It is so many seconds after the start by then.
    """

    def __init__(
        self,
        *things: ClusterObject,
        limits: Resources | None = None,
        synced: bool = True,
        seconds: float = 0,
        gather_seconds: float = 0,
    ) -> None:
        super().__init__()
        self.batcher, self.pod_watcher, self.selector = Probe(), Probe(), Probe()
        self.launcher, self.lifecycle, self.termination = Probe(), Probe(), Probe()
        self.listener, self.event_publisher, self.recorder = Probe(), Probe(), Probe()
        self.arbiter, self.disruptor, self.reporter, self.node_class_controller = (
            Probe(),
            Probe(),
            Probe(),
            Probe(),
        )
        self.consolidator = Probe()
        self.model = ClusterModel(promise_lasts=LASTS)
        subscribers = Subscribers(
            batcher=self.batcher,
            pod_watcher=self.pod_watcher,
            reporter=self.reporter,
            node_class_controller=self.node_class_controller,
            selector=self.selector,
            launcher=self.launcher,
            lifecycle=self.lifecycle,
            termination=self.termination,
            arbiter=self.arbiter,
            tagger=Probe(),
            listener=self.listener,
            recorder=self.recorder,
            buffer_reporter=Probe(),
            pool_usage_reporter=Probe(),
            drift_inspector=Probe(),
            overlay_inspector=Probe(),
            event_publisher=self.event_publisher,
            disruptor=lambda _: self.disruptor,
            consolidator=self.consolidator,
        )
        self.cluster: Any = self.host(
            lambda runtime: ClusterState(
                runtime,
                subscribers=subscribers,
                model=self.model,
                promise_lasts=LASTS,
                gather_seconds=gather_seconds,
            )
        )
        self.run(seconds)
        there = (node_pool(limits=limits), node_class(), *things)
        if synced:
            self.tell(Resynced(revision=1, objects=there))
        else:
            self.see(*there)

    def tell(self, *messages: object) -> None:
        for message in messages:
            self.cluster.tell(message)
        self.run(0)

    def see(self, *things: ClusterObject) -> None:
        self.tell(*(ObjectSeen(object=thing) for thing in things))

    def lose(self, kind: Kind, key: str) -> None:
        self.tell(ObjectGone(kind=kind, key=key))

    def interrupt(self, instance_id: str = "i-c1") -> None:
        self.tell(NodeInterrupted(instance_id=instance_id, cause=Cause.SPOT_INTERRUPTED, noticed_at=START))

    def close_batch(self, name: str = "d1", *, pods: int = 1, opened: float = 0, urgent: str = "") -> None:
        """Close a window that opened so many seconds after the start."""
        opened_at = START + timedelta(seconds=opened)
        decision = Decision(id=name, opened_at=opened_at, closed_at=self.now(), pods=pods, urgent=urgent)
        self.tell(BatchClosed(decision=decision))

    def decide(self, *claims: PlannedClaim, name: str = "d1", **nominations: str) -> None:
        """Answer the last snapshot with a plan."""
        snapshot = self.selector.of(SnapshotTaken)[-1].snapshot
        self.tell(decided(snapshot, *claims, nominations=nominations, name=name))

    def snapshots(self) -> list[tuple[str, list[str]]]:
        """Return the decisions that were given a snapshot, with the pods in it."""
        taken = self.selector.of(SnapshotTaken)
        return [(s.decision.id, [p.uid for p in s.snapshot.pods]) for s in taken]

    def committed(self) -> list[PlanCommitted]:
        return self.launcher.of(PlanCommitted)
