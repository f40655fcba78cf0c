"""Emptiest first: the pods of a move that lack a place where the scheduler places them, not the plan.

A plan says which pod goes to which node, and the scheduler knows nothing of it: by default it prefers the
node with the largest share free (LeastAllocated). Where places are just enough, pods that fit in several
nodes take those that others need, and a node is bought for a pod that is left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.arrays.arrays import Floats, Indices, holds
from treenail.domain.packing.consolidation.candidate_pods import CandidatePods
from treenail.domain.packing.consolidation.trial import Trial
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.pods.relaxation import Relaxation
from treenail.domain.packing.problem import Problem

_OF_WAYS: Final = (labels.CAPACITY_TYPE, *labels.OF_RESERVATIONS)
_UNRESERVED: Final = Requirements(
    (
        Requirement.of(labels.CAPACITY_TYPE, Operator.NOT_IN, (labels.RESERVED,)),
        *(Requirement.of(key, Operator.DOES_NOT_EXIST, ()) for key in labels.OF_RESERVATIONS),
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class PodsToPlace:
    """Alike pods that leave their nodes: each requests `requests` (R).

    `planned` is how many are planned to go to each node, by row. `may_go` (M) are the rows that the scheduler
    may choose from, each once; None where rules bind the pods to others, and they count where they are
    planned. Those with the largest `size`, a share of the nodes that go, are evicted first.
    """

    requests: Floats
    planned: Mapping[int, int]
    may_go: Indices | None
    size: float


def crowded_out(free: Floats, whole: Floats, pods: Sequence[PodsToPlace]) -> Floats:
    """Return what those pods request together (R) that find no place, evicted and placed one by one.

    `free` (N, R) is what is free on nodes, `whole` (N, R) what they have.
    """
    left: Floats = np.zeros(free.shape[1])
    free = free.copy()
    for some in pods:
        if some.may_go is None:
            for row, count in some.planned.items():
                free[row] -= count * some.requests
    for some in sorted(pods, key=lambda one: -one.size):
        if some.may_go is not None:
            left += _place(free, whole, some, some.may_go) * some.requests
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


class EmptiestFirst:
    """The scheduler that prefers the emptiest node, in a cluster under one search."""

    def __init__(self, problem: Problem, context: PackingContext, pods: CandidatePods) -> None:
        self._problem = problem
        self._nodes = context.existing_nodes
        self._axis = context.parsed.axis
        self._classes = {one.index: one for one in context.parsed.classes}
        self._pods = pods
        self._rows = {name: row for row, name in enumerate(self._nodes.names)}
        # By pool and instance type (R), as they are asked for.
        self._rooms: dict[tuple[str, str], Floats] = {}

    def node_more(self, trial: Trial, free: Floats) -> float:
        """Return what a node costs, $/h, for those pods of a trial that may get no place; 0 for none.

        `free` (N, R) is what is free on existing nodes before the trial. Nodes to be bought are of their
        cheapest type.
        """
        free = free.copy()
        free[[self._rows[name] for name in trial.removed]] = -1.0
        bought = [self._room(claim.pool, claim.instance_types[0]) for claim in trial.claims]
        new = [room - self._daemons(claim) for room, claim in zip(bought, trial.claims, strict=True)]
        pods = tuple(self._to_place(trial))
        left = crowded_out(np.vstack([free, *new]), np.vstack([self._whole, *bought]), pods)
        return self._cheapest(trial.claims, left) if left.any() else 0.0

    def _to_place(self, trial: Trial) -> Iterator[PodsToPlace]:
        places = {uid: self._rows[name] for uid, name in trial.nominations.items()}
        places |= {uid: at for at, claim in enumerate(trial.claims, len(self._rows)) for uid in claim.pods}
        on_all = self._pods.on_all(trial.removed).items()
        planned = {index: Counter(places[uid] for uid in uids) for index, uids in on_all}
        # Whoever asks for the same as pods that a node is bought for may go there as well.
        new: dict[Relaxation, set[int]] = {}
        for index, rows in planned.items():
            new.setdefault(self._classes[index].relaxation, set()).update(
                row for row in rows if row >= len(self._rows)
            )
        removed = np.maximum(self._whole[[self._rows[name] for name in trial.removed]].sum(axis=0), 1.0)
        for index, rows in planned.items():
            one = self._classes[index]
            levels = one.relaxation.levels
            open_to = [self._nodes.open_to(level.demand) for level in levels]
            may_go = np.unique(
                np.concatenate([*open_to, np.array(sorted(new[one.relaxation]), dtype=np.intp)])
            )
            bound = bool(one.counted) or any(level.terms for level in levels)
            size = float((one.requests / removed).max())
            yield PodsToPlace(one.requests, rows, None if bound else may_go, size)

    def _cheapest(self, claims: Sequence[PlannedClaim], load: Floats) -> float:
        """Return what the cheapest node like one of `claims` costs that holds `load`; infinite for none.

        It is bought beside them: within the limits of its pool, and in no reservation, which may be used up.
        Where a claim is in one, what its pool and its pods allow beside reservations counts.
        """
        settings = self._problem.settings
        bought: dict[str, Resources] = {}
        for claim in claims:
            bought[claim.pool] = bought.get(claim.pool, NOTHING).plus(claim.largest)
        return min(
            (
                sold.price + offer.surcharge(settings)
                for claim in claims
                for daemons in (self._daemons(claim),)
                for offer in self._problem.offers
                if offer.pool.name == claim.pool and not offer.reservation
                if (asked := self._unreserved(claim, offer.pool)) is not None
                for one in offer.instance_types
                if _within(offer.limits_left, bought[claim.pool].plus(one.capacity))
                if holds(self._room(claim.pool, one.name) - daemons, load)
                if asked.intersects(one.requirements)
                if (sold := one.cheapest(asked)) is not None
            ),
            default=math.inf,
        )

    def _unreserved(self, claim: PlannedClaim, pool: NodePool) -> Requirements | None:
        """Return the requirements of a node of `pool` like `claim`, but in no reservation.

        None where the pool, or a pod of the claim, asks for reserved capacity.
        """
        if labels.RESERVATION_ID not in claim.requirements:
            return claim.requirements
        asked = claim.requirements.without(_OF_WAYS).with_(_UNRESERVED)
        classes = (self._classes[index] for index in self._pods.by_class(claim.pods))
        alternatives = [[level.requirements for level in one.relaxation.required] for one in classes]
        for ways in ([pool.requirements], *alternatives):
            fitting = next((way for way in ways if way.intersects(asked)), None)
            if fitting is None:
                return None
            asked = asked.with_(own for own in fitting.on(_OF_WAYS) if own is not None)
        return asked

    def _daemons(self, claim: PlannedClaim) -> Floats:
        """Return what daemons request on a node to be bought (R)."""
        pods = self._pods.by_class(claim.pods)
        loads = (self._classes[index].requests * len(uids) for index, uids in pods.items())
        rest: Floats = self._axis.requests(claim.requests) - sum(loads)
        return np.maximum(rest, 0.0)

    @cached_property
    def _allocatable_in(self) -> dict[tuple[str, str], Resources]:
        """Allocatable by pool and type: pools set nodes up differently, and overlays add to types."""
        offers = self._problem.offers
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


def _within(limits: Resources | None, bought: Resources) -> bool:
    return limits is None or all(bought.get(name, 0) <= most for name, most in limits.items())
