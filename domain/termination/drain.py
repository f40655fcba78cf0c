"""Steps of a drain, as values: each is one call (MoveOut: one a pod); and what their answers tell.

`drain_table` says which is next.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.patches import NodePatch
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

# What a call bought for a claim that was deleted meanwhile is visible by this time.
_LAUNCH_VISIBLE: Final = timedelta(seconds=90)
# New instances may be invisible to a listing for a while: only then is absence a proof.
_VISIBLE_AFTER: Final = timedelta(seconds=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCordoned:
    """No new pod will come to a node."""

    claim: NodeClaim
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUncordoned:
    """A node that was to go stays after all, and new pods may come to it."""

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
    """A node that was to go stays, and is open again. `why`, where that is not for the usual reason."""

    node: Node
    patch: NodePatch
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Delete the claim in the API, with the cause. From here on a restart continues from the API alone."""

    claim: NodeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class FindInstance:
    """Look whether the call that a claim was marked for has bought it an instance after all."""

    claim: NodeClaim
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Delete the node in the API."""

    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SayEnd:
    """Write on a claim that is being deleted when EC2 takes its machine, for a process that finishes it."""

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
    """Return whether the API says that a managed node leaves: whoever deleted it, we finish that."""
    if view.claim is not None:
        return view.ending
    return view.node is not None and view.ending and labels.TERMINATION_FINALIZER in view.node.finalizers


def note_done(leaving: Leaving, step: Step, value: object, *, asked_at: datetime, now: datetime) -> None:
    """Take in that a step was done, or found nothing there (`value` is None), when it was asked for."""
    match step:
        case Cordon():
            leaving.cordoned_at = now
        case Abandon():
            leaving.cordoned_at = None
        case FindInstance(claim=claim):
            leaving.nothing_bought = not value and surely_nothing(claim, asked_at)
        case Terminate():
            leaving.terminated_at = now
        case AwaitGone(claim=claim, draining=True):
            leaving.lost = seen_gone(claim, names_in(value), asked_at)
        case AwaitGone(claim=claim):
            leaving.gone = seen_gone(claim, names_in(value), asked_at)
        case AwaitDetached(kept=kept):
            leaving.detached = names_in(value) <= kept
        case _:
            pass  # what was written shows in the API


def names_in(value: object) -> frozenset[str]:
    """Return the instances or volumes that an answer lists."""
    return value if isinstance(value, frozenset) else frozenset()


def surely_nothing(claim: NodeClaim, asked_at: datetime) -> bool:
    """Return whether a look for a deleted claim's instance, at `asked_at`, that found none is final."""
    return claim.deleting_since is not None and asked_at - claim.deleting_since >= _LAUNCH_VISIBLE


def seen_gone(claim: NodeClaim, ids: frozenset[str], asked_at: datetime) -> bool:
    """Return whether a listing of instances, asked for at `asked_at`, shows that the claim's is gone.

    A machine whose kubelet has joined has been visible for long: only of others absence may be newness.
    """
    known = claim.registered or asked_at - claim.created_at >= _VISIBLE_AFTER
    return known and claim.instance_id not in ids
