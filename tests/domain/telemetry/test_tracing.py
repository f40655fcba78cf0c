from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.telemetry.tracing import SpanContext


# Spans already stored refer to these: after an upgrade the ids must still be the same.
def test_ids_follow_from_the_subject_alone() -> None:
    root = SpanContext.root("decide/3f2a")

    assert root == SpanContext("f855f516cdd73072ca8953457f5f0314", "1771fec6a86c1c2d")
    assert root.child("pack") == SpanContext.root("decide/3f2a").child("pack")


@given(subjects=st.lists(st.text("ab/1", max_size=6), min_size=2, max_size=4, unique=True))
def test_other_subjects_have_other_ids(subjects: list[str]) -> None:
    roots = [SpanContext.root(subject) for subject in subjects]
    children = [roots[0].child(name) for name in subjects]
    grandchildren = [roots[0].child("pack").child(name) for name in subjects]

    assert len({root.trace_id for root in roots}) == len(subjects)
    assert len({context.span_id for context in (*roots, *children, *grandchildren)}) == 3 * len(subjects)
    assert {child.trace_id for child in children} == {roots[0].trace_id}


@given(subject=st.text())
def test_a_traceparent_reads_back_as_it_was(subject: str) -> None:
    context = SpanContext.root(subject).child("pack")

    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", context.traceparent)
    assert SpanContext.parse(context.traceparent) == context


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    "text", [f"00-{TRACE}-{SPAN}-00", f"cc-{TRACE}-{SPAN}-01", f"cc-{TRACE}-{SPAN}-01-more"]
)
def test_a_traceparent_of_others_is_read(text: str) -> None:
    assert SpanContext.parse(text) == SpanContext(TRACE, SPAN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing of the kind",
        f"{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_what_is_no_traceparent_is_refused(text: str) -> None:
    assert SpanContext.parse(text) is None
