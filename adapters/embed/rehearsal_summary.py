"""The summary of a rehearsal: money, nodes, waiting, evictions, what is blocked, and what fell short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.pod_history import Availability, WorkloadName
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.short_pools import ShortPool, short_pools
from treenail.adapters.embed.startup_agents import TAINT_REMOVED
from treenail.adapters.embed.timeline import TimelineEntry
from treenail.adapters.embed.waiting import (
    BlockedDrain,
    WaitingGroup,
    WaitingPod,
    blocked_drains,
    grouped,
    waiting_pods,
)
from treenail.adapters.fake.cluster.held_back import HeldBack
from treenail.domain.model.pod_budgets import PodDisruptionBudget

HOURS_A_MONTH: Final = 730
_EVICTED: Final = "Evicted"


@dataclass(frozen=True, slots=True)
class WorkloadLow:
    """The moment when most pods of a workload were missing: `fewest` of the `had` it had had, at `at` (s).

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
        """True if fewer were ready than the budget wanted."""
        return self.needs is not None and self.fewest < self.needs


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSummary:
    """A rehearsal in few numbers. Times are seconds, money is in $, and `rate` in $ per hour at the end.

    `median_wait` and `p99_wait` are over all pods, None where there was none; a pod that still waits counts
    with its time so far. `untainted` has the keys of startup taints that were taken off, and of how many
    nodes.
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
    held_back: tuple[HeldBack, ...]
    short_pools: tuple[ShortPool, ...]
    untainted: tuple[tuple[str, int], ...]

    @property
    def monthly(self) -> float:
        """The cost in a month of the nodes there are at the end, in $."""
        return self.rate * HOURS_A_MONTH

    def waiting_groups(self) -> tuple[WaitingGroup, ...]:
        """Return the pods that wait by their reason, the reason of most pods first."""
        return grouped(self.waiting)


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
        waiting=tuple(waiting_pods(rehearsal.cluster, rehearsal.pod_history, rehearsal.timeline)),
        blocked=tuple(blocked_drains(rehearsal.cluster, rehearsal.timeline)),
        held_back=rehearsal.cluster.held_back(),
        short_pools=tuple(short_pools(rehearsal)),
        untainted=tuple(sorted(_untainted(rehearsal.timeline.entries).items())),
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
        "heldBack": [
            {"workload": h.workload, "missing": h.missing, "since": round(h.since, 3), "reason": h.why}
            for h in summary.held_back
        ],
        "shortPools": [
            {"nodePool": s.name, "nodes": s.nodes, "wanted": s.wanted, "reason": s.why}
            for s in summary.short_pools
        ],
        "startupTaintsRemoved": dict(summary.untainted),
    }


def _untainted(entries: Iterable[TimelineEntry]) -> Counter[str]:
    return Counter(str(one.fields["key"]) for one in entries if one.event == TAINT_REMOVED)


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
