"""The end of a node, step by step: cordon, drain, detach volumes, terminate, remove finalizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import cordon, cordoned, of_old_api, uncordon
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.nodes import Node, NodeClaim, NodeView, awaited
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import UNSCHEDULABLE
from treenail.domain.termination.leaving import Leaving
from treenail.domain.termination.moving_out import MoveOut, move_out
from treenail.domain.termination.places import places_awaited

# A pod may have been bound before the scheduler saw the taint: it shows up within this time.
_SETTLING: Final = timedelta(seconds=5)
# A call for a claim that is deleted meanwhile is answered, and its answer written down, by this time;
# what it bought is visible by the later one.
_LAUNCH_ANSWERED: Final = timedelta(seconds=60)
_LAUNCH_VISIBLE: Final = timedelta(seconds=90)
# New instances may be invisible to a listing for a while: only then is absence a proof.
_VISIBLE_AFTER: Final = timedelta(seconds=90)
# Between two looks for the machine of a node that is not ready.
_LOOK_APART: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCordoned:
    """No new pod will come to a node."""

    claim: NodeClaim
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDrained:
    """Nothing that must be waited for is left on a node."""

    claim: NodeClaim
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTerminated:
    """The machine of a claim is gone, and so are its objects."""

    claim: NodeClaim
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """Keep new pods off the node."""

    node: Node
    patch: NodePatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon:
    """Somebody came to a node that was to go because it was empty: it stays, and is open again."""

    node: Node
    patch: NodePatch


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Say in the API that the claim is to go, and why: from here on a restart goes on by itself."""

    claim: NodeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class FindInstance:
    """Look whether the call that a claim was marked for has bought it an instance after all."""

    claim: NodeClaim
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Say in the API that the node is to go."""

    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SayEnd:
    """Say in the API when EC2 takes the machine of a claim that goes already, for whoever finishes it."""

    claim: NodeClaim
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitDetached:
    """Ask which volumes are still attached to the node; those `kept` by pods that stay do not matter."""

    node: Node
    kept: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminate:
    """Terminate the instance."""

    claim: NodeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitGone:
    """Ask whether the instance is gone; while `draining`, whether it is gone too early."""

    claim: NodeClaim
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LetGo:
    """Take our finalizers off: of the node first, then of the claim."""

    node: Node | None
    claim: NodeClaim | None


Step: TypeAlias = (
    "Cordon | Abandon | DeleteClaim | FindInstance | DeleteNode | SayEnd | MoveOut | AwaitDetached"
    " | Terminate | AwaitGone | LetGo | datetime"
)


def must_leave(view: NodeView) -> bool:
    """Return whether the API says that a managed node goes: whoever said so, from there on it is our job."""
    if view.claim is not None:
        return view.ending
    return view.node is not None and view.ending and labels.TERMINATION_FINALIZER in view.node.finalizers


def next_step(view: NodeView, pods: Sequence[Pod], state: Leaving, now: datetime) -> Step:
    """Return what is to be done next, or an instant to look again at."""
    claim, node = view.claim, view.node
    if claim is not None and view.holder:
        # The machine, its node and their pods are another claim's, and stay.
        if view.kept_node:
            return now + _SETTLING
        return LetGo(node=None, claim=claim) if claim.leaving else DeleteClaim(claim=claim)
    if node is not None and not cordoned(node, claim) and _joined(claim):
        return Cordon(node=node, patch=cordon(claim))
    if claim is not None and not claim.leaving:
        return _decide(claim, node, pods, state, now)
    if claim is not None and not claim.launched:
        return _unlaunched(claim, state, now)
    if node is not None and claim is not None and not claim.registered and awaited(node):
        step = _clear(node, pods)
        if step is not None:
            return step
    if node is not None and _joined(claim):
        step = _drain(node, claim, pods, state, now)
        if step is not None:
            return step
    return _end(claim, node, state)


def _joined(claim: NodeClaim | None) -> bool:
    """Return whether pods may run on a node: on that of a claim that is not understood they may."""
    return claim is None or claim.registered or bool(claim.unread)


def _decide(claim: NodeClaim, node: Node | None, pods: Sequence[Pod], state: Leaving, now: datetime) -> Step:
    """Before the claim is deleted there is a way back for nodes that were empty, or get replaced first."""
    if state.cause is Cause.EMPTY and node is not None and node.deleting_since is None:
        if any(not p.belongs for p in pods):
            return Abandon(node=node, patch=uncordon(claim, node))
        settled = (state.cordoned_at or state.began_at) + _SETTLING
        if now < settled:
            return settled
    if state.replaced_first and node is not None and node.deleting_since is None:
        again = places_awaited(pods, state, now)
        if again is not None:
            return Abandon(node=node, patch=uncordon(claim, node)) if again <= now else again
    return DeleteClaim(claim=claim)


def _unlaunched(claim: NodeClaim, state: Leaving, now: datetime) -> Step:
    """A claim that was marked for a call may have an instance nobody wrote down yet."""
    mark = LaunchMark.of(claim)
    since = claim.deleting_since or state.began_at
    if mark is None or state.nothing_bought:
        return LetGo(node=None, claim=claim)
    if now < since + _LAUNCH_ANSWERED:
        return since + _LAUNCH_ANSWERED
    return FindInstance(claim=claim, token=mark.token)


def surely_nothing(claim: NodeClaim, asked_at: datetime) -> bool:
    """Return whether a look for a deleted claim's instance, at `asked_at`, that found none is final."""
    return claim.deleting_since is not None and asked_at - claim.deleting_since >= _LAUNCH_VISIBLE


def _drain(
    node: Node, claim: NodeClaim | None, pods: Sequence[Pod], state: Leaving, now: datetime
) -> Step | None:
    """Return what the drain needs next, None when it is over."""
    if state.drained_at is not None or state.lost:
        return None
    if node.deleting_since is None:
        return DeleteNode(node=node)
    # Those that bear the cordon of the old API, as daemons do, would come back at once.
    waiting = [p for p in pods if p.drainable(now) and not (of_old_api(claim) and _bears_cordon(p))]
    if waiting:
        return _look_for(node, claim, state, now) or _say_end(claim, state) or move_out(waiting, state, now)
    settled = (state.cordoned_at or state.began_at) + _SETTLING
    if now < settled:
        return settled
    return _detach(node, pods, state, now)


def _look_for(node: Node, claim: NodeClaim | None, state: Leaving, now: datetime) -> AwaitGone | None:
    """Return a look for the machine of a node that is not ready: if it is gone, nobody is left to move."""
    lately = state.looked_at is not None and now < state.looked_at + _LOOK_APART
    if claim is None or node.ready or lately:
        return None
    return AwaitGone(claim=claim, draining=True)


def _say_end(claim: NodeClaim | None, state: Leaving) -> SayEnd | None:
    """Return what to write down first: a notice for a node that goes already is forgotten by a restart."""
    if claim is None or state.ends_at is None:
        return None
    said = machine_ends_at(claim)
    return SayEnd(claim=claim, at=state.ends_at) if said is None or said > state.ends_at else None


def _detach(node: Node, pods: Sequence[Pod], state: Leaving, now: datetime) -> Step | None:
    """Wait for the volumes of the pods that have left, where there is a machine that gives them back."""
    there = {pod.uid for pod in pods}
    left = {name for uid, names in state.volumes.items() if uid not in there for name in names}
    over = (state.end is not None and now >= state.end) or state.cause is Cause.GARBAGE_COLLECTED
    if state.detached or over or not (left or state.resumed):
        return None
    kept = {name for uid, names in state.volumes.items() if uid in there for name in names}
    return AwaitDetached(node=node, kept=frozenset(kept))


def _clear(node: Node, pods: Sequence[Pod]) -> Step | None:
    """Send the pods away that were bound to a node whose machine never joined: nobody ever ran them."""
    if node.deleting_since is None:
        return DeleteNode(node=node)
    bound = tuple((p, 0) for p in pods if not p.daemon)
    return MoveOut(evict=(), delete=bound) if bound else None


def _end(claim: NodeClaim | None, node: Node | None, state: Leaving) -> Step:
    if claim is None:
        return LetGo(node=node, claim=None)
    if state.terminated_at is None:
        return Terminate(claim=claim)
    if not state.gone:
        return AwaitGone(claim=claim)
    if node is not None and node.deleting_since is None:
        # One that was never registered: nobody else is sure to take it away.
        return DeleteNode(node=node)
    return LetGo(node=node, claim=claim)


def seen_gone(claim: NodeClaim, ids: frozenset[str], asked_at: datetime) -> bool:
    """Return whether a listing of instances, asked for at `asked_at`, shows that the claim's is gone.

    A machine whose kubelet has joined has been visible for long: only of others absence may be newness.
    """
    known = claim.registered or asked_at - claim.created_at >= _VISIBLE_AFTER
    return known and claim.instance_id not in ids


def _bears_cordon(pod: Pod) -> bool:
    return any(t.tolerates(UNSCHEDULABLE) for t in pod.spec.tolerations)
