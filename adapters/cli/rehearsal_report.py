"""The report of a rehearsal, as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TextIO

from rich.table import Table

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.trace_tree import write_trace
from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.timeline import TimelineEntry

_MOST_TRACES: Final = 10
_PLACES: Final = 6


def as_json(rehearsal: Rehearsal) -> dict[str, object]:
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


def write_report(rehearsal: Rehearsal, to: TextIO) -> None:
    """Write what happened, the nodes there were, the traces of the decisions, and what it cost."""
    console = console_on(to)
    for entry in rehearsal.timeline.entries:
        console.print(_line(entry), highlight=False, soft_wrap=True)
    console.print()
    console.print(_nodes(rehearsal.history()))
    decisions = [(f"decision {one}", trace) for one, trace in rehearsal.decisions()]
    ends = [(f"the end of {node}", trace) for node, trace in rehearsal.ends()]
    for several, called in ((decisions, "decisions"), (ends, "ends")):
        for title, trace in several[:_MOST_TRACES]:
            console.print(f"\n{title}", highlight=False)
            write_trace(rehearsal.telemetry.spans_of(trace), to)
        if len(several) > _MOST_TRACES:
            console.print(f"\n... and {len(several) - _MOST_TRACES} more {called}", highlight=False)
    pods = rehearsal.pods()
    running = rehearsal.running()
    console.print(
        f"\n{len(pods)} pods, {running} running; {len(rehearsal.nodes())} nodes; "
        f"${rehearsal.cost():.4f} spent in {rehearsal.seconds:g} s of virtual time",
        highlight=False,
    )


def _line(entry: TimelineEntry) -> str:
    said = "  ".join(f"{name}={_said(value)}" for name, value in entry.fields.items())
    return f"{entry.at:10.3f}  {entry.event:<26}{said}".replace("[", r"\[").rstrip()


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return "/".join(_said(v) for v in value.values())
    if isinstance(value, list):
        return ",".join(_said(v) for v in value)
    return str(value)


def _nodes(nodes: tuple[NodeRecord, ...]) -> Table:
    table = Table(
        "node", "type", "zone", "capacity", "pool", "$/h", "launched", "terminated", "cause", box=None
    )
    for n in nodes:
        gone = "" if n.terminated_at is None else f"{n.terminated_at:.1f}"
        table.add_row(
            n.name,
            n.instance_type,
            n.zone,
            n.capacity_type,
            n.node_pool,
            f"{n.price:.4f}",
            f"{n.launched_at:.1f}",
            gone,
            n.cause or "",
        )
    return table
