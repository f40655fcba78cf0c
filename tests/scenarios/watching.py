"""What tests of the whole system look at: walkthroughs, events by name, traces."""

from __future__ import annotations

from pathlib import Path

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.timeline import TimelineEntry
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.telemetry.span_trees import SpanTree

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> Path:
    return EXAMPLES / f"{name}.yaml"


def told(rehearsal: Rehearsal, event: str) -> list[TimelineEntry]:
    """Return what the timeline tells of one kind of event."""
    return [entry for entry in rehearsal.timeline.entries if entry.event == event]


def pods_by_node(rehearsal: Rehearsal) -> dict[str, int]:
    """Return how many pods (less those of DaemonSets) are on each node there is."""
    counts = dict.fromkeys((node.name for node in rehearsal.nodes()), 0)
    for pod in rehearsal.pods():
        if pod.node_name:
            counts[pod.node_name] += 1
    return counts


def fleet_requests(rehearsal: Rehearsal) -> list[FleetRequest]:
    """Return a list that every request an instance is bought by is added to, from now on."""
    requests: list[FleetRequest] = []
    rehearsal.ec2.on_running(lambda _, request: requests.append(request))
    return requests


def expect_whole_traces(rehearsal: Rehearsal) -> None:
    """Check that every trace is one tree: one root, no orphan, nothing that ends before it begins."""
    telemetry = rehearsal.telemetry
    assert telemetry.orphans() == ()
    for trace_id in telemetry.trace_ids():
        roots = telemetry.tree(trace_id)
        assert len(roots) == 1, f"trace {trace_id} has roots {[root.span.name for root in roots]}"
        assert all(span.start <= span.end for span in telemetry.spans_of(trace_id))


def names(tree: SpanTree) -> list[str]:
    """Return the names of a tree's spans, a parent before its children."""
    return [tree.span.name, *(name for child in tree.children for name in names(child))]
