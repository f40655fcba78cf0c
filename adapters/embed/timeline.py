"""The timeline: the domain's events in order, each once, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from treenail.domain.cluster.batch_window import BatchClosed, PodBecamePending, UrgentWork
from treenail.domain.cluster.changes import PodBound
from treenail.domain.cluster.cluster_facts import ObjectSetAside
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import (
    DisruptionRefused,
    DisruptNodes,
    NodeEmptied,
    NodeInterrupted,
)
from treenail.domain.launch.launching import CapacityRanOut, ClaimFailed, LaunchFailed, NodeLaunched
from treenail.domain.lifecycle.lifecycle import NodeInitialized, NodeNeverCame, NodeRegistered
from treenail.domain.model.causes import Cause
from treenail.domain.status.readiness import ReadinessChanged
from treenail.domain.termination.drain import InstanceTerminated, NodeCordoned, NodeDrained, NodeUncordoned

Fields = dict[str, object]


@dataclass(slots=True)
class TimelineEntry:
    """One thing that happened, `at` seconds after the start. `fields` are its values for people and programs.

    Alike things in a row (pods of one node being bound, say) are one entry, counted under `pods`.
    """

    at: float
    event: str
    fields: Fields = field(default_factory=dict)
    group: str = ""


def _plan(plan: PlanCommitted) -> Fields:
    fields: Fields = {
        "decision": plan.decision.id,
        "nodeClaims": [
            {"name": c.name, "nodePool": c.pool, "instanceTypes": len(c.instance_types)} for c in plan.claims
        ],
        "nominated": len(plan.nominations),
        "refused": len(plan.refused),
    }
    if plan.refused:
        pod, group = plan.refused[0]
        fields["because"] = f"{pod.key}: {group.sentence}"
    return fields


def _launched(event: NodeLaunched) -> Fields:
    instance = event.instance
    return {
        "nodeClaim": event.claim.name,
        "instance": instance.id,
        "instanceType": instance.instance_type,
        "zone": instance.zone,
        "capacityType": instance.capacity_type,
        "price": instance.price,
    }


def _disrupt(event: DisruptNodes) -> Fields:
    return {"nodes": [v.node_name or v.name for v in event.nodes], "cause": event.cause.value}


# How each event is told. One that goes to several actors is told when the actor named here gets it.
# What it makes nothing of is not told.
_TELLERS: Final[Mapping[type, tuple[str, Callable[[Any], Fields | None]]]] = {
    PodBecamePending: ("Batcher", lambda _: {"pods": 1}),
    UrgentWork: ("Batcher", lambda e: {"why": e.why}),
    BatchClosed: ("ClusterState", lambda e: {"decision": e.decision.id, "pods": e.decision.pods}),
    PlanCommitted: ("FleetLauncher", _plan),
    NodeLaunched: ("NodeLifecycle", _launched),
    CapacityRanOut: (
        "NodePoolSelector",
        lambda e: {"offerings": ["/".join(key) for key in e.offerings]},
    ),
    LaunchFailed: ("NodePoolSelector", lambda e: {"nodeClass": str(e.node_class), "why": e.why}),
    ClaimFailed: (
        "ClusterState",
        lambda e: {"nodeClaim": e.claim, "cause": e.cause.value, "why": e.why},
    ),
    PodBound: ("PodWatcher", lambda e: {"node": e.view.node_name, "nodeClaim": e.view.name, "pods": 1}),
    NodeEmptied: ("Disruptor", lambda e: {"nodeClaim": e.name} if e.since is not None else None),
    DisruptionRefused: ("Disruptor", lambda e: {"nodes": list(e.candidates), "why": e.why.sentence}),
    DisruptNodes: ("TerminationActor", _disrupt),
    NodeInterrupted: ("TerminationActor", lambda e: {"instance": e.instance_id, "cause": e.cause.value}),
    # ClusterState hears of it again and again, and by lists: it passes on what is news.
    ObjectSetAside: ("StatusReporter", lambda e: {"object": str(e.about), "problem": e.problem}),
    ReadinessChanged: (
        "",
        lambda e: {
            "object": str(e.about),
            "ready": e.condition.status.value,
            "reason": e.condition.reason,
            "problem": e.condition.message,
        },
    ),
    NodeRegistered: ("", lambda e: {"nodeClaim": e.claim.name, "node": e.node}),
    NodeInitialized: ("", lambda e: {"nodeClaim": e.claim.name, "node": e.node}),
    NodeNeverCame: ("", lambda e: {"nodeClaim": e.claim.name, "cause": e.cause.value}),
    NodeCordoned: ("", lambda e: {"nodeClaim": e.claim.name, "node": e.node}),
    NodeUncordoned: ("", lambda e: {"nodeClaim": e.claim.name, "node": e.node}),
    NodeDrained: ("", lambda e: {"nodeClaim": e.claim.name, "node": e.node}),
    InstanceTerminated: (
        "",
        lambda e: {
            "nodeClaim": e.claim.name,
            "node": e.claim.node_name,
            "instance": e.claim.instance_id,
            "cause": e.cause.value,
        },
    ),
}
_COUNTED: Final[Mapping[type, Callable[[Any], str]]] = {
    PodBecamePending: lambda _: "pending",
    PodBound: lambda e: f"bound/{e.view.name}",
}


class Timeline:
    """The entries so far, in the order they happened. `seconds` tells the time."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.entries: list[TimelineEntry] = []
        self._seconds = seconds
        self._leaving: dict[str, None] = {}

    def note(self, actor: str, message: object) -> None:
        """Take in that `actor` (empty: an observer) is told `message`, where that is worth telling."""
        teller = _TELLERS.get(type(message))
        if teller is None or teller[0] != actor or self._no_news(message):
            return
        counted = _COUNTED.get(type(message))
        group = counted(message) if counted is not None else ""
        last = self.entries[-1] if self.entries else None
        if group and last is not None and last.group == group:
            last.fields["pods"] = _count(last.fields) + 1
            return
        fields = teller[1](message)
        if fields is not None:
            self.add(type(message).__name__, fields, group=group)

    def _no_news(self, message: object) -> bool:
        """Return whether EC2 only announces that an instance ends which the controller is ending itself."""
        match message:
            case NodeCordoned(claim=claim) | NodeDrained(claim=claim):
                self._leaving[claim.instance_id] = None
            case NodeUncordoned(claim=claim):
                self._leaving.pop(claim.instance_id, None)
            case NodeInterrupted(cause=Cause.INSTANCE_TERMINATED | Cause.INSTANCE_STOPPED, instance_id=of):
                return of in self._leaving
            case _:
                pass
        return False

    def cordoned(self, called: str) -> dict[str, float]:
        """Return since when nodes are cordoned, less those that were uncordoned, in seconds.

        They are `called` by their "nodeClaim" or by their "node".
        """
        since: dict[str, float] = {}
        for entry in self.entries:
            if entry.event == "NodeCordoned":
                since.setdefault(str(entry.fields[called]), entry.at)
            elif entry.event == "NodeUncordoned":
                since.pop(str(entry.fields[called]), None)
        return since

    def add(self, event: str, fields: Fields, *, group: str = "") -> None:
        """Append an entry."""
        self.entries.append(TimelineEntry(at=self._seconds(), event=event, fields=fields, group=group))


def _count(fields: Fields) -> int:
    pods = fields.get("pods", 0)
    return pods if isinstance(pods, int) else 0
