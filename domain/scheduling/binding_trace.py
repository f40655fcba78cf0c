"""The `bind` spans: one for each claim and class of pods, however many pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from treenail.domain.cluster.changes import PodBound
from treenail.domain.model import labels
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.span_attributes import CLAIM, DECISION_ID
from treenail.domain.telemetry.tracing import Link, Span, SpanContext

BOUND_CLASS: Final = "treenail.class.name"
BOUND_PODS: Final = "treenail.pods"
_QUIET: Final = timedelta(seconds=10)


@dataclass(slots=True)
class _Group:
    parent: SpanContext
    claim: str
    kind: str
    first: datetime
    last: datetime
    pods: int
    example: str
    decisions: dict[str, None]
    heard_at: datetime


class BindingLog:
    """Pods bound to claimed nodes, until their groups are quiet."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self._look_again_at = datetime.min.replace(tzinfo=UTC)

    def note(self, bound: PodBound, now: datetime) -> tuple[Span, ...]:
        """Take in a binding; return the spans of groups that have been quiet for a while."""
        claim = bound.view.claim
        parent = SpanContext.parse(claim.annotations.get(labels.TRACEPARENT, "")) if claim else None
        if claim is not None and parent is not None:
            self._add(bound, claim.name, parent, now)
        if now < self._look_again_at:
            return ()
        self._look_again_at = now + _QUIET
        # After a restart pods are heard of that were bound long ago, and still they belong together.
        return self._close(lambda group: now - group.heard_at > _QUIET)

    def _add(self, bound: PodBound, claim: str, parent: SpanContext, now: datetime) -> None:
        kind, at = class_name(bound.pod), bound.pod.scheduled_at or now
        group = self._groups.get((claim, kind))
        if group is None:
            group = _Group(parent, claim, kind, at, at, 0, bound.pod.key, {}, now)
            self._groups[claim, kind] = group
        group.pods += 1
        group.heard_at = now
        group.first, group.last = min(group.first, at), max(group.last, at)
        if bound.promise is not None:
            group.decisions[bound.promise.decision] = None

    def close_all(self) -> tuple[Span, ...]:
        """Return the spans of all groups; there are none then."""
        return self._close(lambda _: True)

    def _close(self, over: Callable[[_Group], bool]) -> tuple[Span, ...]:
        closed = [key for key, group in self._groups.items() if over(group)]
        return tuple(_span(self._groups.pop(key)) for key in closed)


def class_name(pod: Pod) -> str:
    """Return what a person calls pods like this one: their owner, or the pod itself."""
    owner = pod.owner
    return f"{pod.namespace}/{owner.name}" if owner is not None else pod.key


def _span(group: _Group) -> Span:
    roots = {d: SpanContext.root(f"decide/{d}") for d in sorted(group.decisions)}
    own = [d for d, root in roots.items() if root.trace_id == group.parent.trace_id]
    return Span(
        context=group.parent.child(f"bind/{group.claim}/{group.kind}/{group.first.isoformat()}"),
        parent=group.parent,
        name="bind",
        start=group.first,
        end=group.last,
        attributes={
            CLAIM: group.claim,
            BOUND_CLASS: group.kind,
            "treenail.class.example": group.example,
            BOUND_PODS: group.pods,
            **({DECISION_ID: own[0]} if own else {}),
        },
        links=tuple(Link(root) for root in roots.values() if root.trace_id != group.parent.trace_id),
    )
