"""The consolidation problem: a cluster, the nodes of it that may go, and what moving their pods costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from treenail.domain.model.consolidated_claims import Shape
from treenail.domain.model.eviction_cost import disruption_cost
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.packing.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateNode:
    """An existing node that may go, by `name`, and what is lost and saved by that.

    `pods` are the uids of those that must move with it, `eviction_costs` what each of them costs to evict
    (from -10 to 10, 1 for an ordinary pod). `price` ($/h) is what its own offering costs now, None where that
    is not known; `surcharge` ($/h) what it costs beside: volumes and overhead. `remaining` is how long it
    will live at most, None for no limit, or for longer than counts. `least_saving` ($/h) is what a
    replacement must save beyond any saving, because the node is itself a recent replacement, and `replaced`
    what it came in place of, which it is not replaced by. One that is `patient` rather waits until other
    nodes may receive its pods than has nodes bought for them. One that `goes_later` is known from an earlier
    plan to go, and is tried first: pods are on the nodes that were to stay by now.
    """

    name: str
    pool: str
    pods: tuple[str, ...]
    eviction_costs: Mapping[str, float] = field(default_factory=dict)
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    price: float | None = None
    surcharge: float = 0.0
    remaining: timedelta | None = None
    least_saving: float = 0.0
    replaced: tuple[Shape, ...] = ()
    patient: bool = False
    goes_later: bool = False
    # The cost of draining the node. Every comparison asks for it, so it is added up once.
    disruption: float = field(init=False, repr=False, compare=False)

    @property
    def cost(self) -> float:
        """The cost of the node in all, $/h; an unknown price counts as nothing."""
        return (self.price or 0.0) + self.surcharge

    def __post_init__(self) -> None:
        evictions = [self.eviction_costs.get(uid, 1.0) for uid in self.pods]
        object.__setattr__(self, "disruption", disruption_cost(evictions))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTerms:
    """Terms on which the nodes of one pool are consolidated.

    `payback` is the time within which a move must have earned what it costs, None where any saving is enough.
    `cost` ($/h) and `disruption` are sums over all nodes of the pool, for the scores of the policy Balanced.
    `allowed` is how many of its nodes budgets let go now, None for no limit. `return_premium` is the share by
    which nodes of a pool of higher `weight` may cost more than the nodes of this pool that they replace, None
    where price alone counts.
    """

    policy: ConsolidationPolicy = ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    payback: timedelta | None = None
    cost: float = 0.0
    disruption: float = 0.0
    allowed: int | None = None
    weight: int = 0
    return_premium: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationProblem:
    """A cluster to consolidate.

    The `pods` of `problem` are those of all candidates and, first of all, those that wait for a place. Its
    existing nodes are all there are: the candidates among them are open, and as if the pods to be moved were
    not there. `not_receiving` are nodes onto which no running pod may be moved now. `spot_to_spot` says
    whether a spot node may be replaced with a cheaper spot node. With `whole`, budgets do not bound the plan.
    """

    problem: Problem
    candidates: tuple[CandidateNode, ...]
    terms: Mapping[str, PoolTerms] = field(default_factory=dict)
    not_receiving: frozenset[str] = frozenset()
    spot_to_spot: bool = False
    whole: bool = False
