"""The outcome of planning for pods to come: how many came, and what nodes cost that none came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.expected_pods import is_expected
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.model.capacity_buffers import keeps_room_for_buffer, of_buffer
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.claims import DECISION, expected_pods, promised_pods
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import INSTANCE_TERMINATING, LAUNCHED, NodeClaim, NodeView, holds
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.span_attributes import CLAIM, DECISION_ID, POOL
from treenail.domain.telemetry.tracing import Attribute, Span, SpanContext


@dataclass(slots=True)
class _Awaited:
    """The fate of the places of one decision for pods to come."""

    since: datetime
    places: int
    came: int = 0
    ended: int = 0


class ExpectedOutcome:
    """The decisions with places for pods to come, until a pod came to each or it is given up. Mutable."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._awaited: dict[str, _Awaited] = {}

    def begin(self, decided: PlanDecided, now: datetime) -> None:
        """Take in a decision whose places were promised."""
        pods = (p for p in decided.snapshot.pods if is_expected(p) and not keeps_room_for_buffer(p))
        owners = {p.owner.uid: None for p in pods if p.owner is not None}
        promises = (promise for owner in owners for promise in self._model.promises.expected(owner))
        places = sum(promise.decision == decided.decision.id for promise in promises)
        if places:
            self._awaited[decided.decision.id] = _Awaited(now, places)

    def end(self, outcomes: Iterable[tuple[str, bool]], now: datetime) -> Iterator[Span]:
        """Take in, by decision, whether a pod came to a place; yield the spans of those that are over."""
        for decision, came in outcomes:
            awaited = self._awaited.get(decision)
            if awaited is None:
                continue  # of the process before
            awaited.came += came
            awaited.ended += 1
            if awaited.ended == awaited.places:
                del self._awaited[decision]
                said: dict[str, Attribute] = {
                    "treenail.expected": awaited.places,
                    "treenail.came": awaited.came,
                }
                yield _span("await-pods", decision, "", awaited.since, now, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedNode:
    """A node that was bought for pods to come, and that none of them came to. `cost` is in $.

    It is that from its launch until other pods came, or its machine was ended.
    """

    claim: NodeClaim
    cost: float
    until: datetime

    @property
    def span(self) -> Span:
        """The span, of the decision that bought it."""
        claim, decision = self.claim, self.claim.annotations.get(DECISION, "")
        said: dict[str, Attribute] = {
            CLAIM: claim.name,
            POOL: claim.pool,
            "treenail.cost_usd": round(self.cost, 6),
        }
        return _span("unused", decision, claim.name, claim.since(LAUNCHED), self.until, said)


class UnusedNodes:
    """The nodes bought for pods to come that no pod came to yet. Mutable.

    A pod that was promised a place there came, wherever the scheduler put it then. Claims of the old API do
    not say when a pod last came: of a node that was in use before the process started it is not known.
    """

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._waiting: dict[str, NodeClaim] = {}
        # Nodes that pods came to: their cost is not in vain.
        self._used: dict[str, None] = {}

    def follow(self, changed: Iterable[str], now: datetime) -> Iterator[UnusedNode]:
        """Take in that these views changed; yield those that cost something for nothing until now."""
        for name in changed:
            view = self._model.objects.view(name)
            if view is None or view.claim is None:
                self._used.pop(name, None)
                yield from self._wasted(name, now)
            elif name not in self._used and any(not of_buffer(owner) for owner in expected_pods(view.claim)):
                seen = name in self._waiting or view.claim.generation is not Generation.V1ALPHA5
                known = seen or not view.claim.initialized
                self._waiting[name] = view.claim
                if view.claim.last_pod_event_at is not None or not known or self._came(view, view.claim):
                    self._used[name] = None
                    del self._waiting[name]
                elif any(_counts(pod) for pod in self._model.objects.pods_of(view)):
                    self._used[name] = None
                    yield from self._wasted(name, now)

    def _came(self, view: NodeView, claim: NodeClaim) -> bool:
        promised = (p.like for p in self._model.promises.at(view.name) if not p.expected)
        there = (pod for pod in self._model.objects.pods_of(view) if _counts(pod))
        return any(_own(pod, claim) for pod in (*promised, *there))

    def _wasted(self, name: str, now: datetime) -> Iterator[UnusedNode]:
        claim = self._waiting.pop(name, None)
        price = price_of(claim) if claim is not None else None
        if claim is not None and price is not None and claim.launched:
            ended = holds(claim.conditions, INSTANCE_TERMINATING)
            until = claim.since(INSTANCE_TERMINATING) if ended else now
            hours = max(0.0, (until - claim.since(LAUNCHED)).total_seconds() / 3600)
            yield UnusedNode(claim=claim, cost=price * hours, until=until)


def _counts(pod: Pod) -> bool:
    return not (pod.daemon or pod.mirror)


def _own(pod: Pod, claim: NodeClaim) -> bool:
    """Return whether a claim was made for a pod, or for some to come of its workload."""
    mine = pod.owner is not None and pod.owner.uid in expected_pods(claim)
    return mine or pod.uid in promised_pods(claim)


def _span(
    name: str, decision: str, about: str, since: datetime, now: datetime, said: dict[str, Attribute]
) -> Span:
    root = SpanContext.root(f"decide/{decision}")
    return Span(
        context=root.child(f"{name}/{about}" if about else name),
        parent=root,
        name=name,
        start=min(since, now),
        end=now,
        attributes={DECISION_ID: decision, **said},
    )
