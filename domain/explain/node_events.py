"""Events of claims and their nodes, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptionBlocked, DisruptNodes
from treenail.domain.disruption.replacements import Replacements
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model import labels
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.claim_conditions import MILESTONES
from treenail.domain.model.do_not_disrupt import kept_pod
from treenail.domain.model.event_subjects import of_claim, of_view
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.fleets import NO_SPOT
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.node_shape import shape_problems
from treenail.domain.model.nodes import Condition, NodeClaim, NodeView, Status, condition_of
from treenail.domain.model.taints import UNREGISTERED

_LONGEST_WHY: Final = 300
_NO_ROLE: Final = (
    f"A spot instance could not be launched ({NO_SPOT}): the account lacks the service-linked role of spot, "
    "which aws iam create-service-linked-role --aws-service-name spot.amazonaws.com makes"
)


class NodeEvents:
    """Claims and nodes as they were last seen, and events on what changed. Mutable.

    What stood already when it was first heard of is no news.
    """

    def __init__(self) -> None:
        self._views: dict[str, NodeView] = {}
        self._replacements = Replacements()
        self._left_alone: dict[str, LeftAlone] = {}
        # The claims of no pool that wait for their node class.
        self._unresolved_now: dict[str, None] = {}

    def note(self, changed: NodeChanged, now: datetime) -> Iterator[ClusterEvent]:
        """Take a view in as it stands; yield what has changed that people know of."""
        before = self._views.pop(changed.name, None)
        view = changed.view
        if view is None:
            self._replacements.forget(changed.name)
            self._left_alone.pop(changed.name, None)
            self._unresolved_now.pop(changed.name, None)
            yield from _finalized(before)
            return
        self._views[changed.name] = view
        for pod in changed.pods:
            yield from kept_pod(pod, now)
        yield from self._replacements.note(changed)
        yield from _disputes(before, view)
        yield from self._alone(changed, view)
        yield from self._unresolved(changed, view)
        if before is not None:
            yield from _changes(before, view)

    def _alone(self, changed: NodeChanged, view: NodeView) -> Iterator[ClusterEvent]:
        """Yield, for a claim that is left alone from now on, why: also at a start."""
        alone = changed.left_alone
        if alone in (None, LeftAlone.NO_POOL) or view.claim is None or view.ending:
            self._left_alone.pop(changed.name, None)
        elif self._left_alone.get(changed.name) is not alone:
            self._left_alone[changed.name] = alone
            yield ClusterEvent(of_claim(view.claim), "LeftAlone", f"It is left alone: {alone.value}")

    def _unresolved(self, changed: NodeChanged, view: NodeView) -> Iterator[ClusterEvent]:
        """Yield the event that the node class of a claim without a pool does not exist."""
        claim = view.claim
        lacks = changed.pool is not None and changed.node_class is None
        if claim is None or not claim.stands_alone or not lacks:
            self._unresolved_now.pop(changed.name, None)
        elif changed.name not in self._unresolved_now:
            self._unresolved_now[changed.name] = None
            message = f"Failed resolving NodeClass: {claim.node_class} is not there yet"
            yield ClusterEvent(of_claim(claim), "FailedResolvingNodeClass", message, warning=True)

    def disrupting(self, order: DisruptNodes) -> Iterator[ClusterEvent]:
        """Yield, for nodes that are given back, why."""
        why = BUDGETED.get(order.cause, order.cause.value)
        self._replacements.order(order)
        for view in order.nodes:
            for about in of_view(view):
                yield ClusterEvent(about, "DisruptionTerminating", f"Disrupting {about.kind}: {why}")

    def failed(self, failure: ClaimFailed) -> Iterator[ClusterEvent]:
        """Yield, for a claim that EC2 has no capacity for, what it said."""
        view = self._views.get(failure.claim)
        if failure.cause is Cause.INSUFFICIENT_CAPACITY and view is not None and view.claim is not None:
            about = of_claim(view.claim)
            message = f"{about.kind} {about.name} event: {failure.why[:_LONGEST_WHY]}"
            yield ClusterEvent(about, "InsufficientCapacityError", message, warning=True)
            if NO_SPOT in failure.why:
                yield ClusterEvent(about, "SpotServiceLinkedRoleMissing", _NO_ROLE, warning=True)


def blocked(by: DisruptionBlocked) -> Iterator[ClusterEvent]:
    """Yield, for what would be given up and may not be, why."""
    for about in by.about:
        yield ClusterEvent(about, "DisruptionBlocked", by.why)


def _disputes(before: NodeView | None, after: NodeView) -> Iterator[ClusterEvent]:
    """Yield events on nodes and claims that name one machine: when that is new, and at a start."""
    claim = after.claim
    if claim is None:
        return
    if after.rivals and (before is None or before.rivals != after.rivals):
        nodes = sorted((after.node_name, *after.rivals))
        message = f"Nodes {', '.join(nodes)} name one machine: {after.node_name} counts as it"
        for about in (of_claim(claim), *(ObjectRef("Node", name) for name in nodes)):
            yield ClusterEvent(about, "MultipleNodesFound", message, warning=True)
    told = (after.claimants, after.holder)
    if after.claimants and (before is None or (before.claimants, before.holder) != told):
        kind, holder = claim.generation.claim_kind, after.holder or claim.name
        names = ", ".join(sorted((claim.name, *after.claimants)))
        message = f"{kind}s {names} name one machine: {holder} has it, and the others nothing"
        yield ClusterEvent(of_claim(claim), "MultipleNodeClaimsFound", message, warning=True)


def _changes(before: NodeView, after: NodeView) -> Iterator[ClusterEvent]:
    was, claim = before.claim, after.claim
    if claim is None:
        return
    if was is not None:
        yield from _transitions(was, claim)
    if _lacks_taint(after) and not _lacks_taint(before):
        message = f"Missing {UNREGISTERED.key} taint: pods may come to the node before it is registered"
        yield ClusterEvent(of_claim(claim), "UnregisteredTaintMissing", message, warning=True)
    problems = shape_problems(before)
    for problem in shape_problems(after):
        if problem not in problems:
            yield ClusterEvent(of_claim(claim), "FailedConsistencyCheck", problem, warning=True)


def _lacks_taint(view: NodeView) -> bool:
    """Return whether a node has joined without the taint that keeps pods away until it is registered."""
    claim, node = view.claim, view.node
    if claim is None or node is None or claim.registered or labels.MADE_EARLY in node.annotations:
        return False
    synced = node.labels.get(labels.REGISTERED) == "true"
    return not synced and not any(t.same_mark(UNREGISTERED) for t in node.taints)


def _transitions(before: NodeClaim, after: NodeClaim) -> Iterator[ClusterEvent]:
    for now in after.conditions:
        was = condition_of(before.conditions, now.type)
        if now.status is not _status(was):
            yield transition(of_claim(after), replace(now, type=_told_as(after, now.type)), _status(was))


def _told_as(claim: NodeClaim, kind: str) -> str:
    old = claim.generation is Generation.V1ALPHA5 and kind in MILESTONES
    return f"Machine{kind}" if old else kind


def transition(about: ObjectRef, now: Condition, was: Status) -> ClusterEvent:
    """Return that a condition has another status than it had."""
    said = [
        f"Type: {now.type}",
        f"Status: {was.value} -> {now.status.value}",
        f"Reason: {now.reason or now.type}",
    ]
    if now.message:
        said.append(f"Message: {now.message}")
    return ClusterEvent(about, now.type, f"Status condition transitioned, {', '.join(said)}")


def _finalized(before: NodeView | None) -> Iterator[ClusterEvent]:
    """Yield, for a claim that is gone, which finalizers held it to the end."""
    if before is not None and before.claim is not None and before.claim.leaving:
        for finalizer in before.claim.finalizers or (labels.TERMINATION_FINALIZER,):
            yield ClusterEvent(of_claim(before.claim), "Finalized", f"Finalized {finalizer}")


def _status(condition: Condition | None) -> Status:
    return condition.status if condition is not None else Status.UNKNOWN
