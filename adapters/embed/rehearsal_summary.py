"""The summary of a rehearsal: money, nodes, waiting, evictions, what is blocked, and what fell short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.pod_history import Availability, WorkloadName
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster.event_log import EventRecord
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.model.taints import DISRUPTED

HOURS_A_MONTH: Final = 730
_EVICTED: Final = "Evicted"
# Events that say why a pod waits; the latest counts.
_WHY_WAITING: Final = ("FailedScheduling", "Nominated")
_WHY_BLOCKED: Final = ("FailedDraining", "AwaitingVolumeDetachment")


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that has no running container at the end; it waits since `since` (s) because of `reason`."""

    key: str
    since: float
    reason: str


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


@dataclass(frozen=True, slots=True)
class WorkloadLow:
    """When most ready pods of a workload were missing: `fewest` of the `had` it had had, at `at` (s).

    `needs` is how many its budget wanted of them, None without a `budget`.
    """

    workload: WorkloadName
    fewest: int
    had: int
    at: float
    budget: str
    needs: int | None

    @property
    def too_few(self) -> bool:
        """Whether fewer were ready than the budget wanted."""
        return self.needs is not None and self.fewest < self.needs


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSummary:
    """A rehearsal in few numbers. Times are seconds, money is in $, and `rate` in $ per hour at the end.

    `median_wait` and `p99_wait` are of all pods, None where there was none; one that waits still counts with
    what it has waited.
    """

    seconds: float
    cost: float
    rate: float
    nodes: int
    nodes_most: int
    nodes_ever: int
    pods: int
    running: int
    median_wait: float | None
    p99_wait: float | None
    evictions: int
    workloads: tuple[WorkloadLow, ...]
    waiting: tuple[WaitingPod, ...]
    blocked: tuple[BlockedDrain, ...]

    @property
    def monthly(self) -> float:
        """What the nodes there are at the end cost in a month, in $."""
        return self.rate * HOURS_A_MONTH

    def waiting_groups(self) -> tuple[WaitingGroup, ...]:
        """Return the pods that wait by their reason, the reason of most pods first."""
        groups: defaultdict[str, list[WaitingPod]] = defaultdict(list)
        for pod in self.waiting:
            groups[pod.reason].append(pod)
        most_first = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        return tuple(
            WaitingGroup(named([p.key for p in pods]), min(p.since for p in pods), reason)
            for reason, pods in most_first
        )


def summarize(rehearsal: Rehearsal) -> RehearsalSummary:
    """Sum a rehearsal up as it stands."""
    nodes = rehearsal.history()
    now = rehearsal.seconds
    waits = sorted(round(r.waited(now), 3) for r in rehearsal.pod_history.records.values())
    events = rehearsal.cluster.events()
    return RehearsalSummary(
        seconds=now,
        cost=rehearsal.cost(),
        rate=sum(n.price for n in nodes if n.terminated_at is None),
        nodes=len(rehearsal.nodes()),
        nodes_most=most_at_once(nodes),
        nodes_ever=len(nodes),
        pods=len(rehearsal.pods()),
        running=rehearsal.running(),
        median_wait=quantile(waits, 0.5),
        p99_wait=quantile(waits, 0.99),
        evictions=sum(e.count for e in events if e.event.reason == _EVICTED),
        workloads=tuple(_lows(rehearsal)),
        waiting=tuple(_waiting(rehearsal, events)),
        blocked=tuple(_blocked(rehearsal, events)),
    )


def as_json(summary: RehearsalSummary) -> dict[str, object]:
    """Return a summary as the command line's contract has it."""
    return {
        "seconds": summary.seconds,
        "cost": round(summary.cost, 6),
        "costPerHour": round(summary.rate, 6),
        "costPerMonth": round(summary.monthly, 2),
        "nodesMost": summary.nodes_most,
        "nodesEver": summary.nodes_ever,
        "pods": summary.pods,
        "running": summary.running,
        "pendingSeconds": {"median": summary.median_wait, "p99": summary.p99_wait},
        "evictions": summary.evictions,
        "fewestRunning": {str(w.workload): w.fewest for w in summary.workloads},
        "workloads": [
            {
                "workload": str(w.workload),
                "fewest": w.fewest,
                "had": w.had,
                "at": w.at,
                "budget": w.budget or None,
                "needs": w.needs,
            }
            for w in summary.workloads
        ],
        "pending": [{"pod": w.key, "since": w.since, "reason": w.reason} for w in summary.waiting],
        "blocked": [{"node": b.node, "since": b.since, "reason": b.reason} for b in summary.blocked],
    }


def named(keys: Sequence[str]) -> str:
    """Name the first of several pods, and say how many more there are."""
    return keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1:,} more"


def most_at_once(nodes: Iterable[NodeRecord]) -> int:
    """Return how many nodes there were at most at one moment."""
    steps = [(n.launched_at, 1) for n in nodes]
    steps += [(n.terminated_at, -1) for n in nodes if n.terminated_at is not None]
    there = most = 0
    for _, step in sorted(steps):
        there += step
        most = max(most, there)
    return most


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the least of the `ordered` values that `share` of them do not exceed; None of none."""
    if not ordered:
        return None
    at = max(-(-len(ordered) * share // 1) - 1, 0)
    return ordered[int(at)]


def _lows(rehearsal: Rehearsal) -> Iterator[WorkloadLow]:
    budgets = rehearsal.cluster.objects(PodDisruptionBudget)
    for name, low in sorted(rehearsal.pod_history.workloads.items()):
        pod = rehearsal.pod_history.latest.get(name)
        budget = None if pod is None else next((b for b in budgets if b.selects(pod)), None)
        yield WorkloadLow(
            workload=name,
            fewest=low.fewest,
            had=low.had_then,
            at=low.fewest_at,
            budget=budget.key if budget is not None else "",
            needs=_needs(budget, low) if budget is not None else None,
        )


def _needs(budget: PodDisruptionBudget, low: Availability) -> int:
    if budget.max_unavailable is not None:
        return max(low.had_then - budget.max_unavailable.of(low.had_then), 0)
    if budget.min_available is not None:
        return budget.min_available.of(low.had_then)
    return low.had_then


def _waiting(rehearsal: Rehearsal, events: Sequence[EventRecord]) -> Iterator[WaitingPod]:
    why = _latest(events, "Pod", _WHY_WAITING)
    failed = {
        f"nodeclaim/{e.fields['nodeClaim']}": str(e.fields["why"])
        for e in rehearsal.timeline.entries
        if e.event == "ClaimFailed"
    }
    records = rehearsal.pod_history.records
    for pod in rehearsal.pods():
        if pod.phase is not Phase.PENDING or pod.deleting_since is not None:
            continue
        record = records.get(pod.uid)
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


def _blocked(rehearsal: Rehearsal, events: Sequence[EventRecord]) -> Iterator[BlockedDrain]:
    why = _latest(events, "Node", _WHY_BLOCKED)
    cordoned: dict[str, float] = {}
    for entry in rehearsal.timeline.entries:
        if entry.event == "NodeCordoned":
            cordoned.setdefault(str(entry.fields["node"]), entry.at)
    for node in rehearsal.nodes():
        held = why.get(("", node.name))
        leaves = node.unschedulable or DISRUPTED in node.taints or node.deleting_since is not None
        if leaves and node.name in cordoned and held is not None:
            yield BlockedDrain(node.name, cordoned[node.name], held.event.message)


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
