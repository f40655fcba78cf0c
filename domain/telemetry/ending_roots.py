"""Root contexts of the traces of nodes that end."""

from __future__ import annotations

from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.tracing import SpanContext


def disruption_context(claim: NodeClaim) -> SpanContext:
    """Return the root of the trace of a node that we, or a user, give back."""
    return SpanContext.root(f"disrupt/{claim.uid or claim.name}")


def interruption_context(instance_id: str, cause: Cause) -> SpanContext:
    """Return the root of the trace of an instance that EC2 takes away."""
    return SpanContext.root(f"interruption/{instance_id}/{cause.value}")
