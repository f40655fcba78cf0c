"""Resumed moves: after a start, nodes go on being replaced whose replacement the last process began."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.restoring import used
from treenail.domain.disruption.acceptance import budgets_at_present
from treenail.domain.disruption.budgets import BudgetBook
from treenail.domain.disruption.disruption import DisruptionProposed, DisruptNodes, allowed_disruptions
from treenail.domain.disruption.drift import Standard
from treenail.domain.disruption.expiry import expires_at, forceful
from treenail.domain.disruption.moves_under_way import MoveUnderWay, resumed_move
from treenail.domain.disruption.objections import objection_to_leaving
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.claims import DECISION, promised_pods, replaced_nodes
from treenail.domain.model.cordons import marked
from treenail.domain.model.labels import CONSOLIDATED
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedMoves:
    """The orders to give nodes up, and the consolidations among what they are for."""

    orders: tuple[DisruptNodes, ...] = ()
    consolidations: tuple[MoveUnderWay, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replaced:
    """A node in use, and the claims that were made for its pods and are not on their way out."""

    view: NodeView
    claim: NodeClaim
    pool: NodePool
    replacements: tuple[NodeClaim, ...]


def resume_moves(model: ClusterModel, now: datetime, *, consolidates: bool) -> ResumedMoves:
    """Mark the nodes for whose pods others were bought, and that are not gone; return what follows of that.

    The replacements' claims say which nodes these are. Each is then as it was before the restart: its pods
    keep their places until all of them are ready, or the node stays after minutes. Otherwise the replacements
    would be taken for empty, given back, and bought once more. A node is not marked where it would not be
    accepted now, or where nothing shows why it was to go: what was begun is taken back then.
    """
    orders: list[DisruptNodes] = []
    book, replaced = budgets_at_present(model), tuple(_replaced(model))
    for cause in (Cause.EXPIRED, Cause.DRIFTED):
        going = tuple(one for one in replaced if _cause(model, one, now) is cause)
        going = tuple(one for one in going if _may_go(model, book, one, cause, now))
        if going:
            orders.append(_order(going, cause, now, bought=len(going)))
    at_will = {one.view.name: one for one in replaced if _cause(model, one, now) is None}
    moves = tuple(_consolidations(model, book, at_will, now)) if consolidates else ()
    for move in moves:
        going = tuple(at_will[name] for name in move.nodes)
        orders.append(_order(going, Cause.UNDERUTILIZED, now, bought=len(move.claims)))
    for view in (view for order in orders for view in order.nodes):
        model.mark_for_disruption(view.name)
    return ResumedMoves(orders=tuple(orders), consolidations=moves)


def _order(those: Sequence[_Replaced], cause: Cause, now: datetime, *, bought: int) -> DisruptNodes:
    policies = {one.pool.name: one.pool.disruption.policy.written for one in those}
    return DisruptNodes(
        nodes=tuple(one.view for one in those),
        cause=cause,
        replaced_first=True,
        decided_at=now,
        bought=bought,
        policies=policies if cause is Cause.UNDERUTILIZED else {},
    )


def _replaced(model: ClusterModel) -> Iterator[_Replaced]:
    """Yield the nodes in use that are being replaced, by name."""
    found: dict[str, list[NodeClaim]] = {}
    for claim in sorted(model.objects.claims.values(), key=lambda one: one.name):
        view = model.objects.view(claim.name)
        if view is None or view.holder or model.marks.going(view):
            continue
        for node in replaced_nodes(claim):
            found.setdefault(model.objects.view_name(node), []).append(claim)
    for name, claims in sorted(found.items()):
        view = model.objects.view(name)
        pool = model.objects.pools.get(view.pool) if view is not None else None
        if view is None or view.claim is None or pool is None or model.marks.ending(view):
            continue
        # Names of nodes may come again.
        made = tuple(one for one in claims if one.created_at > view.claim.created_at)
        # Where pods came to a replacement, the move is over, unless the mark of the node says that it is not.
        if view.initialized and any(marked(view) or not used(model, one) for one in made):
            yield _Replaced(view=view, claim=view.claim, pool=pool, replacements=made)


def _cause(model: ClusterModel, one: _Replaced, now: datetime) -> Cause | None:
    """Return why a node goes that need not pay, None where nothing but a saving can be why."""
    expires = expires_at(one.claim, one.pool)
    if expires is not None and expires <= now and not forceful(one.claim):
        return Cause.EXPIRED
    drifted = one.claim.drift is not None and not any(_drifted(model, made) for made in one.replacements)
    return Cause.DRIFTED if drifted else None


def _drifted(model: ClusterModel, claim: NodeClaim) -> bool:
    """Return whether a replacement is not what its pool asks for any more."""
    pool = model.objects.pools.get(claim.pool)
    return pool is None or Standard(pool, model.objects.node_class(pool.node_class)).drift(claim) is not None


def _may_go(model: ClusterModel, book: BudgetBook, one: _Replaced, cause: Cause, now: datetime) -> bool:
    """Return whether nothing speaks against giving a node up now.

    One that bears our mark counts against its budget already: that must only not forbid all disruption.
    """
    proposal = DisruptionProposed(pool=one.pool.name, candidates=(one.view.name,), cause=cause)
    if objection_to_leaving(model, one.view, proposal, now) is not None:
        return False
    if not marked(one.view):
        return bool(book.take(proposal, now))
    nodes = sum(view.pool == one.pool.name and view.initialized for view in model.objects.views())
    return allowed_disruptions(one.pool, BUDGETED[cause], nodes, now) != 0


def _consolidations(
    model: ClusterModel, book: BudgetBook, at_will: Mapping[str, _Replaced], now: datetime
) -> Iterator[MoveUnderWay]:
    """Yield the consolidations whose claims are all there that the nodes `at_will` are replaced by."""
    made: dict[str, dict[str, NodeClaim]] = {}
    for claim in (claim for one in at_will.values() for claim in one.replacements):
        if CONSOLIDATED in claim.annotations:
            made.setdefault(claim.annotations.get(DECISION, ""), {})[claim.name] = claim
    for decision, claims in sorted(made.items()):
        left = {model.objects.view_name(node) for claim in claims.values() for node in replaced_nodes(claim)}
        going = [at_will[name] for name in sorted(left) if name in at_will]
        placed = frozenset(uid for claim in claims.values() for uid in promised_pods(claim))
        may = (_may_consolidate(model, one, placed) for one in going)
        if len(going) < len(left) or not all(may):
            continue
        if all(_may_go(model, book, one, Cause.UNDERUTILIZED, now) for one in going):
            begun = Decision(id=decision, opened_at=now, closed_at=now, pods=0)
            move = resumed_move(begun, [one.view for one in going], tuple(claims.values()), now)
            if move is not None:
                yield move


def _may_consolidate(model: ClusterModel, one: _Replaced, placed: Collection[str]) -> bool:
    """Return whether its pool would still give a node up to save something, and its pods all have places."""
    rules, pods = one.pool.disruption, model.objects.pods_of(one.view)
    allowed = rules.moves_pods
    return allowed and all(pod.uid in placed for pod in pods if pod.reschedulable)
