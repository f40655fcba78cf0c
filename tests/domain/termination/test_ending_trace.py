from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import at, claim, decision
from treenail.domain.model.causes import Cause
from treenail.domain.telemetry.ending_roots import disruption_context, interruption_context
from treenail.domain.telemetry.tracing import SpanKind
from treenail.domain.termination.ending_trace import disrupt_span, stage_span

GOING = replace(claim("c1", provider_id="aws:///a/i-1"), node_name="n1")
ABOUT = {
    "treenail.nodeclaim.name": "c1",
    "treenail.nodepool.name": "default",
    "k8s.node.name": "n1",
    "host.id": "i-1",
}


def test_the_end_of_a_node_has_a_trace_of_its_own_that_follows_from_its_claim() -> None:
    assert disruption_context(GOING) == disruption_context(replace(GOING, resource_version=9))
    assert disruption_context(GOING) != disruption_context(replace(GOING, uid="another"))
    assert disruption_context(replace(GOING, uid="")) == disruption_context(replace(GOING, uid="c1"))


def test_the_trace_of_an_interruption_follows_from_the_instance_and_the_cause() -> None:
    spot = interruption_context("i-1", Cause.SPOT_INTERRUPTED)

    assert spot == interruption_context("i-1", Cause.SPOT_INTERRUPTED)
    assert spot != interruption_context("i-1", Cause.REBALANCE_RECOMMENDED)
    assert spot != interruption_context("i-2", Cause.SPOT_INTERRUPTED)


def test_the_root_says_why() -> None:
    root = disrupt_span(GOING, Cause.EMPTY, at(1), at(2))

    assert (root.name, root.context, root.parent) == ("disrupt", disruption_context(GOING), None)
    assert (root.start, root.end) == (at(1), at(2))
    assert root.attributes == {"treenail.cause": "empty", **ABOUT}


@pytest.mark.parametrize("stage", ["cordon", "drain", "terminate"])
def test_a_stage_is_a_child_of_what_began_it(stage: str) -> None:
    parent = disruption_context(GOING)

    span = stage_span(stage, GOING, parent, start=at(1), end=at(2), replaced_by=("d2",))

    assert (span.name, span.kind, span.parent) == (stage, SpanKind.INTERNAL, parent)
    assert span.context == parent.child(f"{stage}/c1")
    assert span.attributes == ABOUT
    assert [link.to for link in span.links] == [decision("d2").context]


def test_a_stage_never_ends_before_it_begins() -> None:
    span = stage_span("drain", GOING, disruption_context(GOING), start=at(5), end=at(2))

    assert (span.start, span.end) == (at(2), at(2))
