"""Moves under way: accepted consolidations, and which of them are withdrawn because they do not work out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.consolidated_claims import read_origins
from treenail.domain.model.nodes import NodeClaim, NodeView

# A move goes on where replacements are dearer than planned, as long as this share of its saving is left.
_KEPT_SAVING: Final = 0.5
_NO_PLACE: Final = "not all pods of the node have other places"
_DEARER: Final = "replacement costs {actual:.4f} $/h in place of {planned:.4f}, and {terms}"
_SAVES: Final = "the move was to save {saves:.4f}"
_RETURNS: Final = "the return to NodePool {pools} may cost no more than {premium:.4f} beyond that"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveUnderWay:
    """Nodes that go, by name, and the claims made for their pods, each with its planned price in $/h.

    `pools` are those of the nodes, one for each. `saves` is what was planned, $/h. Together the claims may
    come up dearer by `spare` ($/h), by the `terms` said.
    """

    decision: Decision
    began_at: datetime
    nodes: tuple[str, ...]
    pools: tuple[str, ...]
    claims: tuple[tuple[str, float], ...]
    saves: float
    spare: float
    terms: str


def resumed_move(
    decision: Decision, nodes: Sequence[NodeView], claims: Sequence[NodeClaim], now: datetime
) -> MoveUnderWay | None:
    """Return a move that another process accepted, by what the claims made for it say.

    None where they do not say what it was to save, or it would not save enough any more.
    """
    origins = [read_origins(claim) for claim in claims]
    before = [price_of(view.claim) if view.claim is not None else None for view in nodes]
    prices = {claim.name: price_of(claim) for claim in claims}
    if not all(origins) or None in before:
        return None
    saves = sum(said[0].saving for said in origins if said)
    spare = saves * (1 - _KEPT_SAVING)
    known = [price for price in prices.values() if price is not None]
    # The planned sum of the prices of claims whose price is not known yet.
    left = sum(price for price in before if price is not None) - saves - sum(known)
    if left + spare < 0:
        return None
    share = max(0.0, left) / max(1, len(prices) - len(known))
    return MoveUnderWay(
        decision=decision,
        began_at=now,
        nodes=tuple(view.name for view in nodes),
        pools=tuple(view.pool for view in nodes),
        claims=tuple((name, share if price is None else price) for name, price in prices.items()),
        saves=saves,
        spare=spare,
        terms=_SAVES.format(saves=saves),
    )


class MovesUnderWay:
    """The moves that were accepted, until their nodes are gone or stay. Mutable."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._moves: dict[str, MoveUnderWay] = {}
        self._by_view: dict[str, dict[str, None]] = {}
        # The moves whose replacements are not all in use yet, by decision.
        self._incomplete: dict[str, None] = {}
        # Nodes of moves that stay after all, and why, by decision: until the move is withdrawn for it.
        self._staying: dict[str, dict[str, str]] = {}
        # Claims of withdrawn moves, which nothing may need any more: until they go, or get pods.
        self._left_over: dict[str, None] = {}
        # Claims of moves that ended since that was last asked.
        self._freed: dict[str, None] = {}

    def begin(
        self, decided: PlanDecided, committed: PlanCommitted, nodes: Iterable[NodeView], now: datetime
    ) -> None:
        """Take in that a move was accepted and its places promised."""
        views = tuple(nodes)
        planned = decided.plan.claims
        claims = tuple((claim.name, planned[index].price) for index, claim in enumerate(committed.claims))
        terms, spare = _SAVES.format(saves=decided.saves), decided.saves * (1 - _KEPT_SAVING)
        if decided.back_to:
            pools, spare = ", ".join(decided.back_to), decided.premium
            terms = _RETURNS.format(pools=pools, premium=spare)
        move = MoveUnderWay(
            decision=decided.decision,
            began_at=now,
            nodes=tuple(view.name for view in views),
            pools=tuple(view.pool for view in views),
            claims=claims,
            saves=decided.saves,
            spare=spare,
            terms=terms,
        )
        self.follow(move)

    def follow(self, move: MoveUnderWay) -> None:
        """Take in a move that is under way."""
        self._moves[move.decision.id] = move
        if move.claims:
            self._incomplete[move.decision.id] = None
        for name in (*move.nodes, *(name for name, _ in move.claims)):
            self._by_view.setdefault(name, {})[move.decision.id] = None

    def __len__(self) -> int:
        return len(self._moves)

    def incomplete(self, decision: str) -> bool:
        """Return whether a move still waits for replacements. None of its nodes goes before all are in use.

        If some went earlier, their pods could be bound to what was bought for others. Were the move withdrawn
        then, most nodes would stay, beside replacements that are in use.
        """
        return decision in self._incomplete

    def completed(self, changed: Iterable[str]) -> Iterator[MoveUnderWay]:
        """Yield, where these views changed, the moves whose last replacement came into use by that."""
        for key in self._touched(changed):
            move = self._moves[key]
            if key in self._incomplete and all(self._serves(name) for name, _ in move.claims):
                del self._incomplete[key]
                yield move

    def withdrawn(self, changed: Iterable[str]) -> Iterator[tuple[MoveUnderWay, tuple[str, ...], str]]:
        """Yield, where these views changed, moves with the nodes that are to stay, and why; forget them.

        With a node that stays already, those of its move stay that still may. Nodes whose claims are deleted
        go on their way: their pods are evicted already, or soon.
        """
        for key in self._touched(changed):
            move, staying = self._moves[key], self._staying.get(key, {})
            revocable = tuple(name for name in move.nodes if self._may_stay(name))
            why = next(iter(staying.values()), None)
            if why is None and revocable:
                why = self._problem(move, revocable)
            if why is not None:
                self._forget(key)
                self._left_over |= dict.fromkeys(name for name, _ in move.claims)
                yield move, (*staying, *revocable), why

    def stays(self, name: str, why: str) -> None:
        """Take in that a node stays after all: the move that was to take it did not work out."""
        there = self._model.objects.view(name) is not None
        for key in self._touched((name,)):
            if there and name in self._moves[key].nodes:
                self._staying.setdefault(key, {})[name] = why

    def made(self, changed: Iterable[str]) -> Iterator[tuple[MoveUnderWay, float]]:
        """Yield, where these views changed, moves all of whose nodes are gone; forget them.

        With each comes what the cluster costs less by it, $/h, by the prices its claims were launched for: 0
        where these have eaten it up. Moves whose nodes stay for another reason are forgotten without a word.
        """
        for key in self._touched(changed):
            move = self._moves[key]
            left = [view for name in move.nodes if (view := self._model.objects.view(name)) is not None]
            if not left:
                self._forget(key)
                yield move, max(0.0, move.saves - self._dearer(move))
            elif not any(view.ending or view.name in self._model.marks.for_disruption for view in left):
                self._forget(key)

    def _touched(self, changed: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for name in changed for key in self._by_view.get(name, ())))

    def _dearer(self, move: MoveUnderWay) -> float:
        """Return by how much the claims of a move cost more than planned, as far as is known, $/h."""
        return sum(self._price(name, price) - price for name, price in move.claims)

    def unneeded(self, changed: Iterable[str]) -> tuple[NodeView, ...]:
        """Return the nodes bought for withdrawn moves that can be given back now: nothing is to run there.

        They are not in use yet, so no budget counts them. One that is in use has to ask its budget.
        """
        found: list[NodeView] = []
        for name in [name for name in changed if name in self._left_over]:
            view = self._model.objects.view(name)
            if view is None or self._model.marks.ending(view) or not self._model.empty(name):
                del self._left_over[name]
            elif view.launched and not view.initialized:
                del self._left_over[name]
                found.append(view)
        return tuple(found)

    def left_over(self, name: str) -> bool:
        """Return whether a node was bought for a move that was withdrawn, and nothing needed it since."""
        return name in self._left_over

    def replacing(self, name: str) -> bool:
        """Return whether a node was bought for a move that is under way: its pods may still come."""
        moves = (self._moves[key] for key in self._by_view.get(name, ()))
        return any(name == claim for move in moves for claim, _ in move.claims)

    def freed(self) -> tuple[str, ...]:
        """Return the claims of moves that ended since this was last asked."""
        names, self._freed = tuple(self._freed), {}
        return names

    def _may_stay(self, name: str) -> bool:
        """Return whether a node that is to go could still stay."""
        view, marks = self._model.objects.view(name), self._model.marks
        going = view is None or view.ending or name in marks.instance_ending
        return not going and name in marks.for_disruption

    def _serves(self, name: str) -> bool:
        """Return whether pods can be bound to a claim's node, or nobody waits for that any more."""
        return self._model.objects.ready(name) or not self._model.promises.at(name)

    def _problem(self, move: MoveUnderWay, nodes: Iterable[str]) -> str | None:
        pods = (pod for name in nodes for pod in self._model.objects.pods_on(name))
        if any(pod.reschedulable and self._model.promises.of(pod.uid) is None for pod in pods):
            return _NO_PLACE
        dearer, planned = self._dearer(move), sum(price for _, price in move.claims)
        if dearer > move.spare:
            return _DEARER.format(actual=planned + dearer, planned=planned, terms=move.terms)
        return None

    def _price(self, name: str, planned: float) -> float:
        """Return what a claim costs, as planned until that is known."""
        claim = self._model.objects.claims.get(name)
        actual = price_of(claim) if claim is not None else None
        return planned if actual is None else actual

    def _forget(self, key: str) -> None:
        move = self._moves.pop(key)
        self._incomplete.pop(key, None)
        self._staying.pop(key, None)
        self._freed |= dict.fromkeys(name for name, _ in move.claims)
        for name in (*move.nodes, *(name for name, _ in move.claims)):
            of_view = self._by_view[name]
            of_view.pop(key, None)
            if not of_view:
                del self._by_view[name]
