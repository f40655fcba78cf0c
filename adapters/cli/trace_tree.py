"""A trace as a tree, for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, TextIO

from rich.text import Text
from rich.tree import Tree

from treenail.adapters.cli.output_format import console_on
from treenail.domain.model.durations import format_duration
from treenail.domain.telemetry.span_trees import SpanTree, grow
from treenail.domain.telemetry.tracing import Attribute, Link, Span, SpanEvent

# Of more children or links than this, the first are shown and the others counted.
MOST_SHOWN: Final = 40
# Of events of one name in one span, such as errors of a fleet: each is told by its attributes alone.
_MOST_ALIKE: Final = 5
_MOST_VALUES: Final = 4
_LONGEST_VALUE: Final = 80
_OURS: Final = "treenail."


def write_trace(spans: Iterable[Span], stream: TextIO) -> None:
    """Write one trace's spans to `stream` as a tree; in colour and wrapped only on a terminal."""
    console_on(stream).print(trace_tree(spans), highlight=False)


def trace_tree(spans: Iterable[Span]) -> Tree:
    """Return one trace's spans as a tree: name, offset, duration, attributes, events and links.

    Offsets count from the earliest beginning. An attribute that a span shares with its parent is shown
    at the parent alone.
    """
    known = tuple(spans)
    if not known:
        return Tree(Text("no spans"), guide_style="dim")
    start = min(span.start for span in known)
    tree = Tree(Text(f"trace {known[0].context.trace_id}", style="dim"), guide_style="dim")
    for root in grow(known):
        _add(tree, root, start, {}, note="" if root.span.parent is None else "(its parent is missing)")
    return tree


def _add(
    to: Tree, tree: SpanTree, start: datetime, inherited: Mapping[str, Attribute], *, note: str = ""
) -> None:
    span = tree.span
    line = _span_line(span, start, inherited)
    if note:
        line.append(f"  {note}", style="yellow")
    node = to.add(line)
    _add_events(node, span.events, start)
    for link in span.links[:MOST_SHOWN]:
        node.add(_link_line(link))
    _count_others(node, len(span.links), "links")
    for child in tree.children[:MOST_SHOWN]:
        _add(node, child, start, {**inherited, **span.attributes})
    _count_others(node, len(tree.children), "spans")


def _add_events(node: Tree, events: Iterable[SpanEvent], start: datetime) -> None:
    """Add the first events of each name, in order, and count the others."""
    there: Counter[str] = Counter()
    for event in events:
        there[event.name] += 1
        if there[event.name] <= _MOST_ALIKE:
            node.add(_event_line(event, start))
    for name, count in there.items():
        _count_others(node, count, f"events {name}", most=_MOST_ALIKE)


def _count_others(node: Tree, there: int, what: str, *, most: int = MOST_SHOWN) -> None:
    if there > most:
        node.add(Text(f"and {there - most} more {what}", style="dim"))


def _span_line(span: Span, start: datetime, inherited: Mapping[str, Attribute]) -> Text:
    line = Text(span.name, style="bold red" if span.error else "bold")
    line.append(f"  {_offset(span.start, start)}  {_short(span.end - span.start)}", style="cyan")
    own = {name: value for name, value in span.attributes.items() if inherited.get(name) != value}
    _append_attributes(line, own)
    if span.error:
        line.append(f"  failed: {span.error}", style="red")
    return line


def _event_line(event: SpanEvent, start: datetime) -> Text:
    line = Text(f"* {event.name}", style="green")
    line.append(f"  {_offset(event.at, start)}", style="cyan")
    _append_attributes(line, event.attributes)
    return line


def _link_line(link: Link) -> Text:
    line = Text(f"-> trace {link.to.trace_id} span {link.to.span_id}", style="magenta")
    _append_attributes(line, link.attributes)
    return line


def _append_attributes(line: Text, attributes: Mapping[str, Attribute]) -> None:
    for name, value in attributes.items():
        line.append(f"  {name.removeprefix(_OURS)}=", style="dim")
        line.append(_value(value), style="default")


def _value(value: Attribute) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple():
            shown = ",".join(_cut(item) for item in value[:_MOST_VALUES])
            return shown if len(value) <= _MOST_VALUES else f"{shown},... ({len(value)})"
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _LONGEST_VALUE else f"{one_line[: _LONGEST_VALUE - 3]}..."


def _offset(at: datetime, start: datetime) -> str:
    return _short(at - start) if at < start else f"+{_short(at - start)}"


def _short(span: timedelta) -> str:
    if span < timedelta(0):
        return f"-{_short(-span)}"
    seconds = span.total_seconds()
    if seconds >= 60:  # noqa: PLR2004 (from a minute on, in minutes)
        return format_duration(timedelta(seconds=round(seconds)))
    return f"{round(seconds, 2):g}s" if seconds >= 1 or not seconds else f"{round(seconds * 1000, 1):g}ms"
