"""Two rehearsals of one history side by side: which is cheaper, why, and what that costs in waiting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_story import rates
from treenail.adapters.embed.rehearsal_summary import RehearsalSummary, summarize
from treenail.domain.model.counted import counted

# Costs nearer to each other than this are told as equal.
_EQUAL_WITHIN: Final = 0.0005
_MOST_TYPES: Final = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one side of a comparison: with one seed. `hours` are those of nodes by what was bought.

    `hours` are by (capacity type, instance type); `rates` are steps (s, $ per hour), `waiting` (s, pods);
    `skipped` are actions that could not be done on this side.
    """

    seed: int
    summary: RehearsalSummary
    hours: dict[tuple[str, str], float]
    rates: tuple[tuple[float, float], ...]
    waiting: tuple[tuple[float, float], ...]
    skipped: tuple[str, ...] = ()


def outcome_of(rehearsal: Rehearsal, seed: int) -> Outcome:
    """Return how a rehearsal ended, as values that another process can send."""
    nodes = rehearsal.history()
    return Outcome(
        seed=seed,
        summary=summarize(rehearsal),
        hours=_hours(nodes, rehearsal.seconds),
        rates=rates(nodes),
        waiting=tuple((c.at, c.pending) for c in rehearsal.pod_history.counts),
        skipped=tuple(f"at {at:g} s {action}: {why}" for at, action, why in skipped_actions(rehearsal)),
    )


def skipped_actions(rehearsal: Rehearsal) -> Iterator[tuple[float, str, str]]:
    """Yield the time (s) of each action that could not be done, the action, and why."""
    for entry in rehearsal.timeline.entries:
        if entry.event == "ActionSkipped":
            yield entry.at, str(entry.fields["action"]), str(entry.fields["why"])


def _hours(nodes: Sequence[NodeRecord], now: float) -> dict[tuple[str, str], float]:
    hours: defaultdict[tuple[str, str], float] = defaultdict(float)
    for node in nodes:
        end = now if node.terminated_at is None else node.terminated_at
        hours[node.capacity_type, node.instance_type] += (end - node.launched_at) / 3600
    return dict(sorted(hours.items()))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of both sides, seed by seed in the same order, at least one each."""

    a: tuple[Outcome, ...]
    b: tuple[Outcome, ...]

    @property
    def cheaper(self) -> str:
        """The side that costs less over all seeds: "a", "b", or "" where they cost the same."""
        return cheaper_of(_mean_cost(self.a), _mean_cost(self.b))

    def verdict(self) -> Iterator[str]:
        """Yield what matters in few lines: who is cheaper, what was bought instead, and who waits longer."""
        yield cost_verdict(_mean_cost(self.a), _mean_cost(self.b))
        yield f"A ran {_bought(self.a)}; B ran {_bought(self.b)}"
        yield "; ".join(self._service())

    def skipped(self) -> tuple[str, ...]:
        """Return the actions that could not be done on a side, each once."""
        said = [
            f"not done on {side}, {one}"
            for side, outcomes in (("A", self.a), ("B", self.b))
            for o in outcomes
            for one in o.skipped
        ]
        return tuple(dict.fromkeys(said))

    def _service(self) -> Iterator[str]:
        """Yield how both sides served the pods."""
        for side, outcomes in (("A", self.a), ("B", self.b)):
            summaries = [o.summary for o in outcomes]
            p99 = max((s.p99_wait for s in summaries if s.p99_wait is not None), default=0.0)
            evicted = sum(s.evictions for s in summaries)
            left = sum(len(s.waiting) for s in summaries)
            short = len({str(w.workload) for s in summaries for w in s.workloads if w.too_few})
            said = f"{side}: 99 % of pods waited at most {p99:.0f} s, {counted(evicted, 'eviction')}"
            said += f", {counted(left, 'pod waits', 'pods wait')} at the end" if left else ""
            below = counted(short, "workload below its budget", "workloads below their budgets")
            said += f", {below}" if short else ""
            yield said


def cheaper_of(a: float, b: float) -> str:
    """Return which of two costs is less: "a", "b", or "" where they are within 0.05 %."""
    if abs(a - b) <= _EQUAL_WITHIN * max(a, b):
        return ""
    return "a" if a < b else "b"


def cost_verdict(a: float, b: float) -> str:
    """Return a sentence: which side costs less, by how much. Both costs are means over all seeds, in $."""
    cheaper = cheaper_of(a, b)
    if not cheaper:
        return f"A and B cost the same: {dollars(a)}"
    less, more = sorted((a, b))
    return f"{cheaper.upper()} costs {1 - less / more:.1%} less: {dollars(less)} against {dollars(more)}"


def _mean_cost(outcomes: Sequence[Outcome]) -> float:
    return fmean(o.summary.cost for o in outcomes)


def _bought(outcomes: Sequence[Outcome]) -> str:
    """Name the types that most of the hours were spent on."""
    hours: defaultdict[tuple[str, str], float] = defaultdict(float)
    for outcome in outcomes:
        for key, spent in outcome.hours.items():
            hours[key] += spent
    if not hours:
        return "nothing"
    whole = sum(hours.values())
    most = sorted(hours.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{kind} {capacity} {spent / whole:.0%}" for (capacity, kind), spent in most[:_MOST_TYPES]]
    others = f", {len(most) - _MOST_TYPES} other types" if len(most) > _MOST_TYPES else ""
    return f"{whole / len(outcomes):,.1f} node hours ({', '.join(named)}{others})"


def as_json(comparison: Comparison) -> dict[str, object]:
    """Return a comparison as the command line's contract has it; `seeds` has both sides of each."""
    return {
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "cheaper": comparison.cheaper or None,
        "verdict": list(comparison.verdict()),
        "skipped": list(comparison.skipped()),
        "seeds": [
            {"seed": a.seed, "a": _side((a,)), "b": _side((b,))}
            for a, b in zip(comparison.a, comparison.b, strict=True)
        ],
    }


def _side(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return one side: the mean cost, and the worst of the rest."""
    summaries = [o.summary for o in outcomes]
    fewest: dict[str, int] = {}
    for summary in summaries:
        for low in summary.workloads:
            name = str(low.workload)
            fewest[name] = min(low.fewest, fewest.get(name, low.fewest))
    return {
        "cost": round(_mean_cost(outcomes), 6),
        "costPerMonth": round(fmean(s.monthly for s in summaries), 2),
        "nodesMost": max(s.nodes_most for s in summaries),
        "pendingSeconds": {
            "median": max((s.median_wait for s in summaries if s.median_wait is not None), default=None),
            "p99": max((s.p99_wait for s in summaries if s.p99_wait is not None), default=None),
        },
        "evictions": sum(s.evictions for s in summaries),
        "pending": sum(len(s.waiting) for s in summaries),
        "blocked": sum(len(s.blocked) for s in summaries),
        "fewestRunning": dict(sorted(fewest.items())),
    }
