"""Whatever delays a pod or a node is named by an event of the span that it delayed."""

from __future__ import annotations

import pytest

from tests.scenarios.delay_cases import CASES, DelayCase
from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, told
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.adapters.fake.queue import NAME
from treenail.domain.telemetry.tracing import Attribute, Span


def played(case: DelayCase) -> Rehearsal:
    """Return a rehearsal in which the delay has been."""
    rehearsal = Rehearsal(seed=1, conditions=Conditions(**case.conditions))  # type: ignore[arg-type]
    rehearsal.apply(text(node_class(), node_pool(), *case.work))
    if case.at:
        rehearsal.run_until(lambda: bool(told(rehearsal, case.at)), within="10m")
    case.inject(rehearsal)
    if case.ends is not None:
        rehearsal.run("3m")
        case.ends(rehearsal)
    rehearsal.run(case.run)
    return rehearsal


def delays(rehearsal: Rehearsal, span: str) -> list[tuple[Span, dict[str, Attribute]]]:
    """Return the delays of all spans of a name, with their attributes less the common beginning."""
    return [
        (one, {name.removeprefix("treenail.delay."): value for name, value in event.attributes.items()})
        for one in rehearsal.telemetry.spans()
        for event in one.events
        if one.name == span and event.name == "delay"
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_delays_a_span_is_named_in_it(case: DelayCase) -> None:
    with played(case) as rehearsal:
        found = delays(rehearsal, case.span)

        fitting = [
            (span, delay)
            for span, delay in found
            if delay["cause"] == case.cause
            and case.what in str(delay["of"])
            and float(str(delay["seconds"])) >= case.seconds
        ]
        assert fitting, [(span.name, delay) for span, delay in found]
        span, delay = fitting[0]
        assert float(str(delay["seconds"])) <= (span.end - span.start).total_seconds() + 60
        expect_whole_traces(rehearsal)


def test_a_run_without_trouble_has_no_delay() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment()))
        rehearsal.run("5m")
        rehearsal.scale("web", 0)
        rehearsal.run("5m")

        spans = rehearsal.telemetry.spans()
        assert {"decide", "launch", "initialize", "cordon", "drain", "terminate"} <= {s.name for s in spans}
        assert [(s.name, e) for s in spans for e in s.events if e.name == "delay"] == []


def test_a_second_notice_is_an_event_on_the_stage_it_came_in_and_leaves_the_root() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment()))
        rehearsal.run_until(lambda: rehearsal.running() == 3)
        old = rehearsal.interrupt()
        rehearsal.run("10s")
        [root] = [span for span in rehearsal.telemetry.spans() if span.name == f"receive {NAME}"]

        rehearsal.terminate_outside(old)
        rehearsal.run("5m")

        ending = rehearsal.telemetry.spans_of(root.context.trace_id)
        assert root in ending
        [(stage, notice)] = [(s, e) for s in ending for e in s.events if e.name == "notice"]
        assert stage.name == "drain"
        assert notice.attributes["treenail.cause"] == "instance_terminated"
        expect_whole_traces(rehearsal)


def test_a_node_that_never_joins_has_a_span_that_failed() -> None:
    faults = Conditions(ec2_faults=EC2Faults(never_joins=1.0))
    with Rehearsal(seed=1, conditions=faults) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment()))
        rehearsal.run("20m")

        [register, *_] = [span for span in rehearsal.telemetry.spans() if span.name == "register"]
        assert register.attributes["error.type"] == "registration_timeout"
        assert (register.end - register.start).total_seconds() >= 15 * 60
        expect_whole_traces(rehearsal)
