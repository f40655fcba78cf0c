from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import at, claim, conditions, decision, instance, node_class, view
from treenail.domain.launch.launch_trace import decision_context, fleet_span, launch_span
from treenail.domain.launch.launching import launch_token
from treenail.domain.lifecycle.lifecycle_trace import stage_span
from treenail.domain.model import labels
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.fleets import FleetAnswer, FleetError, FleetRequest, Override
from treenail.domain.model.nodes import LAUNCHED, REGISTERED, NodeClaim, NodeView
from treenail.domain.telemetry.tracing import SpanKind

ROOT = decision().context
TRACED = claim("c1", provider_id="aws:///a/i-1", annotations={labels.TRACEPARENT: ROOT.traceparent})
STRANGE = claim("c2", annotations={labels.TRACEPARENT: "nonsense"})
REQUEST = FleetRequest(
    token=launch_token(["c1"]),
    node_class=node_class(),
    capacity_type=labels.SPOT,
    overrides=tuple(Override(name, zone, 0.1) for name in ("m5.large", "c5.large") for zone in ("b", "a")),
    count=2,
)


def test_a_claim_says_which_decision_it_is_from() -> None:
    assert decision_context(TRACED) == ROOT
    assert decision_context(STRANGE) is None
    assert decision_context(claim("c3")) is None


def test_a_launch_is_a_child_of_its_decision_and_says_what_was_bought() -> None:
    (span,) = launch_span(TRACED, start=at(1), end=at(3), instance=instance("i-1"))

    assert (span.name, span.parent, span.context) == ("launch", ROOT, ROOT.child("launch/c1"))
    assert (span.start, span.end, span.error) == (at(1), at(3), "")
    assert span.attributes == {
        "treenail.nodeclaim.name": "c1",
        "treenail.nodepool.name": "default",
        "host.id": "i-1",
        "host.type": "m5.large",
        "host.image.id": "ami-1",
        "cloud.availability_zone": "a",
        "treenail.capacity_type": "spot",
        "treenail.offering.price_usd_hour": 0.04,
    }


def test_a_launch_that_came_to_nothing_says_why() -> None:
    (span,) = launch_span(TRACED, start=at(1), end=at(3), instance=None, error="no capacity")

    assert span.error == "no capacity"
    assert "host.id" not in span.attributes


def test_a_call_is_a_child_of_the_launch_and_tells_its_attempt_and_errors() -> None:
    answer = FleetAnswer(
        instances=(instance("i-1"),),
        errors=(FleetError("InsufficientInstanceCapacity", "", "m5.large", "a"),),
        request_id="r-1",
        waited_seconds=0.5,
    )

    (span,) = fleet_span(TRACED, REQUEST, answer, start=at(1), end=at(2), attempt=3)

    assert (span.kind, span.parent) == (SpanKind.CLIENT, ROOT.child("launch/c1"))
    assert span.attributes == {
        "rpc.system.name": "aws-api",
        "rpc.method": "EC2/CreateFleet",
        "treenail.fleet.token": REQUEST.token,
        "treenail.fleet.attempt": 3,
        "treenail.fleet.capacity": 2,
        "treenail.fleet.capacity_type": "spot",
        "treenail.fleet.instance_types": 2,
        "treenail.fleet.zones": ("a", "b"),
        "treenail.fleet.launched": 1,
        "treenail.fleet.errors": 1,
        "treenail.ratelimit.wait_seconds": 0.5,
        "aws.request_id": "r-1",
    }
    assert [dict(e.attributes) for e in span.events] == [
        {
            "error.type": "InsufficientInstanceCapacity",
            "host.type": "m5.large",
            "cloud.availability_zone": "a",
        }
    ]


def test_a_call_without_an_answer_has_an_error() -> None:
    error = UnavailableError("no answer")
    (span,) = fleet_span(TRACED, REQUEST, None, start=at(1), end=at(2), attempt=0, error=error)

    assert (span.error, span.attributes["error.type"]) == ("no answer", "UnavailableError")
    assert "treenail.fleet.launched" not in span.attributes
    (other,) = fleet_span(TRACED, REQUEST, FleetAnswer(), start=at(1), end=at(2), attempt=1)
    assert "aws.request_id" not in other.attributes
    assert other.context != span.context


def test_a_call_that_bought_nothing_failed_as_the_first_of_its_errors_says() -> None:
    lacking = FleetError("InsufficientInstanceCapacity", "none left", "m5.large", "us-east-1a")
    (span,) = fleet_span(TRACED, REQUEST, FleetAnswer(errors=(lacking,)), start=at(1), end=at(2), attempt=0)

    assert span.error == "InsufficientInstanceCapacity: none left"
    assert span.attributes["error.type"] == "InsufficientInstanceCapacity"


@pytest.mark.parametrize("known", [STRANGE, claim("c3")])
def test_what_belongs_to_no_trace_is_not_traced(known: NodeClaim) -> None:
    assert launch_span(known, start=at(1), end=at(2), instance=None) == ()
    assert fleet_span(known, REQUEST, None, start=at(1), end=at(2), attempt=0) == ()
    assert stage_span("register", NodeView(claim=known), at(2)) == ()


def test_a_node_without_a_claim_has_no_stages() -> None:
    assert stage_span("register", NodeView(node=view().node), at(2)) == ()


@pytest.mark.parametrize(
    ("stage", "known", "start"),
    [
        ("register", conditions(LAUNCHED, since=10), 10),
        ("initialize", conditions(REGISTERED, since=20), 20),
        ("register", conditions(REGISTERED, since=20), 0),
        ("initialize", tuple(replace(c, since=None) for c in conditions(REGISTERED)), 0),
        ("initialize", conditions(REGISTERED, since=99), 30),  # clocks differ: never before it begins
    ],
)
def test_a_stage_begins_when_the_one_before_it_ended(
    stage: str, known: tuple[object, ...], start: float
) -> None:
    there = view(of_claim={"annotations": dict(TRACED.annotations), "conditions": known})

    (span,) = stage_span(stage, there, at(30))

    assert (span.name, span.parent, span.context) == (stage, ROOT, ROOT.child(f"{stage}/c1"))
    assert (span.start, span.end) == (at(start), at(30))
    assert span.attributes["k8s.node.name"] == "node-c1"
    assert span.attributes["host.id"] == "i-c1"
