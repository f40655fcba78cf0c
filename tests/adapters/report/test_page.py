from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from treenail.adapters.report.axis import clock, time_ticks, top
from treenail.adapters.report.page import render
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

VOID = {"meta", "link", "br"}
HOUR = 3600.0
WORKLOADS = Sheet(
    heading="Workloads",
    columns=("workload", "fewest ready", "budget"),
    rows=(("Deployment default/web", "1", "default/web: at least 2"), ("Deployment default/db", "3", "")),
    numbers=(1,),
    marked=(0,),
)


def node(number: int = 0, **fields: object) -> NodeRow:
    given = {
        "name": f"ip-192-168-64-{number}.ec2.internal",
        "pool": "default",
        "instance_type": "m5.24xlarge",
        "zone": "us-east-1a",
        "capacity_type": "spot",
        "price": 1.2345,
        "stages": (
            Stage(StageName.BOOTING, 1.5, 42.25),
            Stage(StageName.IN_USE, 42.25, 1800),
            Stage(StageName.DRAINING, 1800, 1860.5),
        ),
        "cause": "spot_interrupted",
    }
    return NodeRow(**{**given, **fields})  # type: ignore[arg-type]


def story(**fields: object) -> Story:
    given = {
        "title": "Rehearsal of web.yaml",
        "subtitle": "1h of virtual time, seed 0",
        "seconds": HOUR,
        "facts": (Fact("spent", "$1.23", "a note"),),
        "findings": (("1 pod that waits", (Finding("default/web-0", "cpu 900 is asked for", 12.0),)),),
        "curves": (
            ("Pods", (Curve("running", ((0.0, 0), (60.0, 5)), filled=True), Curve("pending", ((0.0, 5),)))),
            ("Dollars per hour", (Curve("rate", ((0.0, 0.0), (60.0, 1.5)), unit="$"),)),
        ),
        "money": (Bar("default", 1.23, "$1.23"),),
        "sheets": (WORKLOADS,),
        "nodes": (node(),),
        "traces": (
            (
                "Decisions",
                (
                    TraceStory(
                        title="1 new node",
                        at=1.0,
                        trace_id="ab" * 16,
                        spans=(SpanRow("decide", 0, 0, 1.16), SpanRow("launch", 1, 1.16, 2.8, "no capacity")),
                        more=3,
                    ),
                ),
            ),
        ),
        "cut": ("Decisions: the first 40 of 50 are shown.",),
    }
    return Story(**{**given, **fields})  # type: ignore[arg-type]


class _Balance(HTMLParser):
    """Refuses tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.ids += [names["id"] or ""] if "id" in names else []
        href = names.get("href") or ""
        self.targets += [href[1:]] if href.startswith("#") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_is_whole_and_its_links_lead_somewhere() -> None:
    parser = _Balance()
    parser.feed(render(story()))

    assert parser.open == []
    assert parser.targets
    assert set(parser.targets) <= set(parser.ids)
    assert len(parser.ids) == len(set(parser.ids))


def test_a_nodes_life_is_one_sentence_for_screen_readers_too() -> None:
    life = re.search(r'class="lane" role="img" title="([^"]*)"', render(story()))

    assert life is not None
    assert life[1] == "booting 2s to 42s, in use 42s to 30m, draining 30m to 31m; spot_interrupted"


def test_a_page_needs_no_network_and_no_script() -> None:
    page = render(story())

    assert not re.search(r"https?://|@import|url\(|<script|src=", page)


def test_whatever_a_story_says_is_text() -> None:
    evil = '<script>alert("x")</script>&amp;'
    evil_span = SpanRow(evil, 0, 0, 1, evil, evil)
    evil_trace = TraceStory(title=evil, at=0, trace_id=evil, spans=(evil_span,))
    page = render(
        story(
            title=evil,
            subtitle=evil,
            facts=(Fact(evil, evil, evil),),
            findings=((evil, (Finding(evil, evil),)),),
            money=(Bar(evil, 1, evil),),
            sheets=(Sheet(heading=evil, columns=(evil,), rows=((evil,),)),),
            nodes=(node(name=evil, pool=evil, zone=evil, cause=evil),),
            traces=((evil, (evil_trace,)),),
            cut=(evil,),
        )
    )

    assert "<script" not in page
    assert 'title="<' not in page


def test_each_part_of_a_story_is_there() -> None:
    page = render(story())

    for said in (
        "$1.23",
        "a note",
        "cpu 900 is asked for",
        "since 12s",
        "Deployment default/web",
        "default/web: at least 2",
        "spot_interrupted",
        "draining 30m to 31m",
        "decide",
        "no capacity",
        "and 3 more spans",
        "the first 40 of 50 are shown",
    ):
        assert said in page, said


def test_what_a_span_says_of_itself_can_be_read_without_a_mouse() -> None:
    spans = (SpanRow("launch", 0, 0, 1, details="host.type: m5.large"), SpanRow("bare", 0, 0, 1))
    page = render(story(traces=(("", (TraceStory(title="t", at=0, trace_id="a", spans=spans),)),)))

    assert re.search(r'<summary class="row">.*launch.*</summary><pre>host.type: m5.large</pre>', page)
    assert page.count("<pre>") == 1


def test_moments_are_times_of_day_where_the_axis_begins_at_one() -> None:
    page = render(story(begins=datetime(2026, 1, 1, 23, 30, 5, tzinfo=UTC)))

    assert "since 23:30:17" in page
    assert "draining 00:00:05 to 00:01:05" in page
    assert re.findall(r"<span style=.left:[0-9.]+%.>([0-9:]+)</span>", page)[:2] == ["23:30", "23:40"]


def test_a_price_that_is_not_known_is_not_told_as_nothing() -> None:
    assert "us-east-1a $1.234/h</span>" in render(story())
    assert "us-east-1a</span>" in render(story(nodes=(node(price=None),)))


def test_rows_that_warn_are_marked_and_numbers_set_flush_right() -> None:
    page = render(story())

    assert '<tr class="error"><td>Deployment default/web</td><td class="n">1</td>' in page
    assert '<tr><td>Deployment default/db</td><td class="n">3</td>' in page


def test_parts_that_are_empty_are_left_out() -> None:
    page = render(Story(title="t", subtitle="", seconds=0.0, facts=()))

    assert "<h2" not in page
    assert "<svg" not in page


def test_500_nodes_over_an_hour_stay_under_a_megabyte() -> None:
    spans = tuple(SpanRow(f"span {n}", 1, n, n + 1.0, details="x" * 160) for n in range(20))
    traces = tuple(TraceStory(title="a decision", at=n, trace_id="ab" * 16, spans=spans) for n in range(40))
    curve = Curve("running", tuple((n * 2.4, float(n % 500)) for n in range(1500)))

    page = render(
        story(
            nodes=tuple(map(node, range(500))),
            traces=(("Decisions", traces), ("Ends of nodes", ())),
            curves=(("Pods", (curve, curve)), ("Dollars per hour", (curve,))),
        )
    )

    assert 200_000 < len(page.encode()) < 1_000_000


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0s"), (59.4, "59s"), (90, "1m30s"), (600, "10m"), (3900, "1h05m"), (7200, "2h"), (183600, "2d3h")],
)
def test_times_are_written_as_people_do(seconds: float, said: str) -> None:
    assert clock(seconds) == said


@pytest.mark.parametrize("seconds", [0, 0.5, 1, 10, 59, 600, 3600, 86400, 31 * 86400])
def test_an_axis_has_few_ticks_at_round_times(seconds: float) -> None:
    ticks = time_ticks(seconds)

    assert 1 <= len(ticks) <= 11
    assert ticks[0] == (0.0, "0s")
    assert all(0 <= at <= 96 for at, _ in ticks)


@pytest.mark.parametrize("value", [0, 0.003, 0.7, 1, 7, 99, 100, 101, 4321])
def test_the_upper_end_of_an_axis_is_round_and_not_far_above_its_values(value: float) -> None:
    end = top(value)

    assert end >= value
    assert value == 0 or end <= 1.7 * value
