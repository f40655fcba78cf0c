"""The report of a rehearsal, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, TextIO

from rich.console import Console

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.text_table import write_table
from treenail.adapters.cli.timeline_report import write_timeline
from treenail.adapters.cli.trace_tree import write_trace
from treenail.adapters.cli.wrapped_lines import write_hanging
from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_summary import RehearsalSummary
from treenail.adapters.embed.rehearsal_summary import as_json as summary_as_json
from treenail.domain.model.counted import counted

_MOST_TRACES: Final = 10
_MOST_TOLD: Final = 20
_PLACES: Final = 6
_NODE_HEADERS: Final = (
    "node",
    "type",
    "zone",
    "capacity",
    "pool",
    "$/h",
    "launched",
    "terminated",
    "cause",
)
_EVENT_HEADERS: Final = ("last seen", "count", "reason", "object", "message")


def as_json(rehearsal: Rehearsal, summary: RehearsalSummary) -> dict[str, object]:
    """Return a rehearsal as the command line's contract has it. Times are seconds since the start."""
    return {
        "timeline": [
            {"at": round(e.at, _PLACES), "event": e.event, **e.fields} for e in rehearsal.timeline.entries
        ],
        "nodes": [_node(n) for n in rehearsal.history()],
        "pods": [
            {
                "namespace": p.namespace,
                "name": p.name,
                "phase": p.phase.value,
                "node": p.node_name or None,
            }
            for p in rehearsal.pods()
        ],
        "cost": round(rehearsal.cost(), _PLACES),
        "decisions": [{"id": d, "traceId": trace} for d, trace in rehearsal.decisions()],
        "summary": summary_as_json(summary),
        "traces": [_trace(rehearsal, trace) for trace in rehearsal.telemetry.trace_ids()],
    }


def _node(node: NodeRecord) -> dict[str, object]:
    gone = node.terminated_at
    return {
        "name": node.name,
        "instanceType": node.instance_type,
        "zone": node.zone,
        "capacityType": node.capacity_type,
        "nodePool": node.node_pool,
        "launchedAt": round(node.launched_at, _PLACES),
        "terminatedAt": None if gone is None else round(gone, _PLACES),
        "cause": node.cause,
        "nodeClaim": node.claim,
        "instance": node.instance_id,
        "price": round(node.price, _PLACES),
    }


def _trace(rehearsal: Rehearsal, trace_id: str) -> dict[str, object]:
    """Return a trace; times are seconds since the start."""
    start = rehearsal.world.now() - timedelta(seconds=rehearsal.seconds)

    def at(time: datetime) -> float:
        return round((time - start).total_seconds(), _PLACES)

    return {
        "traceId": trace_id,
        "spans": [
            {
                "spanId": span.context.span_id,
                "parentId": span.parent.span_id if span.parent is not None else None,
                "name": span.name,
                "kind": span.kind.value,
                "start": at(span.start),
                "end": at(span.end),
                "attributes": dict(span.attributes),
                "events": [
                    {"name": e.name, "at": at(e.at), "attributes": dict(e.attributes)} for e in span.events
                ],
                "links": [
                    {"traceId": one.to.trace_id, "spanId": one.to.span_id, "attributes": dict(one.attributes)}
                    for one in span.links
                ],
                "error": span.error or None,
            }
            for span in rehearsal.telemetry.spans_of(trace_id)
        ],
    }


def write_report(
    rehearsal: Rehearsal, summary: RehearsalSummary, to: TextIO, *, events: bool = False
) -> None:
    """Write what happened, the nodes there were, the traces of the decisions, and the summary.

    With `events`, those that the controller published beside objects, too.
    """
    console = console_on(to)
    write_timeline(rehearsal.timeline.entries, console)
    console.print()
    write_table(console, _NODE_HEADERS, _nodes(rehearsal.history()))
    if events:
        console.print()
        write_table(console, _EVENT_HEADERS, _events(rehearsal))
    decisions = [(f"decision {one}", trace) for one, trace in rehearsal.decisions()]
    ends = [(f"the end of {node}", trace) for node, trace in rehearsal.ends()]
    for several, called in ((decisions, "decisions"), (ends, "ends")):
        for title, trace in several[:_MOST_TRACES]:
            console.print(f"\n{title}", highlight=False)
            write_trace(rehearsal.telemetry.spans_of(trace), to)
        if len(several) > _MOST_TRACES:
            console.print(f"\n... and {len(several) - _MOST_TRACES} more {called}", highlight=False)
    console.print()
    write_summary(summary, to)


def _nodes(nodes: tuple[NodeRecord, ...]) -> list[tuple[str, ...]]:
    return [
        (
            n.name,
            n.instance_type,
            n.zone,
            n.capacity_type,
            n.node_pool,
            f"{n.price:.4f}",
            f"{n.launched_at:.1f}",
            "" if n.terminated_at is None else f"{n.terminated_at:.1f}",
            n.cause or "",
        )
        for n in nodes
    ]


def _events(rehearsal: Rehearsal) -> list[tuple[str, ...]]:
    start = rehearsal.cluster.now().timestamp() - rehearsal.seconds
    return [
        (
            f"{record.last_at.timestamp() - start:.1f}",
            str(record.count),
            record.event.reason,
            str(record.event.about),
            record.event.message,
        )
        for record in rehearsal.cluster.events()
    ]


# --- the summary


def write_summary(summary: RehearsalSummary, to: TextIO) -> None:
    """Write the figures, then each workload that fell short, each blocked drain and each pod that waits."""
    console = console_on(to)
    for name, value in _figures(summary):
        write_hanging(console, f"{name:<13}", value)
    short = [w for w in summary.workloads if w.fewest < w.had]
    _write_told(
        console,
        "workloads that lost ready pods",
        [
            f"{w.workload}: {w.fewest} of {w.had} ready at {w.at:.0f} s"
            + (f"; budget {w.budget} wants {w.needs}" if w.budget else "")
            for w in short
        ],
    )
    _write_told(
        console,
        "drains that are held up",
        [f"{b.node}, since {b.since:.0f} s: {b.reason}" for b in summary.blocked],
    )
    _write_told(
        console,
        "workloads whose pods the API server refuses",
        [f"{h.workload}, since {h.since:.0f} s: {h.told}" for h in summary.held_back],
    )
    _write_told(
        console,
        "pools that lack nodes",
        [f"{s.name}: {s.told}" for s in summary.short_pools],
    )
    _write_told(
        console,
        "pods that wait",
        [f"{w.pods} since {w.since:.0f} s: {w.reason}" for w in summary.waiting_groups()],
    )
    console.print(
        f"\n{counted(summary.pods, 'pod')}, {summary.running:,} running; {counted(summary.nodes, 'node')}; "
        f"${summary.cost:.4f} spent in {summary.seconds:g} s of virtual time",
        highlight=False,
    )


def _figures(summary: RehearsalSummary) -> Iterator[tuple[str, str]]:
    yield (
        "cost",
        (
            f"{dollars(summary.cost)} spent; at the end {dollars(summary.rate)}/h, "
            f"{dollars(summary.monthly)} a month"
        ),
    )
    yield (
        "nodes",
        (
            f"{summary.nodes:,} at the end; bought: {summary.nodes_most:,} at most, "
            f"{summary.nodes_ever:,} in all"
        ),
    )
    if summary.median_wait is not None and summary.p99_wait is not None:
        yield "pods waited", f"{summary.median_wait:.1f} s (median), {summary.p99_wait:.1f} s (99 %)"
    yield "evictions", f"{summary.evictions:,}"
    if summary.untainted:
        told = ", ".join(f"{key} of {counted(nodes, 'node')}" for key, nodes in summary.untainted)
        yield "startup", f"taints were taken off, as by the agents they wait for: {told}"


def _write_told(console: Console, heading: str, lines: list[str]) -> None:
    if not lines:
        return
    console.print(f"\n{heading}:", highlight=False, style="bold")
    for line in lines[:_MOST_TOLD]:
        write_hanging(console, "- ", line)
    if len(lines) > _MOST_TOLD:
        console.print(f"  ... and {len(lines) - _MOST_TOLD} more", highlight=False)
