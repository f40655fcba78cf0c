"""ZonalShiftPoller: asks which zones are shifted away from, and tells all who buy or give up nodes there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import publish
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.model.zonal_shifts import ZonalShift, ZonesShifted, shift_events, shifted_zones
from treenail.domain.ports import Cloud, ClusterWriter, ZonalShifts

_POLL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Poll:
    """Private timer tick: ask."""


@dataclass(frozen=True, slots=True)
class _Polled:
    """The shifts there are; or there was no answer, and those known last until they end by themselves."""

    outcome: Outcome[tuple[ZonalShift, ...]]


@dataclass(frozen=True, slots=True)
class _Worded:
    """The events on the pools that a change is about, or why they are not known."""

    outcome: Outcome[tuple[ClusterEvent, ...]]


ShiftPollerInbox: TypeAlias = PoolsSeen | _Poll | _Polled | _Worded


class ZonalShiftPoller(DomainActor[ShiftPollerInbox]):
    """Ask every half minute, and tell the cluster state `ZonesShifted`, again each time: some may be new.

    Owns the shifts there are. Writes an event on each pool that a change is about.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[ZonesShifted],
        shifts: ZonalShifts,
        cloud: Cloud,
        writer: ClusterWriter,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._source = shifts
        self._cloud = cloud
        self._writer = writer
        self._seen = PoolsSeen(pools=(), node_classes=())
        self._shifts: tuple[ZonalShift, ...] = ()
        self._told = frozenset[str]()

    def begin(self) -> None:
        self.later("poll", _Poll(), seconds=0.0)

    def handle(self, message: ShiftPollerInbox) -> None:
        match message:
            case PoolsSeen():
                self._seen = message
            case _Poll():
                self._tasks.run(
                    ("ec2", "zonal shifts"),
                    self._source.zonal_shifts,
                    self.me,
                    _Polled,
                    purpose=Purpose.PROVISIONING,
                )
                self.later("poll", _Poll(), seconds=_POLL_SECONDS)
            case _Polled():
                self._note(message.outcome)
            case _Worded(outcome=outcome):
                for event in outcome.value if isinstance(outcome, Done) else ():
                    publish(self._tasks, self._writer, event)
            case _:
                assert_never(message)

    def _note(self, outcome: Outcome[tuple[ZonalShift, ...]]) -> None:
        if isinstance(outcome, Done):
            self._shifts = outcome.value
        else:
            self.log("cannot ask for zonal shifts", level="warning", error=str(outcome.error))
        zones = shifted_zones(self._shifts, self._timers.now())
        self._cluster.tell(ZonesShifted(zone_ids=zones))
        if zones == self._told:
            return
        begun, ended = zones - self._told, self._told - zones
        self._told = zones
        self.log("zones shifted away from", zones=sorted(zones), cleared=sorted(ended))
        seen = self._seen
        self._tasks.run(
            ("ec2", "shifted zones"),
            lambda: tuple(e for pool in seen.pools for e in self._events(pool, seen, begun, ended)),
            self.me,
            _Worded,
            purpose=Purpose.HOUSEKEEPING,
        )

    def _events(
        self, pool: NodePool, seen: PoolsSeen, begun: frozenset[str], ended: frozenset[str]
    ) -> tuple[ClusterEvent, ...]:
        """Return the events on a pool. Blocks."""
        node_class = next((one for one in seen.node_classes if one.ref == pool.node_class), None)
        if node_class is None or pool.deleting:
            return ()
        try:
            types = self._cloud.instance_types(node_class, pool.kubelet or node_class.kubelet)
        except NodeClassNotReadyError:
            return ()
        zones = {(o.zone_id, o.zone) for one in types for o in one.offerings}
        return shift_events(pool, zones, begun=begun, ended=ended)
