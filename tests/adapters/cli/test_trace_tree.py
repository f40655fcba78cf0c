from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from treenail.adapters.cli.trace_tree import write_trace
from treenail.domain.telemetry.tracing import Link, Span, SpanContext, SpanEvent, SpanKind

START = datetime(2026, 3, 1, tzinfo=UTC)
ROOT = SpanContext.root("decide/1")
OTHER = SpanContext.root("decide/2")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def span(
    name: str, parent: SpanContext | None = ROOT, *, begin: float = 0, end: float | None = None, **more: Any
) -> Span:
    context = parent.child(name) if parent else ROOT
    stop = at(begin if end is None else end)
    return Span(context=context, parent=parent, name=name, start=at(begin), end=stop, **more)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(*spans: Span) -> list[str]:
    stream = io.StringIO()
    write_trace(spans, stream)
    return stream.getvalue().splitlines()


def test_a_trace_is_written_as_a_tree() -> None:
    launch = ROOT.child("launch")

    lines = written(
        span("decide", None, end=1.2, attributes={"treenail.decision.id": "3f2a", "treenail.pods": 5}),
        span("pack", begin=1, end=1.0124, events=(SpanEvent("class", at(1.01), {"treenail.class.pods": 5}),)),
        span("launch", begin=1.3, end=4, links=(Link(OTHER, {"treenail.why": "replaced"}),)),
        span(
            "EC2/CreateFleet", launch, begin=1.3, end=3.9, kind=SpanKind.CLIENT, error="UnfulfillableCapacity"
        ),
        span("batch", end=1, attributes={"treenail.decision.id": "3f2a", "treenail.urgent": False}),
        span("initialize", begin=4, end=125.4),
    )

    assert lines == [
        f"trace {ROOT.trace_id}",
        "└── decide  +0s  1.2s  decision.id=3f2a  pods=5",
        "    ├── batch  +0s  1s  urgent=no",
        "    ├── pack  +1s  12.4ms",
        "    │   └── * class  +1.01s  class.pods=5",
        "    ├── launch  +1.3s  2.7s",
        f"    │   ├── -> trace {OTHER.trace_id} span {OTHER.span_id}  why=replaced",
        "    │   └── EC2/CreateFleet  +1.3s  2.6s  failed: UnfulfillableCapacity",
        "    └── initialize  +4s  2m1s",
    ]


def test_no_spans_are_no_trace() -> None:
    assert written() == ["no spans"]


def test_an_orphan_is_marked_and_its_children_are_not() -> None:
    launch = ROOT.child("launch")

    lines = written(span("launch"), span("EC2/CreateFleet", launch, begin=1))

    assert lines[1:] == ["└── launch  +0s  0s  (its parent is missing)", "    └── EC2/CreateFleet  +1s  0s"]


def test_what_began_before_its_parent_still_counts_from_the_earliest() -> None:
    lines = written(span("decide", None, begin=5), span("batch", begin=2, end=5))

    assert lines[1:] == ["└── decide  +3s  0s", "    └── batch  +0s  3s"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (1.5, "1.5"),
        (("a", "b"), "a,b"),
        (("a", "b", "c", "d", "e"), "a,b,c,d,... (5)"),
        ("two\nlines", "two lines"),
        ("x" * 100, "x" * 77 + "..."),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_an_attribute_is_written_in_short(value: Any, text: str) -> None:
    assert (
        written(span("decide", None, attributes={"k8s.x": value}))[1] == f"└── decide  +0s  0s  k8s.x={text}"
    )


def test_of_very_many_events_links_and_spans_the_first_are_shown() -> None:
    root = span("decide", None, events=(SpanEvent("class", START),) * 50, links=(Link(OTHER),) * 41)

    lines = written(root, *(span(f"bind {i:02}", begin=i) for i in range(45)))

    assert sum("* class" in line for line in lines) == 5
    assert sum("->" in line for line in lines) == sum("bind" in line for line in lines) == 40
    assert "    ├── and 45 more events class" in lines
    assert "    ├── and 1 more links" in lines
    assert lines[-1] == "    └── and 5 more spans"


def test_colour_and_wrapping_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    long = span("decide", None, attributes={f"k8s.{i}": "x" * 60 for i in range(5)})
    terminal = Terminal()

    write_trace([long], terminal)

    assert "\x1b[" in terminal.getvalue()
    assert len(terminal.getvalue().splitlines()) > 2
    assert "\x1b[" not in "".join(written(long))
    assert len(written(long)) == 2


def test_a_file_gets_no_colour_even_where_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert written(span("decide", None))[1] == "└── decide  +0s  0s"


def test_times_that_run_backwards_are_shown_as_they_are() -> None:
    lines = written(span("decide", None, begin=5, end=3, events=(SpanEvent("early", at(1)),)))

    assert lines[1:] == ["└── decide  +0s  -2s", "    └── * early  -4s"]
