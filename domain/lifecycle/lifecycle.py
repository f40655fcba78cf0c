"""The lifecycle of a claim from its instance to a node in use: next step and deadline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.cluster.node_rivals import owned_by
from treenail.domain.disruption.expiry import expires_at, forceful
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claim_conditions import (
    after_initialization,
    after_registration,
    after_several_nodes,
    not_initialized,
    shows,
)
from treenail.domain.model.cordons import marked
from treenail.domain.model.event_subjects import of_claim
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.node_shape import shape_condition, shape_news
from treenail.domain.model.nodes import LAUNCHED, REGISTERED, Condition, Node, NodeClaim, NodeView, awaited
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.taints import UNREGISTERED

LAUNCH_TIMEOUT: Final = timedelta(minutes=5)
REGISTRATION_TIMEOUT: Final = timedelta(minutes=15)
_OBSTACLES_TOLD_AFTER: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRegistered:
    """The node of a claim has joined."""

    claim: NodeClaim
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInitialized:
    """The node of a claim is in use."""

    claim: NodeClaim
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNeverCame:
    """A claim's launch or registration took too long: it is given back."""

    claim: NodeClaim
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncNode:
    """Give the node what its claim says, and take off the taint that kept pods away until now."""

    node: Node
    patch: NodePatch


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchClaim:
    """Write down how far the claim has come."""

    claim: NodeClaim
    patch: ClaimPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBack:
    """Delete a claim whose node never came, or that expires before it comes into use."""

    claim: NodeClaim
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil:
    """Nothing to do before then, unless something changes."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonNode:
    """Let a node go that was deleted and is not the one its claim means: its machine is that one's."""

    node: str


NextStep: TypeAlias = "AbandonNode | SyncNode | PatchClaim | MarkInitialized | GiveBack | WaitUntil | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkInitialized:
    """Label the node as initialized, then say so on the claim, by these conditions."""

    claim: NodeClaim
    node: Node
    conditions: tuple[Condition, ...]


def next_step(view: NodeView, now: datetime, alone: LeftAlone | None = None) -> NextStep:
    """Return the next step of a claim's life; None where there is none.

    A claim that is left `alone` is seen into use like others, but not given back, unless it is left alone
    because it has no pool: then all that matters is in the claim itself.
    """
    step = _next_step(view, now, alone)
    if isinstance(step, GiveBack) and alone not in (None, LeftAlone.NO_POOL):
        return None
    return step


def _next_step(view: NodeView, now: datetime, alone: LeftAlone | None) -> NextStep:
    claim = view.claim
    if view.unread:
        # What is not understood is left alone: how far it has come is not known.
        return None
    if view.abandoned:
        return AbandonNode(node=view.abandoned[0])
    if claim is None or claim.leaving or view.holder:
        return None
    if view.claimants and view.registered and view.node is not None and not owned_by(view.node, claim):
        mine = NodePatch(owner=of_claim(claim))
        return SyncNode(node=view.node, patch=mine)
    expires = expires_at(claim, None) if forceful(claim) else None
    if view.initialized:
        news = shape_news(view)
        if news is not None:
            return PatchClaim(claim=claim, patch=ClaimPatch(conditions=(news,)))
        # The expiry of claims of pools is the business of their pool's disruptor.
        if alone is not LeftAlone.NO_POOL or expires is None:
            return None
        due = now >= expires
        return GiveBack(claim=claim, cause=Cause.EXPIRED) if due else WaitUntil(at=expires)
    if expires is not None and now >= expires:
        return GiveBack(claim=claim, cause=Cause.EXPIRED)
    step = _towards_use(view, claim, now)
    match step:
        case WaitUntil(at=at) if expires is not None:
            return WaitUntil(at=min(at, expires))
        case None if expires is not None:
            return WaitUntil(at=expires)
        case _:
            return step


def _towards_use(view: NodeView, claim: NodeClaim, now: datetime) -> NextStep:
    node = view.node
    if node is None or (not claim.registered and awaited(node)):
        return _wait_for_node(claim, now)
    if not claim.registered:
        return _wait_for_one(claim, now) if view.rivals else _register(claim, node, view.lacking_drivers)
    # From its initialization on a node counts against its budget: one that is to go first never gets there.
    return None if marked(view) else _initialize(claim, node, now, view.lacking_drivers)


def _wait_for_node(claim: NodeClaim, now: datetime) -> WaitUntil | GiveBack | None:
    if claim.stands_alone and not claim.launched and labels.LAUNCH not in claim.annotations:
        return None  # nobody has begun to launch it: its node class may still come
    if not claim.launched:
        due, cause = claim.since(LAUNCHED) + LAUNCH_TIMEOUT, Cause.LAUNCH_TIMEOUT
    else:
        due, cause = claim.since(LAUNCHED) + REGISTRATION_TIMEOUT, Cause.REGISTRATION_TIMEOUT
    if claim.registered:  # it was there, and somebody took it away, finalizer and all
        cause = Cause.DELETED
    return GiveBack(claim=claim, cause=cause) if now >= due else WaitUntil(at=due)


def _wait_for_one(claim: NodeClaim, now: datetime) -> NextStep:
    """Report several nodes of one claim, until only one is left, or the registration timeout is over."""
    told = after_several_nodes(claim)
    waiting = _wait_for_node(claim, now)
    if isinstance(waiting, GiveBack) or all(shows(claim, one) for one in told):
        return waiting
    return PatchClaim(claim=claim, patch=ClaimPatch(conditions=told))


def _register(claim: NodeClaim, node: Node, lacking: tuple[str, ...]) -> NextStep:
    synced = node.labels.get(labels.REGISTERED) == "true"
    if not synced or any(t.same_mark(UNREGISTERED) for t in node.taints):
        return SyncNode(node=node, patch=_registration(claim, node))
    patch = ClaimPatch(node_name=node.name, conditions=after_registration(claim, node, lacking))
    return PatchClaim(claim=claim, patch=patch)


def _registration(claim: NodeClaim, node: Node) -> NodePatch:
    wanted = (
        () if node.labels.get(labels.DO_NOT_SYNC_TAINTS) == "true" else claim.taints + claim.startup_taints
    )
    return NodePatch(
        labels={**claim.labels, labels.REGISTERED: "true"},
        annotations=_own(claim),
        add_taints=tuple(t for t in wanted if t not in node.taints),
        remove_taints=tuple(t for t in node.taints if t.same_mark(UNREGISTERED)),
        owner=of_claim(claim),
        add_finalizers=(labels.TERMINATION_FINALIZER,),
    )


def _own(claim: NodeClaim) -> dict[str, str]:
    """Return the claim's annotations that belong on its node: not those of the launch."""
    return {k: v for k, v in claim.annotations.items() if not k.startswith("treenail.sh/")}


def _initialize(claim: NodeClaim, node: Node, now: datetime, lacking: tuple[str, ...]) -> NextStep:
    obstacle = not_initialized(claim, node, lacking)
    if obstacle is None:
        return _mark_initialized(claim, node)
    if shows(claim, obstacle):
        return None
    # An obstacle that is gone in a moment, as for most nodes, is not worth a request.
    due = claim.since(REGISTERED) + _OBSTACLES_TOLD_AFTER
    if now < due:
        return WaitUntil(at=due)
    return PatchClaim(claim=claim, patch=ClaimPatch(conditions=(obstacle,)))


def _mark_initialized(claim: NodeClaim, node: Node) -> MarkInitialized:
    conditions = after_initialization(claim)
    in_use = NodeView(claim=replace(claim, conditions=conditions), node=node)
    shape = shape_condition(in_use)
    told = conditions if shape is None else (*conditions, shape)
    return MarkInitialized(claim=claim, node=node, conditions=told)
