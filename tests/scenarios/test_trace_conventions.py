"""What OpenTelemetry's semantic conventions require of spans, over runs of the whole system."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, told
from treenail.adapters.embed import Rehearsal
from treenail.adapters.fake.ec2 import Spell
from treenail.adapters.fake.queue import NAME
from treenail.domain.telemetry.tracing import Span, SpanKind


@pytest.fixture(scope="module")
def spans() -> tuple[Span, ...]:
    """Return the spans of launches, failed calls, an interruption and a failed check."""
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run_until(lambda: bool(told(rehearsal, "PlanCommitted")))
        rehearsal.ec2_under(Spell.ANSWERS_LOST, 10)
        rehearsal.run("4m")
        rehearsal.interrupt()
        rehearsal.run("4m")
        rehearsal.impair()
        rehearsal.run("10m")
        expect_whole_traces(rehearsal)
        return rehearsal.telemetry.spans()


def test_client_spans_are_calls_with_their_system_method_and_name(spans: tuple[Span, ...]) -> None:
    clients = [span for span in spans if span.kind is SpanKind.CLIENT]

    assert {span.attributes["rpc.method"] for span in clients} == {
        "EC2/CreateFleet",
        "EC2/DescribeInstanceStatus",
        "SQS/ReceiveMessage",
    }
    for span in clients:
        assert span.attributes["rpc.system.name"] == "aws-api"
        assert span.name in (span.attributes["rpc.method"], f"receive {NAME}")


def test_spans_of_messages_are_named_by_operation_and_destination(spans: tuple[Span, ...]) -> None:
    of_messages = [span for span in spans if "messaging.system" in span.attributes]

    assert {span.attributes["messaging.operation.name"] for span in of_messages} == {"receive", "process"}
    for span in of_messages:
        said = span.attributes
        assert span.name == f"{said['messaging.operation.name']} {said['messaging.destination.name']}"
        assert said["messaging.operation.type"] == said["messaging.operation.name"]


def test_what_failed_has_the_type_of_its_error(spans: tuple[Span, ...]) -> None:
    failed = [span for span in spans if span.error]

    assert {"EC2/CreateFleet"} <= {span.name for span in failed}
    assert all(span.attributes.get("error.type") for span in failed)


def test_calls_to_buy_and_launches_name_their_region(spans: tuple[Span, ...]) -> None:
    about = [span for span in spans if span.name in {"EC2/CreateFleet", "launch"}]

    assert {span.attributes["cloud.region"] for span in about} == {"us-east-1"}
