"""The story of a rehearsal, as its report tells it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.pod_history import Count
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_summary import RehearsalSummary, WorkloadLow
from treenail.adapters.embed.timeline import TimelineEntry
from treenail.adapters.report.axis import clock
from treenail.adapters.report.story import (
    Bar,
    Curve,
    Fact,
    Finding,
    NodeRow,
    Sheet,
    SpanRow,
    Stage,
    StageName,
    Story,
    TraceStory,
)
from treenail.domain.model import labels
from treenail.domain.model.counted import counted
from treenail.domain.telemetry.delays import CAUSE_OF_DELAY
from treenail.domain.telemetry.span_trees import SpanTree, grow
from treenail.domain.telemetry.tracing import Attribute, Span, SpanEvent

# What keeps a page of many nodes small enough to be mailed.
_MOST_TRACES: Final = 40
_MOST_SPANS: Final = 60
_MOST_SPANS_IN_ALL: Final = 800
_MOST_POINTS: Final = 1500
_MOST_FINDINGS: Final = 100
_MOST_EVENTS: Final = 5
_LONGEST_DETAILS: Final = 160


def tell_story(rehearsal: Rehearsal, summary: RehearsalSummary, title: str, subtitle: str) -> Story:
    """Return a rehearsal as its page shows it. Equal rehearsals give equal stories."""
    nodes = rehearsal.history()
    traces, cut = _traces(rehearsal)
    return Story(
        title=title,
        subtitle=subtitle,
        seconds=summary.seconds,
        facts=tuple(_facts(summary)),
        findings=tuple((heading, found) for heading, found in _findings(summary) if found),
        curves=(
            ("Pods", _pod_curves(rehearsal.pod_history.counts)),
            ("Dollars per hour", (Curve("nodes, $ per hour", rates(nodes), unit="$", filled=True),)),
        ),
        money=_money(rehearsal),
        sheets=(_workloads(summary.workloads[:_MOST_FINDINGS]),) if summary.workloads else (),
        nodes=tuple(_rows(rehearsal, nodes, summary.seconds)),
        traces=tuple((heading, told) for heading, told in traces if told),
        cut=tuple(cut),
    )


# --- the summary


def _facts(summary: RehearsalSummary) -> Iterator[Fact]:
    yield Fact("spent", dollars(summary.cost))
    yield Fact("at the end", f"{dollars(summary.rate)}/h", f"{dollars(summary.monthly)} a month")
    yield Fact("nodes bought", f"{summary.nodes_most:,} at most", f"{summary.nodes_ever:,} in all")
    yield Fact("pods running", f"{summary.running:,}", f"of {summary.pods:,} at the end")
    if summary.median_wait is not None and summary.p99_wait is not None:
        yield Fact("pods waited", f"{summary.median_wait:.0f} s", f"median; 99 %: {summary.p99_wait:.0f} s")
    yield Fact("evictions", f"{summary.evictions:,}")


def _findings(summary: RehearsalSummary) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    groups = summary.waiting_groups()[:_MOST_FINDINGS]
    waiting = tuple(Finding(g.pods, g.reason, g.since) for g in groups)
    yield f"{counted(len(summary.waiting), 'pod that waits', 'pods that wait')} at the end", waiting
    blocked = tuple(Finding(b.node, b.reason, b.since) for b in summary.blocked[:_MOST_FINDINGS])
    yield f"{counted(len(summary.blocked), 'drain that is', 'drains that are')} held up at the end", blocked
    if summary.held_back:
        refused = tuple(Finding(h.workload, h.told, h.since) for h in summary.held_back[:_MOST_FINDINGS])
        yield f"{len(summary.held_back):,} workloads whose pods the API server refuses", refused
    short = tuple(Finding(s.name, s.told) for s in summary.short_pools[:_MOST_FINDINGS])
    yield f"{counted(len(summary.short_pools), 'pool that lacks', 'pools that lack')} nodes at the end", short


def _workloads(lows: Sequence[WorkloadLow]) -> Sheet:
    return Sheet(
        heading="Workloads",
        columns=("workload", "fewest ready", "of", "at", "budget"),
        rows=tuple(
            (
                str(low.workload),
                f"{low.fewest:,}",
                f"{low.had:,}",
                clock(low.at) if low.fewest < low.had else "",
                f"{low.budget}: at least {low.needs}" if low.budget else "",
            )
            for low in lows
        ),
        numbers=(1, 2),
        marked=tuple(number for number, low in enumerate(lows) if low.too_few),
    )


# --- over time


def _pod_curves(counts: Sequence[Count]) -> tuple[Curve, ...]:
    return (
        Curve("running and ready", thinned([(c.at, c.running) for c in counts]), filled=True),
        Curve("pending", thinned([(c.at, c.pending) for c in counts])),
    )


def thinned(
    steps: Sequence[tuple[float, float]], most: int = _MOST_POINTS
) -> tuple[tuple[float, float], ...]:
    """Return at most about so many of `steps`: of each stretch of time the lowest, the highest and the last.

    Peaks and troughs stay, however short.
    """
    if len(steps) <= most:
        return tuple(steps)
    begin, end = steps[0][0], steps[-1][0]
    width = (end - begin) / (most // 3)
    kept: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for step in steps:
        kept[int((step[0] - begin) / width)].append(step)
    chosen: list[tuple[float, float]] = []
    for stretch in kept.values():
        lowest = min(stretch, key=lambda s: s[1])
        highest = max(stretch, key=lambda s: s[1])
        chosen += sorted({lowest, highest, stretch[-1]})
    return tuple(chosen)


def rates(nodes: Iterable[NodeRecord]) -> tuple[tuple[float, float], ...]:
    """Return what the nodes cost together over time, as steps (s, $ per hour)."""
    changes: defaultdict[float, float] = defaultdict(float)
    changes[0.0] = 0.0
    for node in nodes:
        changes[node.launched_at] += node.price
        if node.terminated_at is not None:
            changes[node.terminated_at] -= node.price
    rate = 0.0
    steps: list[tuple[float, float]] = []
    for at in sorted(changes):
        rate = max(rate + changes[at], 0.0)
        steps.append((at, round(rate, 6)))
    return thinned(steps)


def _money(rehearsal: Rehearsal) -> tuple[Bar, ...]:
    """Return what the nodes of each pool cost, the dearest first."""
    spent = rehearsal.ec2.costs(lambda i: i.tags.get(labels.NODEPOOL) or i.tags.get(labels.PROVISIONER, ""))
    dearest = sorted(spent.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Bar(pool or "(no pool)", amount, dollars(amount)) for pool, amount in dearest)


# --- nodes


def _rows(rehearsal: Rehearsal, nodes: Iterable[NodeRecord], now: float) -> Iterator[NodeRow]:
    ready, cordoned = _initialized(rehearsal), rehearsal.timeline.cordoned("nodeClaim")
    for node in nodes:
        yield NodeRow(
            name=node.name,
            pool=node.node_pool,
            instance_type=node.instance_type,
            zone=node.zone,
            capacity_type=node.capacity_type,
            price=node.price,
            stages=_stages(node, ready.get(node.claim), cordoned.get(node.claim), now),
            cause=node.cause or "",
        )


def _initialized(rehearsal: Rehearsal) -> dict[str, float]:
    """Return when the node of each claim was initialized."""
    first: dict[str, float] = {}
    for entry in rehearsal.timeline.entries:
        if entry.event == "NodeInitialized":
            first.setdefault(str(entry.fields["nodeClaim"]), entry.at)
    return first


def _stages(node: NodeRecord, ready: float | None, cordoned: float | None, now: float) -> tuple[Stage, ...]:
    end = now if node.terminated_at is None else node.terminated_at
    leaves = min(cordoned, end) if cordoned is not None else end
    joined = min(ready, leaves) if ready is not None else leaves
    whole = (
        Stage(StageName.BOOTING, node.launched_at, joined),
        Stage(StageName.IN_USE, joined, leaves),
        Stage(StageName.DRAINING, leaves, end),
    )
    return tuple(stage for stage in whole if stage.end > stage.start)


# --- traces


def _traces(rehearsal: Rehearsal) -> tuple[list[tuple[str, tuple[TraceStory, ...]]], list[str]]:
    """Return the traces under their headings, and what was left out."""
    told: list[tuple[str, tuple[TraceStory, ...]]] = []
    cut: list[str] = []
    plans = _plans(rehearsal)
    left = _MOST_SPANS_IN_ALL
    for heading, named in (
        ("Decisions", [(f"{plans.get(one, '')} (decision {one})", t) for one, t in rehearsal.decisions()]),
        ("Ends of nodes", [(f"end of {node}", trace) for node, trace in rehearsal.ends()]),
    ):
        shown = named[:_MOST_TRACES]
        traces: list[TraceStory] = []
        for title, trace in shown:
            traces.append(_trace(rehearsal, title, trace, min(left, _MOST_SPANS)))
            left -= len(traces[-1].spans)
        told.append((heading, tuple(traces)))
        if len(named) > len(shown):
            cut.append(f"{heading}: the first {len(shown)} of {len(named)} are shown.")
    return told, cut


def _some(number: object, one: str, several: str = "") -> str:
    return counted(number, one, several) if isinstance(number, int) and number else ""


def _plans(rehearsal: Rehearsal) -> dict[str, str]:
    """Return what each decision came to, in few words."""
    said: dict[str, str] = {}
    for entry in rehearsal.timeline.entries:
        match entry:
            case TimelineEntry(event="PlanCommitted", fields={"decision": str(decision), **plan}):
                claims = plan["nodeClaims"]
                parts = [
                    _some(len(claims) if isinstance(claims, list) else 0, "new node"),
                    _some(plan["nominated"], "pod to nodes there", "pods to nodes there"),
                    _some(plan["refused"], "pod refused", "pods refused"),
                ]
                said[decision] = ", ".join(filter(None, parts)) or "nothing to do"
            case _:
                pass
    return said


def _trace(rehearsal: Rehearsal, title: str, trace_id: str, most: int) -> TraceStory:
    spans = rehearsal.telemetry.spans_of(trace_id)
    rows = [row for tree in grow(spans) for row in _span_rows(tree, 0, min(s.start for s in spans))]
    start = rehearsal.world.now() - timedelta(seconds=rehearsal.seconds)
    begin = min((s.start for s in spans), default=start)
    return TraceStory(
        title=title,
        at=(begin - start).total_seconds(),
        trace_id=trace_id,
        spans=tuple(rows[:most]),
        more=max(len(rows) - most, 0),
    )


def _span_rows(tree: SpanTree, depth: int, start: datetime) -> Iterator[SpanRow]:
    span: Span = tree.span
    yield SpanRow(
        name=span.name,
        depth=depth,
        start=(span.start - start).total_seconds(),
        end=(span.end - start).total_seconds(),
        error=span.error,
        details=_details(span.attributes),
    )
    alike = Counter(_event_name(event) for event in span.events)
    first = {_event_name(event): event for event in reversed(span.events)}
    for name in list(alike)[:_MOST_EVENTS]:
        at = (first[name].at - start).total_seconds()
        called = f"{name} ({alike[name]})" if alike[name] > 1 else name
        yield SpanRow(called, depth + 1, at, at, details=_details(first[name].attributes), event=True)
    for child in tree.children:
        yield from _span_rows(child, depth + 1, start)


def _event_name(event: SpanEvent) -> str:
    """Return the name of a row of events: delays are told apart by their cause."""
    cause = event.attributes.get(CAUSE_OF_DELAY)
    return f"{event.name}: {cause}" if cause else event.name


def _details(attributes: Mapping[str, Attribute]) -> str:
    said = "\n".join(
        f"{name.removeprefix('treenail.')}: {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in attributes.items()
    )
    return said if len(said) <= _LONGEST_DETAILS else f"{said[: _LONGEST_DETAILS - 3]}..."
