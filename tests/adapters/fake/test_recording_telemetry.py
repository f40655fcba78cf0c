from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from treenail.adapters.fake.telemetry import Observed, RecordingTelemetry
from treenail.domain.telemetry.span_trees import SpanTree
from treenail.domain.telemetry.tracing import Span, SpanContext

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ONE, OTHER = SpanContext.root("decide/1"), SpanContext.root("decide/2")


def span(name: str, context: SpanContext, parent: SpanContext | None = None, *, at: float = 0) -> Span:
    start = NOW + timedelta(seconds=at)
    return Span(context=context, parent=parent, name=name, start=start, end=start)


def test_a_trace_is_read_apart_from_others() -> None:
    telemetry = RecordingTelemetry()
    first, second, batch = span("decide", ONE), span("decide", OTHER), span("batch", ONE.child("batch"), ONE)

    for written in (first, second, batch):
        telemetry.record(written)

    assert telemetry.trace_ids() == (ONE.trace_id, OTHER.trace_id)
    assert telemetry.spans_of(ONE.trace_id) == (first, batch)
    assert telemetry.spans_of("unheard of") == ()
    assert telemetry.spans() == (first, batch, second)
    assert telemetry.tree(ONE.trace_id) == (SpanTree(first, (SpanTree(batch),)),)


def test_a_span_written_twice_is_kept_once_and_counted() -> None:
    telemetry = RecordingTelemetry()

    telemetry.record(span("register", ONE))
    telemetry.record(span("register", ONE, at=1))

    assert telemetry.spans() == (span("register", ONE, at=1),)
    assert telemetry.rewritten == 1


def test_a_span_whose_parent_was_not_written_is_an_orphan() -> None:
    telemetry = RecordingTelemetry()
    lost = span("launch", ONE.child("launch"), ONE)
    telemetry.record(lost)
    telemetry.record(span("decide", OTHER))

    assert telemetry.orphans() == (lost,)
    telemetry.record(span("decide", ONE))
    assert telemetry.orphans() == ()


def test_counters_are_summed_over_the_labels_not_named() -> None:
    telemetry = RecordingTelemetry()
    for zone in ("a", "a", "b"):
        telemetry.count("karpenter_nodes_created_total", nodepool="default", zone=zone)

    assert telemetry.counted("karpenter_nodes_created_total") == 3
    assert telemetry.counted("karpenter_nodes_created_total", zone="a") == 2
    assert telemetry.counted("karpenter_nodes_terminated_total") == 0


def test_histograms_are_put_together_over_the_labels_not_named() -> None:
    telemetry = RecordingTelemetry()
    telemetry.observe(
        "karpenter_cloudprovider_duration_seconds", 0.5, controller="packer", method="A", provider="aws"
    )
    telemetry.observe(
        "karpenter_cloudprovider_duration_seconds", 2.0, controller="packer", method="B", provider="aws"
    )
    telemetry.observe(
        "karpenter_cloudprovider_duration_seconds", 9.0, controller="batcher", method="B", provider="aws"
    )

    assert telemetry.observed("karpenter_cloudprovider_duration_seconds", controller="packer") == Observed(
        2, 2.5, 2.0
    )


@pytest.mark.parametrize("labels", [{}, {"nodepool": "default"}, {"nodepool": "a", "zone": "b", "pod": "c"}])
def test_a_metric_written_with_other_labels_than_declared_is_refused(labels: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no counter karpenter_nodes_created_total with labels"):
        RecordingTelemetry().count("karpenter_nodes_created_total", 1, **labels)


def test_a_metric_written_as_another_kind_is_refused() -> None:
    telemetry = RecordingTelemetry()
    telemetry.gauge("karpenter_scheduler_queue_depth", 1, controller="packer")

    with pytest.raises(ValueError, match="no counter karpenter_scheduler_queue_depth"):
        telemetry.count("karpenter_scheduler_queue_depth", 1, controller="packer")


def test_of_very_many_log_lines_the_latest_are_kept() -> None:
    telemetry = RecordingTelemetry()

    for number in range(100_001):
        telemetry.log("tick", number=number)

    assert len(telemetry.logs) == 100_000
    assert telemetry.logs[-1].fields == {"number": 100_000}


def test_threads_may_share_it() -> None:
    telemetry = RecordingTelemetry()

    def work(number: int) -> None:
        for i in range(500):
            telemetry.count("karpenter_interruption_deleted_messages_total")
            telemetry.record(span("s", ONE.child(f"{number}/{i}")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert telemetry.counted("karpenter_interruption_deleted_messages_total") == 2_000
    assert len(telemetry.spans()) == 2_000
