"""Conditions of claims: types, reasons and messages as Karpenter has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import (
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Condition,
    Node,
    NodeClaim,
    Status,
    condition_of,
)
from treenail.domain.model.taints import is_ephemeral

# In the order a claim comes to them. `Ready` is all of them together.
MILESTONES: Final = (LAUNCHED, REGISTERED, INITIALIZED)
_NOT_FOUND: Final = ("NodeNotFound", "Node not registered with cluster")
# As much of a sentence of EC2's as Karpenter shows in a condition.
_LONGEST_WHY: Final = 300
_SEVERAL_NODES: Final = "MultipleNodesFound"
_ABOUT_TO: Final = ("AwaitingReconciliation", "object is awaiting reconciliation")


def awaiting_launch(claim: NodeClaim) -> tuple[Condition, ...]:
    """Return the conditions of a claim whose launch has begun."""
    return _with_ready(claim, tuple(Condition(kind, Status.UNKNOWN, *_ABOUT_TO) for kind in MILESTONES))


def after_failed_launch(claim: NodeClaim, why: str) -> tuple[Condition, ...]:
    """Return the conditions of a claim whose launch failed, and is tried again."""
    failed = Condition(LAUNCHED, Status.UNKNOWN, "LaunchFailed", why[:_LONGEST_WHY])
    waiting = tuple(Condition(kind, Status.UNKNOWN, *_ABOUT_TO) for kind in (REGISTERED, INITIALIZED))
    return _with_ready(claim, (failed, *waiting))


def after_launch(claim: NodeClaim) -> tuple[Condition, ...]:
    """Return the conditions of a claim with an instance whose node has not joined yet."""
    waiting = tuple(Condition(kind, Status.UNKNOWN, *_NOT_FOUND) for kind in (REGISTERED, INITIALIZED))
    return _with_ready(claim, (_true(LAUNCHED), *waiting))


def after_several_nodes(claim: NodeClaim) -> tuple[Condition, ...]:
    """Return the conditions of a claim whose machine several nodes say they are."""
    registered = Condition(
        REGISTERED, Status.FALSE, _SEVERAL_NODES, "Invariant violated, matched multiple nodes"
    )
    waiting = Condition(INITIALIZED, Status.UNKNOWN, *_NOT_FOUND)
    return _with_ready(claim, (_true(LAUNCHED), registered, waiting))[1:]


def after_registration(claim: NodeClaim, node: Node, lacking: Sequence[str] = ()) -> tuple[Condition, ...]:
    """Return the conditions of a claim whose node has joined, and is not in use yet."""
    waiting = not_initialized(claim, node, lacking) or Condition(INITIALIZED, Status.UNKNOWN, *_ABOUT_TO)
    return _with_ready(claim, (_true(LAUNCHED), _true(REGISTERED), waiting))[1:]


def after_initialization(claim: NodeClaim) -> tuple[Condition, ...]:
    """Return the conditions of a claim whose node is in use."""
    return _with_ready(claim, tuple(_true(kind) for kind in MILESTONES))[2:]


def not_initialized(claim: NodeClaim, node: Node, lacking: Sequence[str] = ()) -> Condition | None:
    """Return the condition that says why a node that has joined is not in use yet; None where it can be.

    `lacking` are the drivers that have not published its devices yet.
    """
    obstacle = _obstacle(claim, node, lacking)
    return None if obstacle is None else Condition(INITIALIZED, Status.UNKNOWN, *obstacle)


def shows(claim: NodeClaim, wanted: Condition) -> bool:
    """Return whether a claim bears a condition already, whenever it came to."""
    there = condition_of(claim.conditions, wanted.type)
    return there is not None and (there.status, there.reason, there.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )


def _obstacle(claim: NodeClaim, node: Node, silent: Sequence[str]) -> tuple[str, str] | None:
    """Return the first thing in the way, as reason and message."""
    if not node.ready:
        return "NodeNotReady", "Node status is NotReady"
    startup = next((t for t in node.taints if any(t.same_mark(s) for s in claim.startup_taints)), None)
    if startup is not None:
        return "StartupTaintsExist", f'StartupTaint "{startup}" still exists'
    ephemeral = next((t for t in node.taints if is_ephemeral(t)), None)
    if ephemeral is not None:
        return "KnownEphemeralTaintsExist", f'KnownEphemeralTaint "{ephemeral}" still exists'
    asked = (name for name, amount in sorted(claim.requests.items()) if amount)
    lacking = next((name for name in asked if not node.allocatable.get(name, 0)), None)
    if lacking is not None:
        return "ResourceNotRegistered", f'Resource "{lacking}" was requested but not registered'
    if silent:
        return "DRADriverNotPublished", f'DRA driver "{silent[0]}" has not published its devices'
    return None


def _true(kind: str) -> Condition:
    return Condition(kind, Status.TRUE, kind)


def _with_ready(claim: NodeClaim, parts: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return conditions of all milestones, and `Ready`, which is what they come to."""
    waiting = [c for c in parts if c.status is not Status.TRUE]
    if not waiting:
        return *parts, _true(READY)
    prefix = "Machine" if claim.generation is Generation.V1ALPHA5 else ""
    message = ", ".join(f"{prefix}{c.type}={c.status.value}" for c in waiting)
    if any(c.status is Status.FALSE for c in waiting):
        return *parts, Condition(READY, Status.FALSE, "UnhealthyDependents", message)
    return *parts, Condition(READY, Status.UNKNOWN, "ReconcilingDependents", message)
