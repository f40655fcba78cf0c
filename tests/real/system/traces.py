"""A trace as Jaeger gives it, and what must be so of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """One span. Times are microseconds since 1970; `links` are (trace id, span id)."""

    trace_id: str
    id: str
    parent: str
    name: str
    start: int
    duration: int
    tags: dict[str, Any]
    links: tuple[tuple[str, str], ...]

    @property
    def end(self) -> int:
        return self.start + self.duration


def spans_of(trace: dict[str, Any]) -> list[StoredSpan]:
    """Return the spans of a trace, in the order they began."""
    return sorted((_span(span) for span in trace.get("spans", ())), key=lambda s: (s.start, s.id))


def _span(span: dict[str, Any]) -> StoredSpan:
    trace_id = span["traceID"]
    child_of = [r for r in span["references"] if r["refType"] == "CHILD_OF" and r["traceID"] == trace_id]
    links = [r for r in span["references"] if r not in child_of]
    return StoredSpan(
        trace_id=trace_id,
        id=span["spanID"],
        parent=child_of[0]["spanID"] if child_of else "",
        name=span["operationName"],
        start=span["startTime"],
        duration=span["duration"],
        tags={tag["key"]: tag["value"] for tag in span["tags"]},
        links=tuple((r["traceID"], r["spanID"]) for r in links),
    )


def orphans(spans: list[StoredSpan]) -> list[str]:
    """Return the names of spans whose parent is not there."""
    there = {span.id for span in spans}
    return [span.name for span in spans if span.parent and span.parent not in there]


def tree(spans: list[StoredSpan]) -> str:
    """Return a trace as indented names, for messages of failed tests."""
    return "\n".join(_lines(spans, "", 0))


def _lines(spans: list[StoredSpan], parent: str, depth: int) -> Iterator[str]:
    for span in spans:
        if span.parent == parent:
            yield f"{'  ' * depth}{span.name} {span.duration / 1e6:.3f}s"
            yield from _lines(spans, span.id, depth + 1)
