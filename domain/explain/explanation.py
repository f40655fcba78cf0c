"""Statements of an explanation: sentences, each about one thing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.claims import DECISION
from treenail.domain.model.durations import format_duration
from treenail.domain.model.nodes import INITIALIZED, LAUNCHED, REGISTERED, NodeClaim, Status, condition_of
from treenail.domain.telemetry.tracing import SpanContext

_LONG_AGO: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence. `about` is the same for all of a kind: "place", "origin", "end"."""

    about: str
    says: str


def ago(since: datetime, now: datetime) -> str:
    """Return how long ago something was: "3m20s ago", or from two days on "9d4h ago"."""
    span = timedelta(seconds=max(0, round((now - since).total_seconds())))
    if span >= _LONG_AGO:
        hours = span.seconds // 3600
        return f"{span.days}d{hours}h ago" if hours else f"{span.days}d ago"
    return f"{format_duration(span)} ago"


def what_is(claim: NodeClaim) -> str:
    """Return what a claim got, or is to get: "c5.large in us-east-1a, spot, $0.034/h by NodeOverlay own"."""
    if not claim.launched:
        types = len(claim.instance_types)
        return f"any of {types} instance types" if types else "any instance type"
    price, overlay = price_of(claim), claim.annotations.get(labels.PRICE_FROM)
    parts = (
        f"{claim.instance_type or 'an unknown type'} in {claim.zone or 'an unknown zone'}",
        claim.capacity_type,
        "" if price is None else f"${price:.4g}/h" + (f" by NodeOverlay {overlay}" if overlay else ""),
    )
    return ", ".join(filter(None, parts))


def named(claim: NodeClaim) -> str:
    """Return what names a claim and its pool: "NodeClaim c1 of NodePool default"."""
    generation = claim.generation
    return f"{generation.claim_kind} {claim.name} of {generation.pool_kind} {claim.pool}"


def origin(claim: NodeClaim) -> str:
    """Return by which decision a claim was made, with the id of its trace, "" where it does not say."""
    decision = claim.annotations.get(DECISION, "")
    context = SpanContext.parse(claim.annotations.get(labels.TRACEPARENT, ""))
    trace = f", trace {context.trace_id}" if context is not None else ""
    return f"decision {decision}{trace}" if decision else ""


def progress(claim: NodeClaim) -> Iterator[str]:
    """Yield what a claim that is not in use yet waits for."""
    for kind in (LAUNCHED, REGISTERED, INITIALIZED):
        shown = condition_of(claim.conditions, kind)
        if shown is not None and shown.status is Status.TRUE:
            continue
        why = ": ".join(filter(None, (shown.reason, shown.message))) if shown is not None else ""
        yield f"It is not {kind.lower()} yet" + (f" ({why})." if why else ".")
        return
