"""Subscribers of ClusterState: the actors that get its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from treenail.actors.cluster_state.candidate_publisher import DisruptorHears
from treenail.actors.runtime.base import NullRef
from treenail.domain.cluster.batch_window import NodesToReplace, PodBecamePending, PodLeft, UrgentWork
from treenail.domain.cluster.buffer_states import BuffersSeen
from treenail.domain.cluster.changes import NodeChanged, PodBound, PodChanged, TryAgain
from treenail.domain.cluster.cluster_facts import ObjectSetAside, PoolsSeen
from treenail.domain.cluster.consolidating import ConsolidationPostponed, MoveWithdrawn
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.cluster.other_controllers import OtherControllerSeen
from treenail.domain.cluster.planning import PlanCommitted, SnapshotTaken
from treenail.domain.cluster.set_aside import ObjectUnderstood
from treenail.domain.disruption.disruption import (
    DisruptionBlocked,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    NodeInterrupted,
    NoticeSettled,
    PoolChanged,
)
from treenail.domain.disruption.pool_sizes import NodeFailed
from treenail.domain.launch.launching import CapacityRanOut, ClaimFailed
from treenail.domain.model.runtime import Ref
from treenail.domain.model.zonal_shifts import ZonesShifted

PodWatcherHears: TypeAlias = PodChanged | PodBound | TryAgain | PlanCommitted
EventPublisherHears: TypeAlias = (
    NodeChanged | DisruptNodes | DisruptionBlocked | ClaimFailed | OtherControllerSeen
)
ReporterHears: TypeAlias = ObjectSetAside | ObjectUnderstood | PoolsSeen


def _nothing(_: str) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribers:
    """The actors that ClusterState tells what changed. `disruptor` finds the one of a pool.

    A pool has a disruptor from when it appears (`open_disruptor`) until it is gone (`close_disruptor`).

    There is an `early_binder` only where pods are to be bound early, a `node_repairer` where nodes are
    repaired, a `trial` where provisioning is off and comes back, a `consolidator` where consolidation is on,
    a `zonal_shift_poller` where shifts are heeded.
    """

    batcher: Ref[UrgentWork | NodesToReplace | PodBecamePending | PodLeft]
    pod_watcher: Ref[PodWatcherHears]
    reporter: Ref[ReporterHears]
    node_class_controller: Ref[PoolsSeen]
    drift_inspector: Ref[PoolsSeen]
    overlay_inspector: Ref[PoolsSeen]
    pool_usage_reporter: Ref[PoolsSeen | NodeChanged]
    event_publisher: Ref[EventPublisherHears]
    selector: Ref[SnapshotTaken | CapacityRanOut | ZonesShifted]
    launcher: Ref[PlanCommitted | NodeChanged | CapacityRanOut | ZonesShifted]
    lifecycle: Ref[NodeChanged | PoolsSeen]
    termination: Ref[NodeChanged | NodeInterrupted | MoveWithdrawn]
    arbiter: Ref[DisruptionProposed | DisruptionRefused | DisruptNodes | NodeChanged | PoolChanged]
    tagger: Ref[NodeChanged]
    listener: Ref[NoticeSettled]
    recorder: Ref[PodsMoved]
    sizer: Ref[PoolsSeen | NodeChanged | NodeFailed] = field(default_factory=NullRef)
    soft_tainter: Ref[NodeChanged] = field(default_factory=NullRef)
    buffer_reporter: Ref[BuffersSeen]
    trial: Ref[PoolsSeen] | None = None
    zonal_shift_poller: Ref[PoolsSeen] | None = None
    consolidator: Ref[ConsolidationPostponed | MoveWithdrawn] | None = None
    early_binder: Ref[NodeChanged] | None = None
    node_repairer: Ref[NodeChanged] | None = None
    disruptor: Callable[[str], Ref[DisruptorHears]]
    open_disruptor: Callable[[str], None] = _nothing
    close_disruptor: Callable[[str], None] = _nothing

    @property
    def of_nodes(self) -> tuple[Ref[NodeChanged], ...]:
        """The actors that hear of every change of a node."""
        return (
            self.launcher,
            self.lifecycle,
            self.termination,
            self.arbiter,
            self.tagger,
            self.pool_usage_reporter,
            self.event_publisher,
            self.sizer,
            self.soft_tainter,
            *((self.node_repairer,) if self.node_repairer is not None else ()),
        )
