"""Look for the smallest changes with which packing places refused pods."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from treenail.domain.packing.advice.case import Case
from treenail.domain.packing.advice.nearest_existing_nodes import against
from treenail.domain.packing.advice.proposals import proposals
from treenail.domain.packing.advice.raised_limits import raised
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal

# More changes than these at once are no advice any more.
_MOST_CHANGES: Final = 3
# So many of the nodes that came nearest are looked at for what keeps pods off them.
_EXISTING_NODES_ASKED: Final = 3


class Tries:
    """The tries of packing that are left. Tries are counted, never timed: equal plans get equal advice."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    def spend(self, pools: int) -> bool:
        """Take what a try with so many pools costs; return whether it was left."""
        # A try with several pools packs as long as several tries: counted by pools, the time is bounded too.
        cost = max(1, pools)
        if self._left < cost:
            return False
        self._left -= cost
        return True

    def part(self, limit: int) -> Tries:
        """Return tries of which at most `limit` may be used, all of them taken from these."""
        return _Part(self, limit)


class _Part(Tries):
    def __init__(self, whole: Tries, limit: int) -> None:
        super().__init__(limit)
        self._whole = whole

    def spend(self, pools: int) -> bool:
        # Tries of this part count one by one, tries of the whole by their cost.
        return super().spend(1) and self._whole.spend(pools)


@dataclass(frozen=True, slots=True, order=True)
class _Attempt:
    """Steps to be tried together, ordered by their sum of sizes, then by when they were proposed.

    `offers` are those of the pool, if any, whose refusals led to the steps: they help there.
    """

    size: float
    number: int
    steps: tuple[Step, ...] = field(compare=False)
    offers: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Steps that place the pods: on one existing node, by name, or ("") on new nodes or on several."""

    steps: tuple[Step, ...]
    existing_node: str


class Search:
    """A search for the smallest set of changes that helps: if one does not, its refusals propose more.

    `together` says that pools are to be looked at together: to a spread, each has domains of its own.
    """

    def __init__(
        self, problem: Problem, pack: Callable[[Problem], PackingPlan], tries: Tries, *, together: bool
    ) -> None:
        self._problem = problem
        self._pack = pack
        self._tries = tries
        self._all = tuple(offer.pool.name for offer in problem.offers)
        self._together = together
        self._open: list[_Attempt] = []
        self._seen: set[tuple[frozenset[str], tuple[str, ...]]] = set()

    def best(self, refusals: Iterable[Refusal], steps: Iterable[Step] = ()) -> Found | None:
        """Return the smallest found, given what the pools say against the pods as they are; else None.

        `steps` are tried beside those that answer a refusal: nodes need no pool.
        """
        for step in steps:
            self._add((step,), self._all if self._together else ())
        # Of equal sizes the step found first is tried first: it changes what came nearest.
        furthest_first = sorted(refusals, key=lambda refusal: -refusal.progress)
        self._expand(self._problem, (), (*furthest_first, *self._of_existing_nodes(self._problem)))
        while self._open:
            # Best-first: sizes add up and are positive, so the first set of changes that helps is the
            # smallest there is.
            attempt = heapq.heappop(self._open)
            if not self._tries.spend(len(attempt.offers)):
                return None
            problem = self._with(attempt)
            plan = self._pack(problem)
            # Tried, not guessed: packing itself says that the pods are placed.
            if not plan.refused and not plan.deferred:
                return Found(attempt.steps, _only_existing_node(plan))
            if len(attempt.steps) < _MOST_CHANGES:
                # What it refuses now is the next thing to change, on top of what was changed.
                of_pools = (r for group in plan.refused for r in group.refusals)
                self._expand(problem, attempt.steps, (*of_pools, *self._of_existing_nodes(problem)))
        return None

    def _with(self, attempt: _Attempt) -> Problem:
        # Only the pools that proposed it: a change of the pod that helps at one pool need not be tried on the
        # others.
        offers = tuple(o for o in self._problem.offers if o.pool.name in attempt.offers)
        problem = replace(self._problem, offers=offers)
        for step in attempt.steps:
            problem = step.apply(problem)
        return problem

    def _expand(self, problem: Problem, steps: tuple[Step, ...], refusals: Iterable[Refusal]) -> None:
        for refusal in refusals:
            for step in self._against(Case(problem, refusal)):
                self._add((*steps, step), self._offers(problem, refusal))

    def _offers(self, problem: Problem, refusal: Refusal) -> tuple[str, ...]:
        """Return the pools on which what a refusal proposes may help."""
        if self._together:
            return self._all
        if refusal.node:
            return ()
        return (refusal.pool,) if refusal.pool else tuple(offer.pool.name for offer in problem.offers)

    def _add(self, steps: tuple[Step, ...], offers: tuple[str, ...]) -> None:
        keys = frozenset(step.key for step in steps)
        # Sets, not sequences: two changes in either order are one attempt.
        if len(keys) == len(steps) and (keys, offers) not in self._seen:
            self._seen.add((keys, offers))
            # Rounded, or the order of two sums of the same sizes would depend on their last bits.
            size = round(sum(step.size for step in steps), 6)
            heapq.heappush(self._open, _Attempt(size, len(self._seen), steps, offers))

    def _against(self, case: Case) -> Iterable[Step]:
        if case.refusal.reason is not Reason.LIMIT_REACHED:
            return proposals(case)
        # How far a limit must be raised takes a packing of its own, which is paid for like a try.
        if case.offer is None or not self._tries.spend(len(case.problem.offers)):
            return ()
        return raised(case.offer, case.problem, self._pack)

    def _of_existing_nodes(self, problem: Problem) -> Sequence[Refusal]:
        """Return the reasons of the existing nodes that came nearest, which are the first, against the pods.

        Topology terms are left to the pools: what keeps pods off a node keeps them off a new one as well.
        """
        pod = problem.pods[0]
        volumes = problem.volumes.get(pod.uid)
        nodes = [node for node in problem.existing_nodes if node.open][:_EXISTING_NODES_ASKED]
        found = (against(pod.spec, volumes, node) for node in nodes)
        return [refusal for refusal in found if refusal is not None]


def _only_existing_node(plan: PackingPlan) -> str:
    existing_nodes = set(plan.nominations.values())
    return existing_nodes.pop() if len(existing_nodes) == 1 and not plan.claims else ""
