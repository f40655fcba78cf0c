"""Repack: the search for moves that make the cluster cheaper.

First the nodes are found that can simply go, because their pods fit on others: the one first that saves most
for what its pods cost to evict. Each is tried on the cluster as the moves before it leave it. Then nodes are
looked for that cost less than those that are left: for several together first, as nodes that were replaced
one by one may not be worth merging any more, and then for each, whatever number takes its place. A node that
takes pods of another one stays itself, so no pod moves twice.

Each step is greedy, and what is best first may bar the way to what is better together: pods of nodes that go
may fill one too dear for them. So the search is made in several ways, and the plan that earns most is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move, StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, ConsolidationProblem
from treenail.domain.packing.consolidation.earnings import earned, earned_by_all, hours_to_earn
from treenail.domain.packing.consolidation.found_moves import FoundMoves
from treenail.domain.packing.consolidation.move_terms import UNKNOWN_PRICE, MoveTerms
from treenail.domain.packing.consolidation.new_node_bound import NewNodeBound
from treenail.domain.packing.consolidation.price_filter import NONE_CHEAPER
from treenail.domain.packing.consolidation.rearrangement import Rearrangement
from treenail.domain.packing.consolidation.same_type import not_bought_again
from treenail.domain.packing.consolidation.search_order import (
    WAYS,
    Way,
    kept_first,
    most_saved_first,
    other_ways,
)
from treenail.domain.packing.consolidation.trial import Trial
from treenail.domain.packing.consolidation.vain_trials import VainTrials
from treenail.domain.packing.consolidation.worth import ROUNDING

# So many nodes are tried together: each trial is a whole plan.
_TOGETHER: Final = (2, 3, 5, 8)
# Trials of several nodes at most. They go to the nodes first that cost most beyond what their pods need.
_MOST_TOGETHER: Final = 200
# Another way than the first must save this share of what candidates cost: as pods move, the way that is
# best by little is now this one and now that, and the beginnings of different plans move pods in vain.
_ANOTHER_WAY: Final = 0.02
# A new node must save this share of what it replaces, by the bound, before it is planned.
_WORTH_PLANNING: Final = 1e-6


def repack(problem: ConsolidationProblem) -> ConsolidationPlan:
    """Return the moves that are worth making, in order, and why the other candidates stay.

    Depends on nothing but the problem, and not on the order its candidates come in.
    """
    told = {pod.uid for pod in problem.problem.pods}
    untold = next((one for one in problem.candidates if not told.issuperset(one.pods)), None)
    if untold is not None:
        return _nothing(problem, Block.PODS_UNTOLD.by(untold.name))
    in_order = sorted(problem.candidates, key=most_saved_first)
    cluster = Rearrangement(kept_first(problem, in_order), in_order)
    bound = NewNodeBound(problem.problem.offers, cluster.axis, problem.problem.settings)
    best = _Repack(problem, WAYS[0], cluster, bound)
    enough = sum(one.cost for one in problem.candidates) * _ANOTHER_WAY
    for way in other_ways(problem):
        cluster.begin_anew()
        other = _Repack(problem, way, cluster, bound)
        if other.earns > best.earns + enough:
            best, enough = other, ROUNDING
    return best.written()


def _nothing(problem: ConsolidationProblem, why: Blocker) -> ConsolidationPlan:
    """Return a plan without moves: of a cluster that is not told in full, no move is known to be right."""
    cost = sum(one.cost for one in problem.candidates)
    names = sorted(one.name for one in problem.candidates)
    staying = tuple(StayingNode(name=name, why=why) for name in names)
    return ConsolidationPlan(staying=staying, cost=cost, cost_after=cost, cut_short=True)


class _Repack:
    """One search, in a cluster as it is at first.

    `_open` are the candidates that may still go, in the order in which they are tried.
    """

    def __init__(
        self, problem: ConsolidationProblem, way: Way, cluster: Rearrangement, bound: NewNodeBound
    ) -> None:
        in_order = sorted(problem.candidates, key=most_saved_first)
        self._problem = problem
        self._candidates = {one.name: one for one in in_order}
        self._cluster = cluster
        self._terms = MoveTerms(problem)
        self._hours = hours_to_earn(problem.terms)
        self._bound = bound
        # Groups tried with all preferences kept, and groups also tried with some given up for a price.
        self._at_first = VainTrials(self._cluster)
        self._in_vain = VainTrials(self._cluster)
        self._open = {one.name: one for one in way.order(in_order)}
        self._why: dict[str, Blocker] = {}
        self._found = FoundMoves()
        self._tries = 0
        self._cut_short = False
        self._search(way)

    @property
    def earns(self) -> float:
        """The earnings of all moves together, $/h, whatever budgets allow now."""
        return earned_by_all(self._found.moves, self._hours)

    def _search(self, way: Way) -> None:
        unpackable = self._cluster.unpackable
        for one in self._candidates.values():
            unplaced = next((uid for uid in one.pods if uid in unpackable), None)
            held = None if unplaced is None else self._cluster.unplaced(unplaced, unpackable[unplaced])
            # A pool whose budgets let nothing go now may never let anything go: its nodes can take pods.
            held = held or self._terms.held_by_budgets((one,))
            if held is not None:
                self._stays(one.name, held)
        moving = {uid for one in self._candidates.values() for uid in one.pods}
        waiting = [pod.uid for pod in self._problem.problem.pods if pod.uid not in moving]
        for name in sorted(self._cluster.place_waiting(waiting)):
            self._stays(name, Block.RECEIVES_WAITING.by())
        self._cluster.close(self._problem.not_receiving)
        if way.together_first:
            self._merge_at_first()
        self._delete(in_turn=way.in_turn)
        self._postpone()
        self._merge()
        self._replace()

    # --- the steps, each on what the one before leaves

    def _merge_at_first(self) -> None:
        """Find nodes in whose place, together, others cost less beside what is free elsewhere.

        Whatever pool and zone they are of, and as many as earn the most: so a node that could not go alone
        goes with others that could, and none goes that adds less than moving its pods costs.
        """
        waiting = [one for one in self._open.values() if one.price is not None]
        self._tries = _MOST_TOGETHER
        while waiting and self._tries > 0:
            for some in self._most_earned_first(waiting):
                if self._exchange(some):
                    break
            waiting = [one for one in waiting[1:] if one.name in self._open]

    def _most_earned_first(self, waiting: Sequence[CandidateNode]) -> list[tuple[CandidateNode, ...]]:
        """Return those groups of the first nodes that would earn something, the most first."""
        found: list[tuple[float, tuple[CandidateNode, ...]]] = []
        for some in self._groups(waiting):
            if self._at_first.tried(some):
                continue
            self._tries -= 1
            self._at_first.note(some)
            trial = self._bought_for(some, required_only=False)
            self._cluster.undo()
            earns = 0.0 if trial.left else earned(some, trial.claims, self._hours)
            # Each trial is a whole plan: once fewer nodes earn less, still fewer are not tried.
            if found and earns < found[-1][0]:
                break
            if earns > 0:
                found.append((earns, some))
        return [some for _, some in reversed(found)]

    def _groups(self, waiting: Sequence[CandidateNode]) -> list[tuple[CandidateNode, ...]]:
        """Return the first nodes to try together, the most first: as many as budgets let go, too."""
        sizes = {len(self._admitted(waiting, count)) for count in _TOGETHER} - {0, 1}
        return [self._admitted(waiting, size) for size in sorted(sizes, reverse=True)]

    def _admitted(self, waiting: Iterable[CandidateNode], count: int) -> tuple[CandidateNode, ...]:
        """Return the first nodes that budgets let go together, `count` of them at most."""
        some: tuple[CandidateNode, ...] = ()
        for one in waiting:
            if len(some) == count:
                break
            if self._terms.held_by_budgets((*some, one)) is None:
                some = (*some, one)
        return some

    def _delete(self, *, in_turn: bool) -> None:
        """Find nodes whose pods all fit on others; with `in_turn`, also nodes that cheaper ones replace."""
        # The quick look is of use where nothing has changed since the last one: what it found is kept then.
        unchanged = False
        for one in list(self._open.values()):
            if one.name in self._open:
                unchanged = not (self._deleted(one, quickly=unchanged) or (in_turn and self._replaced(one)))

    def _deleted(self, one: CandidateNode, *, quickly: bool) -> bool:
        stuck = self._cluster.stuck_pod(one.name) if quickly else ""
        if stuck:
            self._why[one.name] = self._cluster.unplaced(stuck)
            return False
        return self._decide((one,), self._cluster.without((one.name,)))

    def _postpone(self) -> None:
        """Leave those alone that go as soon as others may receive pods: to buy for them would be in vain."""
        if not self._problem.not_receiving or not any(one.patient for one in self._open.values()):
            return
        self._cluster.reopen()
        for one in list(self._open.values()):
            if one.name not in self._open or not one.patient:
                continue
            trial = self._cluster.without((one.name,))
            if trial.left or isinstance(self._terms.move((one,), trial), Blocker):
                self._cluster.undo()
                continue
            self._cluster.keep(trial)
            self._stays(one.name, Block.RECEIVERS_WINDOW.by())
            self._receive(trial)
        self._cluster.close(self._problem.not_receiving)

    def _merge(self) -> None:
        """Find nodes in whose place, together, others cost less."""
        self._tries = _MOST_TOGETHER
        known = [one for one in self._open.values() if one.price is not None]
        known.sort(key=lambda one: (one.pool, one.zone, -self._excess(one), one.name))
        at = 0
        while at < len(known) - 1 and self._tries:
            at += self._merged(known[at : at + _TOGETHER[-1]]) or 1
        self._cut_short = not self._tries and at < len(known) - 1

    def _merged(self, known: Sequence[CandidateNode]) -> int:
        """Try the first ones together; return how many go, none where that is not worth it."""
        for count in _TOGETHER:
            some = tuple(one for one in known[:count] if one.name in self._open)
            # More than budgets ever let go together would hold up all moves that come after.
            if len(some) < count or self._terms.held_by_budgets(some) is not None:
                return 0
            if not self._tries or self._in_vain.tried(some):
                continue
            if not self._could_cost_less(some, [uid for one in some for uid in one.pods]):
                continue
            self._tries -= 1
            if self._bought(some):
                return count
            self._in_vain.note(some)
        return 0

    def _replace(self) -> None:
        """Find nodes that cost more than nodes bought for those of their pods without a place elsewhere."""
        for one in list(self._open.values()):
            if one.name in self._open:
                self._replaced(one)

    def _replaced(self, one: CandidateNode) -> bool:
        known = UNKNOWN_PRICE if one.price is None else self._in_vain.why((one,))
        if known is None and self._exchanged(one):
            return True
        if known is not None:
            self._why[one.name] = known
        self._in_vain.note((one,), self._why[one.name])
        return False

    def _exchanged(self, one: CandidateNode) -> bool:
        rest = self._cluster.without((one.name,), to_the_end=True).left
        self._cluster.undo()
        if self._could_cost_less((one,), rest):
            return self._bought((one,))
        self._why[one.name] = NONE_CHEAPER
        return False

    def _bought(self, some: tuple[CandidateNode, ...]) -> bool:
        """Try nodes with those that would be bought in their place; return whether they go.

        What keeps all preferences comes first. Where that is not worth it, some preferences have their price.
        """
        if self._exchange(some):
            return True
        if not self._cluster.have_their_price([one.name for one in some]):
            return False
        return self._exchange(some, required_only=True)

    def _exchange(self, some: tuple[CandidateNode, ...], *, required_only: bool = False) -> bool:
        """Try nodes with those that would be bought in their place; return whether any go.

        Nodes of which the like would be bought again stay, if the others earn as much without them.
        """
        trial = self._bought_for(some, required_only=required_only)
        fewer = not_bought_again(some, trial.claims)
        if not 0 < len(fewer) < len(some):
            return self._decide(some, trial)
        self._cluster.undo()
        without = self._bought_for(fewer, required_only=required_only)
        least = earned(some, trial.claims, self._hours)
        if not without.left and earned(fewer, without.claims, self._hours) >= least:
            if self._decide(fewer, without):
                return True
        else:
            self._cluster.undo()
        return self._decide(some, self._bought_for(some, required_only=required_only))

    def _bought_for(self, some: Sequence[CandidateNode], *, required_only: bool) -> Trial:
        return self._cluster.without_bought([one.name for one in some], required_only=required_only)

    # --- what becomes of a trial

    def _decide(self, some: tuple[CandidateNode, ...], trial: Trial) -> bool:
        """Make a move of a trial, or undo it; return whether the nodes go."""
        if trial.left:
            why: list[Move] | Blocker = self._cluster.unplaced(trial.left[0], trial.against)
        else:
            why = self._divided(some, trial) or self._as_one(some, trial)
            if not isinstance(why, Blocker):
                # As narrowed for the move: of what limits leave, fewer types take less.
                claims = tuple(claim for move in why for claim in move.claims)
                why = self._crowded(some, replace(trial, claims=claims)) or why
        if isinstance(why, Blocker):
            self._cluster.undo()
            if len(some) == 1:
                self._why[some[0].name] = why
            return False
        ties = self._cluster.ties(trial)
        self._cluster.keep(trial)
        self._terms.buy(why)
        self._found.add(why, ties)
        for one in some:
            self._open.pop(one.name, None)
            self._why.pop(one.name, None)
        self._receive(trial)
        return True

    def _crowded(self, some: Sequence[CandidateNode], trial: Trial) -> Blocker | None:
        """Return that nodes for pods whose places others may take would cost all that may be spent.

        None where they do not. A move that buys nothing is withdrawn then, and nothing is bought.
        """
        more = self._cluster.node_more(trial, self._terms.bought) if trial.claims else 0.0
        if not more or more < self._terms.spare(some, trial.claims):
            return None
        return Block.CROWDED.by()

    def _receive(self, trial: Trial) -> None:
        for name in sorted(set(trial.nominations.values())):
            if name in self._open:
                self._stays(name, Block.RECEIVES.by())

    def _as_one(self, some: tuple[CandidateNode, ...], trial: Trial) -> list[Move] | Blocker:
        move = self._terms.move(some, trial)
        return move if isinstance(move, Blocker) else [move]

    def _divided(self, some: tuple[CandidateNode, ...], trial: Trial) -> list[Move]:
        """Return a move for each node that can go alone, and one for the others; none if that is not to be.

        What can go alone does not wait for what is bought for others. Places that a pod's rules find by where
        others go are only known to hold together.
        """
        if len(some) == 1 or trial.lost:
            return []
        ties = self._cluster.ties(trial)
        if ties.touched or ties.asked:
            return []
        moves: list[Move] = []
        rest: list[CandidateNode] = []
        for one in some:
            alone = trial.part((one,))
            move = self._terms.move((one,), alone) if len(alone.nominations) == len(one.pods) else None
            if isinstance(move, Move):
                moves.append(move)
            else:
                rest.append(one)
        if moves and rest:
            last = self._terms.move(tuple(rest), replace(trial.part(rest), claims=trial.claims))
            return [] if isinstance(last, Blocker) else [*moves, last]
        return [] if trial.claims else moves

    def _could_cost_less(self, some: Sequence[CandidateNode], uids: Iterable[str]) -> bool:
        return self._bound.of(self._cluster.load(uids)) < self._terms.most(some) * (1 - _WORTH_PLANNING)

    def _excess(self, one: CandidateNode) -> float:
        """Return what a node costs beyond what nodes for its pods would cost at least, $/h."""
        return one.cost - self._bound.of(self._cluster.load(one.pods))

    def _stays(self, name: str, why: Blocker) -> None:
        if self._open.pop(name, None) is not None:
            self._why[name] = why

    def written(self) -> ConsolidationPlan:
        """Return the plan: of what was found, the moves that budgets allow now."""
        moves, held = self._found.within_budgets(self._terms, self._candidates)
        reasons = self._why | held
        gone = {name for move in moves for name in move.removed}
        cost = sum(one.cost for one in self._candidates.values())
        staying = tuple(
            StayingNode(name=name, why=reasons.get(name, NONE_CHEAPER), would_save=one.cost)
            for name, one in sorted(self._candidates.items())
            if name not in gone
        )
        return ConsolidationPlan(
            moves=tuple(moves),
            staying=staying,
            later=tuple(name for move in self._found.moves for name in move.removed if name not in gone),
            cost=cost,
            cost_after=cost - sum(move.saves for move in moves),
            cut_short=self._cut_short,
        )
