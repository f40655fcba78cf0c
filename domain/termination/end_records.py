"""Records of nodes' ends for people: who decided, why, and the cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.tracing import Attribute, SpanContext

# By cause: the actor that decides, and its method. What people do to objects is decided by no actor.
_WHO: Final[Mapping[Cause, tuple[str, str]]] = {
    Cause.EMPTY: ("Disruptor", "emptiness"),
    Cause.EXPIRED: ("Disruptor", "expiration"),
    Cause.DRIFTED: ("Disruptor", "drift"),
    Cause.SCALED_DOWN: ("PoolSizer", "scale-down"),
    Cause.UNDERUTILIZED: ("Consolidator", "consolidation"),
    Cause.SPOT_INTERRUPTED: ("InterruptionListener", "interruption"),
    Cause.SCHEDULED_CHANGE: ("InterruptionListener", "interruption"),
    Cause.INSTANCE_STOPPED: ("InterruptionListener", "interruption"),
    Cause.INSTANCE_TERMINATED: ("InterruptionListener", "interruption"),
    Cause.REBALANCE_RECOMMENDED: ("InterruptionListener", "interruption"),
    Cause.CAPACITY_RESERVATION_INTERRUPTED: ("InterruptionListener", "interruption"),
    Cause.INSTANCE_STATUS: ("StatusPoller", "status check"),
    Cause.SYSTEM_STATUS: ("StatusPoller", "status check"),
    Cause.EVENT_STATUS: ("StatusPoller", "status check"),
    Cause.UNHEALTHY: ("NodeRepairer", "repair"),
    Cause.INSUFFICIENT_CAPACITY: ("FleetLauncher", "launch"),
    Cause.LAUNCH_FAILED: ("FleetLauncher", "launch"),
    Cause.NODE_CLASS_NOT_READY: ("FleetLauncher", "launch"),
    Cause.LAUNCH_TIMEOUT: ("NodeLifecycle", "liveness"),
    Cause.REGISTRATION_TIMEOUT: ("NodeLifecycle", "liveness"),
    Cause.GARBAGE_COLLECTED: ("NodeLifecycle", "garbage collection"),
    Cause.DELETED: ("", "deletion"),
}
_LONGEST_REASON: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRecord:
    """The reason of a claim's end. Prices are in $/h or None; `price_after` is of what takes its place.

    That is all that was bought by the decisions on where its pods go, whoever else it serves. `actor` is ""
    where somebody deleted it.
    """

    cause: Cause
    actor: str
    method: str
    reason: str = ""
    price_before: float | None = None
    price_after: float | None = None
    trace_id: str = ""

    def fields(self) -> dict[str, str | float]:
        """Return what is known, by name: as log lines say it."""
        known = {
            "cause": self.cause.value,
            "actor": self.actor,
            "method": self.method,
            "reason": self.reason,
            "price_before": self.price_before,
            "price_after": self.price_after,
        }
        return {name: value for name, value in known.items() if value not in (None, "")}

    def written(self) -> str:
        """Return it as the annotation of a claim holds it: JSON."""
        return json.dumps({**self.fields(), "trace_id": self.trace_id}, sort_keys=True)

    def annotations(self) -> dict[str, str]:
        """Return the annotations to write on a claim before its deletion, for a process that finishes it."""
        return {labels.CAUSE: self.cause.value, labels.END: self.written()}

    def attributes(self) -> dict[str, Attribute]:
        """Return it as spans hold it."""
        return {f"treenail.end.{name}": value for name, value in self.fields().items() if name != "cause"}

    def sentence(self) -> str:
        """Return it as an event tells it."""
        reason = f" ({self.reason})" if self.reason else ""
        by = f"{self.method} of {self.actor}" if self.actor else self.method
        prices = f"; {_price(self.price_before)} before, {_price(self.price_after)} after"
        return f"Ended: {self.cause.value}{reason}, by {by}{prices}; trace {self.trace_id}"


def end_record(
    claim: NodeClaim,
    cause: Cause,
    trace: SpanContext,
    *,
    actor: str = "",
    why: str = "",
    price_before: float | None = None,
    price_after: float | None = None,
) -> EndRecord:
    """Return why a claim ends; `why` says more of the cause, where more is known.

    It was decided by `actor`, or "" by whoever does for such a cause.
    """
    usual, method = _WHO[cause]
    return EndRecord(
        cause=cause,
        actor=actor or usual,
        method=method,
        reason=(why or (claim.drift if cause is Cause.DRIFTED else None) or "")[:_LONGEST_REASON],
        price_before=price_before,
        price_after=price_after,
        trace_id=trace.trace_id,
    )


def reason_of(claim: NodeClaim | None) -> str:
    """Return the reason that a claim's own record says, "" where it says none."""
    return _text_of(claim, "reason")


def actor_of(claim: NodeClaim | None) -> str:
    """Return who decided that a claim goes, from its own record; "" if that names nobody."""
    return _text_of(claim, "actor")


def _text_of(claim: NodeClaim | None, field: str) -> str:
    said = said_of_end(claim).get(field) if claim is not None else None
    return said[:_LONGEST_REASON] if isinstance(said, str) else ""


def cause_said(claim: NodeClaim | None) -> Cause | None:
    """Return why a claim goes as it says itself, None where it does not."""
    said = claim.annotations.get(labels.CAUSE, "") if claim is not None else ""
    return Cause(said) if said in {c.value for c in Cause} else None


def said_of_end(claim: NodeClaim) -> Mapping[str, object]:
    """Return what a claim's own record says, by name; nothing where there is none that can be read."""
    try:
        said = json.loads(claim.annotations.get(labels.END, "{}"))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _price(price: float | None) -> str:
    return "an unknown price" if price is None else f"${price:.4g}/h"
