"""Emptiest first: the pods of a move that lack a place where the scheduler places them, not the plan.

A plan says which pod goes to which node, and the scheduler knows nothing of it: by default it prefers the
node with the largest share free (LeastAllocated). Where places are just enough, pods that fit in several
nodes take those that others need, and a node is bought for a pod that is left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.arrays.arrays import Floats, Indices, holds
from treenail.domain.packing.consolidation.bought import Bought
from treenail.domain.packing.consolidation.candidate_pods import CandidatePods
from treenail.domain.packing.consolidation.trial import Trial
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.offers.node_options import NodeOptions
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import Relaxation
from treenail.domain.packing.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class PodsToPlace:
    """Pods of one class (by its `index`) that leave their nodes: each requests `requests` (R).

    `planned` is how many are planned to go to each node, by row. `may_go` (M) are the rows that the scheduler
    may choose from, each once; None where rules that must hold bind the pods to others, and they count where
    they are planned. Those with the largest `size`, a share of the nodes that go, are evicted first.
    """

    index: int
    requests: Floats
    planned: Mapping[int, int]
    may_go: Indices | None
    size: float


def crowded_out(free: Floats, whole: Floats, pods: Sequence[PodsToPlace]) -> dict[int, int]:
    """Return how many pods of each class find no place, evicted and placed one by one.

    `free` (N, R) is what is free on nodes, `whole` (N, R) what they have.
    """
    left: dict[int, int] = {}
    free = free.copy()
    for some in pods:
        if some.may_go is None:
            for row, count in some.planned.items():
                free[row] -= count * some.requests
    for some in sorted(pods, key=lambda one: -one.size):
        count = 0 if some.may_go is None else _place(free, whole, some, some.may_go)
        if count:
            left[some.index] = count
    return left


def _place(free: Floats, whole: Floats, some: PodsToPlace, rows: Indices) -> int:
    """Place alike pods, each on the one of `rows` with most free, in `free`; return how many are left."""
    room, requests = free[rows], some.requests
    # What they do not ask for may be overdrawn.
    asked = requests > 0
    # CPU and memory, which are the first two, count the same.
    have = np.maximum(whole[rows, :2], 1.0)
    shares = ((room[:, :2] - requests[:2]) / have).sum(axis=1)
    shares[~holds(room[:, asked], requests[asked])] = -math.inf
    count = sum(some.planned.values())
    while count and len(rows) and shares[at := int(shares.argmax())] > -math.inf:
        room[at] -= requests
        able = bool((room[at, asked] >= requests[asked]).all())
        shares[at] = ((room[at, :2] - requests[:2]) / have[at]).sum() if able else -math.inf
        count -= 1
    free[rows] = room
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewNodes:
    """Alike nodes to be bought, by `rows` (M): of one instance type, with the same `requirements`.

    `types` are the templates that they may come from, each with the row of the instance type in it.
    """

    rows: Indices
    types: tuple[tuple[int, int], ...]
    requirements: Requirements

    def suit(self, demand: Demand, options: NodeOptions) -> bool:
        """Return whether pods of this demand can run on them."""
        for template, row in self.types:
            option = options.of(template, demand)
            if (
                option is not None
                and row in option.rows
                and self.requirements.intersects(option.requirements)
            ):
                return True
        return False


def _bound(one: PodClass) -> bool:
    """Return whether spread, affinity or anti-affinity that must hold binds pods to others.

    What they only prefer of other pods binds nobody: the scheduler weighs it against how empty a node is.
    """
    required = any(level.terms for level in one.relaxation.required)
    return required or any(group.opposed for group in one.counted)


class EmptiestFirst:
    """The scheduler that prefers the emptiest node, in a cluster under one search."""

    def __init__(self, problem: Problem, context: PackingContext, pods: CandidatePods) -> None:
        self._problem = problem
        self._context = context
        self._nodes = context.existing_nodes
        self._axis = context.parsed.axis
        self._classes = {one.index: one for one in context.parsed.classes}
        self._pods = pods
        self._rows = {name: row for row, name in enumerate(self._nodes.names)}
        # By pool and instance type (R), as they are asked for.
        self._rooms: dict[tuple[str, str], Floats] = {}

    def node_more(self, trial: Trial, free: Floats, bought: Bought) -> float:
        """Return what nodes cost, $/h, for those pods of a trial that may get no place; 0 for none.

        `free` (N, R) is what is free on existing nodes before the trial, `bought` what other moves buy. Nodes
        to be bought are of their cheapest type.
        """
        free = free.copy()
        free[[self._rows[name] for name in trial.removed]] = -1.0
        rooms = [self._room(claim.pool, claim.instance_types[0]) for claim in trial.claims]
        new = [room - self._daemons(claim) for room, claim in zip(rooms, trial.claims, strict=True)]
        pods = tuple(self._to_place(trial))
        left = crowded_out(np.vstack([free, *new]), np.vstack([self._whole, *rooms]), pods)
        return self._cost(left, bought.and_claims(trial.claims)) if left else 0.0

    def _cost(self, left: Mapping[int, int], bought: Bought) -> float:
        """Return what packing buys for so many pods of each class, $/h, beside what is `bought`.

        That is infinite where it refuses any of them.
        """
        # As a problem of its own: what one class leaves of limits, or of a node, is for the others.
        pods = tuple(pod for index, count in left.items() for pod in self._classes[index].pods[:count])
        offers = tuple(bought.leaves(self._problem.offers))
        plan = pack(replace(self._problem, pods=pods, existing_nodes=(), offers=offers))
        return math.inf if plan.refused or plan.deferred else plan.whole_cost

    def _to_place(self, trial: Trial) -> Iterator[PodsToPlace]:
        places = {uid: self._rows[name] for uid, name in trial.nominations.items()}
        places |= {uid: at for at, claim in enumerate(trial.claims, len(self._rows)) for uid in claim.pods}
        on_all = self._pods.on_all(trial.removed).items()
        planned = {index: Counter(places[uid] for uid in uids) for index, uids in on_all}
        new = tuple(self._new_nodes(trial.claims))
        suited: dict[Relaxation, Indices] = {}
        removed = np.maximum(self._whole[[self._rows[name] for name in trial.removed]].sum(axis=0), 1.0)
        for index, rows in planned.items():
            one = self._classes[index]
            may_go = None
            if not _bound(one):
                if one.relaxation not in suited:
                    suited[one.relaxation] = self._suited(one.relaxation, new)
                may_go = np.union1d(suited[one.relaxation], np.array(sorted(rows), dtype=np.intp))
            size = float((one.requests / removed).max())
            yield PodsToPlace(index, one.requests, rows, may_go, size)

    def _new_nodes(self, claims: Sequence[PlannedClaim]) -> Iterator[_NewNodes]:
        """Yield the nodes that claims become, those together that suit the same pods."""
        alike: dict[tuple[str, str, str, Requirements], list[int]] = {}
        for row, claim in enumerate(claims, len(self._rows)):
            key = claim.pool, claim.reservation, claim.instance_types[0], claim.requirements
            alike.setdefault(key, []).append(row)
        for (pool, reservation, kind, requirements), rows in alike.items():
            offers = enumerate(self._context.problem.offers)
            some = [number for number, of in offers if (of.pool.name, of.reservation) == (pool, reservation)]
            types = tuple(
                (number, at) for number in some if (at := self._row_of_type(number, kind)) is not None
            )
            yield _NewNodes(rows=np.array(rows, dtype=np.intp), types=types, requirements=requirements)

    def _row_of_type(self, template: int, instance_type: str) -> int | None:
        table = self._context.options.templates.table(template)
        rows = table.kept("rows", lambda: {one.name: row for row, one in enumerate(table.types)})
        return rows.get(instance_type)

    def _suited(self, relaxation: Relaxation, new: Sequence[_NewNodes]) -> Indices:
        """Return the rows of the nodes, existing and new, that pods can run on whatever they prefer."""
        demands = [level.demand for level in relaxation.levels]
        rows = [self._nodes.open_to(demand) for demand in demands]
        rows += [some.rows for some in new if any(some.suit(one, self._context.options) for one in demands)]
        return np.unique(np.concatenate(rows))

    def _daemons(self, claim: PlannedClaim) -> Floats:
        """Return what daemons request on a node to be bought (R)."""
        pods = self._pods.by_class(claim.pods)
        loads = (self._classes[index].requests * len(uids) for index, uids in pods.items())
        rest: Floats = self._axis.requests(claim.requests) - sum(loads)
        return np.maximum(rest, 0.0)

    @cached_property
    def _allocatable_in(self) -> dict[tuple[str, str], Resources]:
        """Allocatable by pool and type: pools set nodes up differently, and overlays add to types."""
        offers = self._context.problem.offers
        return {(of.pool.name, one.name): one.allocatable for of in offers for one in of.instance_types}

    @cached_property
    def _whole(self) -> Floats:
        """Allocatable of existing nodes (N, R): as their pool offers their type, else as another pool does.

        Where no pool does, it is what was free at first.
        """
        rooms, of_types = [], {kind: room for (_, kind), room in self._allocatable_in.items()}
        for row in range(len(self._rows)):
            node = self._nodes.described(row)
            kind = node.labels.get(labels.INSTANCE_TYPE, "")
            of_any = of_types.get(kind, node.free)
            rooms.append(self._allocatable_in.get((node.pool, kind), of_any))
        return self._axis.rooms(tuple(rooms))

    def _room(self, pool: str, kind: str) -> Floats:
        """Return what nodes of an instance type that a pool offers have for pods (R)."""
        if (pool, kind) not in self._rooms:
            self._rooms[pool, kind] = self._axis.rooms((self._allocatable_in[pool, kind],))[0]
        return self._rooms[pool, kind]
