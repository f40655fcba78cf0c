"""Reasons why pods wait and drains are blocked, as events and the timeline say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.adapters.embed.pod_history import PodHistory
from treenail.adapters.embed.timeline import Timeline
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.cluster.event_log import EventRecord
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.model.taints import DISRUPTED

# Events that say why a pod waits; the latest counts.
_WHY_WAITING: Final = ("FailedScheduling", "Nominated")
_REASONS: Final = 3
_WHY_BLOCKED: Final = ("FailedDraining", "AwaitingVolumeDetachment")


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that has no running container; it waits since `since` (s) because of `reason`.

    `code` is what a decision refused it for, such as "LimitReached", or why its claim failed; "" where
    nothing was said, or nobody listened.
    """

    key: str
    since: float
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """Pods that wait for one reason, the first of them named; the longest waits since `since` (s)."""

    pods: str
    since: float
    reason: str


@dataclass(frozen=True, slots=True)
class BlockedDrain:
    """A node on its way out since `since` (s) that something holds."""

    node: str
    since: float
    reason: str


def waiting_pods(cluster: FakeCluster, history: PodHistory, timeline: Timeline) -> Iterator[WaitingPod]:
    """Yield the pods that wait, less those of DaemonSets, each with the latest reason there is."""
    why = _latest(cluster.events(), "Pod", _WHY_WAITING)
    failed = {
        f"nodeclaim/{e.fields['nodeClaim']}": str(e.fields["why"])
        for e in timeline.entries
        if e.event == "ClaimFailed"
    }
    for pod in cluster.pods():
        if pod.daemon or pod.phase is not Phase.PENDING or pod.deleting_since is not None:
            continue
        record = history.records.get(pod.uid)
        since = record.created_at if record is not None else 0.0
        yield WaitingPod(pod.key, since, _why_it_waits(pod, why.get((pod.namespace, pod.name)), failed))


def _why_it_waits(pod: Pod, event: EventRecord | None, failed: Mapping[str, str]) -> str:
    """Return why a pod has no running container. `failed` is why claims were given up, by their name."""
    if pod.spec.scheduling_gates:
        return f"its scheduling gates hold it: {', '.join(pod.spec.scheduling_gates)}"
    if pod.node_name:
        return f"it is bound to node {pod.node_name} and starts there"
    if pod.spec.scheduler_name != "default-scheduler":
        return f"scheduler {pod.spec.scheduler_name} is to place it, which does not run here"
    if event is None:
        return "nobody has said why"
    message = event.event.message
    # The node it should have come to may never have been launched.
    place = message.rpartition(" ")[2]
    return f"no node could be launched for it: {failed[place]}" if place in failed else message


def grouped(waiting: Iterable[WaitingPod]) -> tuple[WaitingGroup, ...]:
    """Return the pods that wait by their reason, the reason of most pods first."""
    groups: defaultdict[str, list[WaitingPod]] = defaultdict(list)
    for pod in waiting:
        groups[pod.reason].append(pod)
    most_first = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        WaitingGroup(named([p.key for p in pods]), min(p.since for p in pods), reason)
        for reason, pods in most_first
    )


def named(keys: Sequence[str]) -> str:
    """Name the first of several pods, and say how many more there are."""
    return keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1:,} more"


def blocked_drains(cluster: FakeCluster, timeline: Timeline) -> Iterator[BlockedDrain]:
    """Yield the nodes on their way out that something holds, with the latest reason there is."""
    why = _latest(cluster.events(), "Node", _WHY_BLOCKED)
    cordoned = timeline.cordoned("node")
    for node in cluster.nodes():
        held = why.get(("", node.name))
        leaves = node.unschedulable or DISRUPTED in node.taints or node.deleting_since is not None
        if leaves and node.name in cordoned and held is not None:
            yield BlockedDrain(node.name, cordoned[node.name], held.event.message)


def main_reasons(cluster: FakeCluster, history: PodHistory, timeline: Timeline) -> tuple[str, ...]:
    """Return why most of the waiting pods wait, and why drains are blocked: three lines of each at most."""
    waiting = grouped(waiting_pods(cluster, history, timeline))[:_REASONS]
    held = list(blocked_drains(cluster, timeline))[:_REASONS]
    return (
        *(f"{w.pods}: {w.reason}" for w in waiting),
        *(f"node {h.node} is held: {h.reason}" for h in held),
    )


def _latest(
    events: Sequence[EventRecord], kind: str, reasons: Sequence[str]
) -> dict[tuple[str, str], EventRecord]:
    """Return the latest event of these reasons about each object of a kind, by (namespace, name)."""
    latest: dict[tuple[str, str], EventRecord] = {}
    for record in events:
        about = record.event.about
        if about.kind == kind and record.event.reason in reasons:
            before = latest.get((about.namespace, about.name))
            if before is None or record.last_at >= before.last_at:
                latest[about.namespace, about.name] = record
    return latest
