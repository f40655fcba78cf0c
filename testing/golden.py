"""Golden files: the timeline and the traces of a rehearsal as text, compared with what a file has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.timeline import TimelineEntry
from treenail.domain.telemetry.span_trees import SpanTree

_MOST_LINES: Final = 200


def timeline_text(rehearsal: Rehearsal) -> str:
    """Return what happened, one line an event: seconds since the start, the event, and its fields as JSON."""
    return "".join(f"{line}\n" for line in timeline_lines(rehearsal.timeline.entries))


def timeline_lines(entries: Iterable[TimelineEntry]) -> Iterator[str]:
    """Yield one line for each entry."""
    for entry in entries:
        fields = msgspec.json.encode(entry.fields).decode()
        yield f"{entry.at:.6f} {entry.event} {fields}"


def trace_text(rehearsal: Rehearsal, trace_id: str) -> str:
    """Return the spans of a trace as an indented tree: name, seconds since its start, length, attributes.

    Raises:
        ValueError: there is no such trace.
    """
    trees = rehearsal.telemetry.tree(trace_id)
    start = min(tree.span.start for tree in trees)
    return "".join(f"{line}\n" for tree in trees for line in _lines(tree, start, ""))


def _lines(tree: SpanTree, start: datetime, indent: str) -> Iterator[str]:
    span = tree.span
    lasted = (span.end - span.start).total_seconds()
    attributes = msgspec.json.encode(dict(sorted(span.attributes.items())), enc_hook=str).decode()
    yield f"{indent}{span.name} +{(span.start - start).total_seconds():.3f} {lasted:.3f} {attributes}"
    for child in tree.children:
        yield from _lines(child, start, indent + "  ")


def check_golden(text: str, path: str | Path, *, update: bool = False) -> None:
    """Compare text with what a file has; with `update`, write the file.

    Raises:
        AssertionError: they differ, and how; or there is no such file, and it is not to be written.
    """
    __tracebackhide__ = True
    file = Path(path)
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    if not file.exists():
        raise AssertionError(f"{file} is not there yet: pytest --treenail-update, or update=True, writes it")
    found = difference(file.read_text(encoding="utf-8"), text, before=str(file), after="this run")
    if found:
        raise AssertionError(found)


def difference(one: str, other: str, *, before: str, after: str) -> str:
    """Return how two texts differ, as a unified diff of at most 200 lines; "" where they are equal."""
    lines = list(difflib.unified_diff(one.splitlines(), other.splitlines(), before, after, lineterm="", n=2))
    more = [f"... and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return "\n".join(lines[:_MOST_LINES] + more)
