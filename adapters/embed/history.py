"""The history of nodes: when each was launched and terminated, why, and its price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.adapters.fake.ec2 import EndCause, InstanceRecord
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.telemetry.tracing import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A node's life. Times are seconds since the start; `name` is the claim's until the node has joined.

    `launched_at` is when CreateFleet was sent (0 where that was before the start), `terminated_at` when the
    instance was terminated (None: it lives); `cause` is why. `price` is in $ per hour.
    """

    name: str
    claim: str
    instance_id: str
    instance_type: str
    zone: str
    capacity_type: str
    node_pool: str
    price: float
    launched_at: float
    terminated_at: float | None
    cause: str | None


_FOUND_GONE: Final = (Cause.DELETED.value, Cause.GARBAGE_COLLECTED.value)
_SEEN: Final = {EndCause.SPOT_INTERRUPTION: Cause.SPOT_INTERRUPTED.value}


@dataclass(frozen=True, slots=True)
class Known:
    """All that others than EC2 know of an instance: its claim, its node, and why it ended."""

    claim: str = ""
    node: str = ""
    cause: str | None = None


def node_records(
    instances: Iterable[InstanceRecord],
    known: Mapping[str, Known],
    spans: Iterable[Span],
    start: datetime,
) -> tuple[NodeRecord, ...]:
    """Return the lives of all instances, oldest first. `known` is by instance id."""
    sent = _sent(spans)
    records = [_record(one, known.get(one.instance.id, Known()), sent, start) for one in instances]
    return tuple(sorted(records, key=lambda r: (r.launched_at, r.instance_id)))


def _record(one: InstanceRecord, known: Known, sent: Mapping[str, datetime], start: datetime) -> NodeRecord:
    instance = one.instance
    tags = instance.tags
    gone = one.terminated_at
    asked = sent.get(tags.get(labels.LAUNCH, ""), one.launched_at)
    cause = _cause(known.cause, one.cause)
    return NodeRecord(
        name=known.node or known.claim or instance.id,
        claim=known.claim,
        instance_id=instance.id,
        instance_type=instance.instance_type,
        zone=instance.zone,
        capacity_type=instance.capacity_type,
        node_pool=tags.get(labels.NODEPOOL) or tags.get(labels.PROVISIONER, ""),
        price=instance.price,
        launched_at=max(0.0, (asked - start).total_seconds()),
        terminated_at=None if gone is None else (gone - start).total_seconds(),
        cause=cause if gone is not None else None,
    )


def _cause(said: str | None, seen: EndCause | None) -> str | None:
    """Return why an instance ended: as the controller says, or, where it only found it gone, as EC2 does."""
    outside = seen is not None and seen is not EndCause.CONTROLLER
    if seen is not None and (said is None or (outside and said in _FOUND_GONE)):
        return _SEEN.get(seen, seen.value)
    return said


def _sent(spans: Iterable[Span]) -> dict[str, datetime]:
    """Return when the first CreateFleet call of each token was sent."""
    sent: dict[str, datetime] = {}
    for span in spans:
        token = span.attributes.get("treenail.fleet.token")
        if isinstance(token, str):
            sent[token] = min(span.start, sent.get(token, span.start))
    return sent
