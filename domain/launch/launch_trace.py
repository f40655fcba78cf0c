"""Spans of a launch: `launch` for each claim, with the CreateFleet call in it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.bounded_values import bounded_text
from treenail.domain.telemetry.delays import Delay, delay_events
from treenail.domain.telemetry.span_attributes import CLAIM, ERROR_TYPE, POOL, aws_call, in_zone
from treenail.domain.telemetry.tracing import Attribute, Span, SpanContext, SpanEvent, SpanKind

# A fleet has some hundred overrides, each of which may fail: the errors of so many are told one by one.
_MOST_ERRORS: Final = 50


def decision_context(claim: NodeClaim) -> SpanContext | None:
    """Return the span that decided on a claim, as its annotation tells."""
    return SpanContext.parse(claim.annotations.get(labels.TRACEPARENT, ""))


def launch_context(claim: NodeClaim) -> SpanContext | None:
    """Return where the span `launch` of a claim is; None where no decision of ours made it."""
    root = decision_context(claim)
    return root.child(f"launch/{claim.name}") if root is not None else None


def fleet_span(
    claim: NodeClaim,
    request: FleetRequest,
    answer: FleetAnswer | None,
    *,
    start: datetime,
    end: datetime,
    attempt: int,
    error: Exception | None = None,
    delays: tuple[Delay, ...] = (),
) -> tuple[Span, ...]:
    """Return the client span of one CreateFleet attempt, as a child of the first claim's `launch`.

    An attempt that bought nothing failed, answered or not. `delays` are those within the attempt.
    """
    launch = launch_context(claim)
    if launch is None:
        return ()
    zones = sorted({o.zone for o in request.overrides})
    attributes: dict[str, Attribute] = {
        **aws_call("EC2", "CreateFleet", zones),
        "treenail.fleet.token": request.token,
        "treenail.fleet.attempt": attempt,
        "treenail.fleet.capacity": request.count,
        "treenail.fleet.capacity_type": request.capacity_type,
        "treenail.fleet.instance_types": len({o.instance_type for o in request.overrides}),
        "treenail.fleet.zones": tuple(zones),
    }
    if answer is not None:
        attributes["treenail.fleet.launched"] = len(answer.instances)
        attributes["treenail.fleet.errors"] = len(answer.errors)
        attributes["treenail.ratelimit.wait_seconds"] = answer.waited_seconds
        if answer.request_id:
            attributes["aws.request_id"] = answer.request_id
    failure = _failure(answer, error)
    if failure is not None:
        attributes[ERROR_TYPE] = failure[0]
    return (
        Span(
            context=launch.child(f"fleet/{request.token}/{attempt}"),
            parent=launch,
            name="EC2/CreateFleet",
            kind=SpanKind.CLIENT,
            start=start,
            end=end,
            attributes=attributes,
            events=(*delay_events(delays), *_fleet_errors(answer, end)),
            error=failure[1] if failure is not None else "",
        ),
    )


def _failure(answer: FleetAnswer | None, error: Exception | None) -> tuple[str, str] | None:
    """Return the type of error by which a call came to nothing, and what was said; None where it did not."""
    if error is not None:
        return type(error).__name__, bounded_text(str(error))
    if answer is None or answer.instances:
        return None
    codes = sorted(e.code for e in answer.errors)
    return (codes[0] if codes else "_OTHER"), bounded_text(answer.why)


def _fleet_errors(answer: FleetAnswer | None, at: datetime) -> tuple[SpanEvent, ...]:
    """Return an event for each error of an answer, of many for the first."""
    errors = answer.errors if answer is not None else ()
    return tuple(
        SpanEvent(
            name="fleet error",
            at=at,
            attributes={ERROR_TYPE: e.code, "host.type": e.instance_type, "cloud.availability_zone": e.zone},
        )
        for e in errors[:_MOST_ERRORS]
    )


def launch_span(
    claim: NodeClaim,
    *,
    start: datetime,
    end: datetime,
    instance: Instance | None,
    error: str = "",
    cause: str = "",
    events: tuple[SpanEvent, ...] = (),
) -> tuple[Span, ...]:
    """Return the span of a claim's launch, from the commitment to the instance (or to giving up).

    `cause` says why it is given up, and `events` what delayed it.
    """
    root, launch = decision_context(claim), launch_context(claim)
    if root is None or launch is None:
        return ()
    attributes: dict[str, Attribute] = {CLAIM: claim.name, POOL: claim.pool}
    if cause:
        attributes[ERROR_TYPE] = cause
    if instance is not None:
        attributes |= {
            "host.id": instance.id,
            "host.type": instance.instance_type,
            "host.image.id": instance.image_id,
            **in_zone(instance.zone),
            "treenail.capacity_type": instance.capacity_type,
            "treenail.offering.price_usd_hour": instance.price,
        }
    return (
        Span(
            context=launch,
            parent=root,
            name="launch",
            start=min(start, end),
            end=end,
            attributes=attributes,
            events=events,
            error=bounded_text(error),
        ),
    )
