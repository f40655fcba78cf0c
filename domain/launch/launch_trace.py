"""Spans of a launch: `launch` for each claim, with the CreateFleet call in it."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.span_attributes import CLAIM, POOL
from treenail.domain.telemetry.tracing import Attribute, Span, SpanContext, SpanEvent, SpanKind


def decision_context(claim: NodeClaim) -> SpanContext | None:
    """Return the span that decided on a claim, as its annotation tells."""
    return SpanContext.parse(claim.annotations.get(labels.TRACEPARENT, ""))


def fleet_span(
    claim: NodeClaim,
    request: FleetRequest,
    answer: FleetAnswer | None,
    *,
    start: datetime,
    end: datetime,
    attempt: int,
    error: str = "",
) -> tuple[Span, ...]:
    """Return the client span of one CreateFleet attempt, as a child of the first claim's `launch`."""
    root = decision_context(claim)
    if root is None:
        return ()
    attributes: dict[str, Attribute] = {
        "rpc.system.name": "aws-api",
        "rpc.method": "EC2/CreateFleet",
        "treenail.fleet.token": request.token,
        "treenail.fleet.attempt": attempt,
        "treenail.fleet.capacity": request.count,
        "treenail.fleet.capacity_type": request.capacity_type,
        "treenail.fleet.instance_types": len({o.instance_type for o in request.overrides}),
        "treenail.fleet.zones": tuple(sorted({o.zone for o in request.overrides})),
    }
    events: tuple[SpanEvent, ...] = ()
    if answer is not None:
        attributes["treenail.fleet.launched"] = len(answer.instances)
        attributes["treenail.ratelimit.wait_seconds"] = answer.waited_seconds
        if answer.request_id:
            attributes["aws.request_id"] = answer.request_id
        events = tuple(
            SpanEvent(
                name="fleet error",
                at=end,
                attributes={
                    "error.type": e.code,
                    "host.type": e.instance_type,
                    "cloud.availability_zone": e.zone,
                },
            )
            for e in answer.errors
        )
    launch = root.child(f"launch/{claim.name}")
    return (
        Span(
            context=launch.child(f"fleet/{request.token}/{attempt}"),
            parent=launch,
            name="EC2/CreateFleet",
            kind=SpanKind.CLIENT,
            start=start,
            end=end,
            attributes=attributes,
            events=events,
            error=error,
        ),
    )


def launch_span(
    claim: NodeClaim, *, start: datetime, end: datetime, instance: Instance | None, error: str = ""
) -> tuple[Span, ...]:
    """Return the span of a claim's launch, from the commitment to the instance (or to giving up)."""
    root = decision_context(claim)
    if root is None:
        return ()
    attributes: dict[str, Attribute] = {CLAIM: claim.name, POOL: claim.pool}
    if instance is not None:
        attributes |= {
            "host.id": instance.id,
            "host.type": instance.instance_type,
            "host.image.id": instance.image_id,
            "cloud.availability_zone": instance.zone,
            "treenail.capacity_type": instance.capacity_type,
            "treenail.offering.price_usd_hour": instance.price,
        }
    return (
        Span(
            context=root.child(f"launch/{claim.name}"),
            parent=root,
            name="launch",
            start=start,
            end=end,
            attributes=attributes,
            error=error,
        ),
    )
