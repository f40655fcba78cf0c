"""Spans of a trace as the tree they form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from treenail.domain.telemetry.tracing import Span, SpanContext


@dataclass(frozen=True, slots=True)
class SpanTree:
    """A span and the trees of its children, in the order they began."""

    span: Span
    children: tuple[SpanTree, ...] = ()


def orphans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that name a parent which is not among `spans`, in the order they began."""
    known = tuple(spans)
    there = {span.context for span in known}
    return tuple(
        sorted((s for s in known if s.parent is not None and s.parent not in there), key=_by_beginning)
    )


def grow(spans: Iterable[Span]) -> tuple[SpanTree, ...]:
    """Return the trees that `spans` form, in the order they began. An orphan is a root too."""
    known = sorted(spans, key=_by_beginning)
    there = {span.context for span in known}
    below: defaultdict[SpanContext | None, list[Span]] = defaultdict(list)
    for span in known:
        below[span.parent if span.parent in there else None].append(span)

    def tree(span: Span) -> SpanTree:
        return SpanTree(span, tuple(map(tree, below[span.context])))

    return tuple(map(tree, below[None]))


def _by_beginning(span: Span) -> tuple[object, ...]:
    # What takes no time at all stays in the order it is given.
    return (span.start, span.end)
