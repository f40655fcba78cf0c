from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.builders import claim
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import DRIFTED, Condition, Status
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.end_records import end_record, reason_of

TRACE = SpanContext.root("disrupt/c1")
STRAYED = replace(claim("c1"), conditions=(Condition(DRIFTED, Status.TRUE, "SubnetDrift"),))


@pytest.mark.parametrize("cause", list(Cause))
def test_of_every_cause_it_is_known_who_decides_and_how(cause: Cause) -> None:
    record = end_record(claim("c1"), cause, TRACE)

    assert record.method
    assert bool(record.actor) is (cause is not Cause.DELETED)


def test_a_record_says_all_that_is_known() -> None:
    record = end_record(STRAYED, Cause.DRIFTED, TRACE, price_before=0.096, price_after=0.048)

    known = {
        "cause": "drifted",
        "actor": "Disruptor",
        "method": "drift",
        "reason": "SubnetDrift",
        "price_before": 0.096,
        "price_after": 0.048,
    }
    assert record.fields() == known
    assert json.loads(record.written()) == {**known, "trace_id": TRACE.trace_id}
    assert record.attributes()["treenail.end.reason"] == "SubnetDrift"
    assert record.sentence() == (
        f"Ended: drifted (SubnetDrift), by drift of Disruptor; $0.096/h before, $0.048/h after; "
        f"trace {TRACE.trace_id}"
    )


def test_what_is_not_known_is_not_said() -> None:
    record = end_record(STRAYED, Cause.DELETED, TRACE)

    assert record.fields() == {"cause": "deleted", "method": "deletion"}
    prices = "an unknown price before, an unknown price after"
    assert record.sentence() == f"Ended: deleted, by deletion; {prices}; trace {TRACE.trace_id}"


def test_that_nothing_takes_its_place_is_said() -> None:
    assert end_record(STRAYED, Cause.EMPTY, TRACE, price_after=0.0).fields()["price_after"] == 0.0


def test_whoever_finishes_an_end_finds_its_reason_on_the_claim() -> None:
    record = end_record(STRAYED, Cause.UNHEALTHY, TRACE, why="condition Ready is False")

    assert reason_of(claim("c1", annotations={labels.END: record.written()})) == "condition Ready is False"


@pytest.mark.parametrize("said", ["", "{", "[]", '{"reason": 5}', "null", "[" * 100_000])
def test_what_others_write_there_is_no_reason(said: str) -> None:
    assert reason_of(claim("c1", annotations={labels.END: said})) == ""
    assert reason_of(None) == ""
