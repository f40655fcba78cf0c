"""NodeRepairer: has nodes replaced that stay unhealthy, unless too many are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import ToldLately, publish
from treenail.actors.runtime.work_queue import Look
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.disruption.node_repair import Diagnosis, RepairPolicy, UnhealthyNodes
from treenail.domain.interruption.notice_trace import NoticeRoots, repair_spans
from treenail.domain.model.causes import Cause
from treenail.domain.model.event_subjects import of_node
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import ClusterWriter
from treenail.domain.telemetry import metrics

_LOOK_AGAIN: Final = timedelta(minutes=5)
_TOLD_SECONDS: Final = 900.0


NodeRepairerInbox: TypeAlias = NodeChanged | Look


class NodeRepairer(DomainActor[NodeRepairerInbox]):
    """Watch what nodes say of themselves, and give those up that are not well for longer than is tolerated.

    Owns which nodes are unhealthy. Tells the cluster state `NodeInterrupted`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[NodeInterrupted],
        writer: ClusterWriter,
        policies: Sequence[RepairPolicy],
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._writer = writer
        self._unhealthy_nodes = UnhealthyNodes(policies)
        # When those are looked at again that were found to be unhealthy for too long.
        self._not_before: dict[str, datetime] = {}
        self._roots = NoticeRoots()
        self._told = ToldLately(runtime.timers.monotonic, seconds=_TOLD_SECONDS)

    def handle(self, message: NodeRepairerInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case Look(name=name):
                self._look(name)
            case _:
                assert_never(message)

    def _note(self, changed: NodeChanged) -> None:
        name, diagnosis = changed.name, self._unhealthy_nodes.note(changed)
        if diagnosis is None:
            self._not_before.pop(name, None)
            self._timers.cancel(name, self.me)
        else:
            self._look_at(name, max(diagnosis.due, self._not_before.get(name, diagnosis.due)))

    def _look_at(self, name: str, at: datetime) -> None:
        self.later(name, Look(name), seconds=max(0.0, (at - self._timers.now()).total_seconds()))

    def _look(self, name: str) -> None:
        found = self._unhealthy_nodes.diagnosis(name)
        if found is None:
            return
        # The outcome shows in the API before long; without one, it is tried again.
        self._not_before[name] = self._timers.now() + _LOOK_AGAIN
        self._look_at(name, self._not_before[name])
        view, claim, diagnosis = found
        blocked = self._unhealthy_nodes.too_many(claim.pool)
        if blocked is None:
            self._give_up(claim, diagnosis)
        else:
            self._tell_blocked(view, blocked)

    def _give_up(self, claim: NodeClaim, diagnosis: Diagnosis) -> None:
        now = self._timers.now()
        self._telemetry.count(
            metrics.NODECLAIMS_UNHEALTHY.name,
            condition=diagnosis.condition.type,
            nodepool=claim.pool,
            capacity_type=claim.capacity_type,
            image_id=claim.image_id,
        )
        notice = NodeInterrupted(
            instance_id=claim.instance_id,
            cause=Cause.UNHEALTHY,
            noticed_at=now,
            forceful=True,
            why=diagnosis.why,
        )
        # It is told again while nothing becomes of it, and is in its trace once.
        for span in repair_spans(notice, claim, diagnosis) if self._roots.begins(notice) else ():
            self._telemetry.record(span)
        self._cluster.tell(notice)

    def _tell_blocked(self, view: NodeView, why: str) -> None:
        if view.node is None or not self._told.news(view.name):
            return
        self.log("node repair is blocked", logger="controller.node.health", node=view.node_name, why=why)
        event = ClusterEvent(of_node(view.node), "NodeRepairBlocked", why, warning=True)
        publish(self._tasks, self._writer, event)
