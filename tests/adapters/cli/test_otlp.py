from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.adapters.cli.command import INFLATE, treenail
from treenail.adapters.cli.otlp import checked, shifted
from treenail.domain.telemetry.tracing import Span, SpanContext, SpanEvent

THEN = datetime(2020, 1, 1, tzinfo=UTC)


def test_a_url_without_a_path_gets_that_of_traces() -> None:
    assert checked(None) is None
    assert checked("http://jaeger:4318") == "http://jaeger:4318/v1/traces"
    assert checked("http://jaeger:4318/") == "http://jaeger:4318/v1/traces"
    assert checked("https://x/otlp/v1/traces") == "https://x/otlp/v1/traces"


@pytest.mark.parametrize("url", ["localhost:4318", "grpc://x:4317", "http://", ""])
def test_what_is_no_url_is_refused_before_anything_runs(url: str) -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--otlp", url)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"treenail: --otlp {url!r} is no URL of OTLP over HTTP, such as http://localhost:4318\n"


def test_a_span_is_shifted_with_its_events() -> None:
    span = Span(context=SpanContext.root("x"), name="x", start=THEN, end=THEN, events=(SpanEvent("e", THEN),))
    later = shifted(span, timedelta(hours=1))

    assert {later.start, later.end, later.events[0].at} == {THEN + timedelta(hours=1)}
    assert later.context == span.context
