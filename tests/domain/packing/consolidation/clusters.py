"""Clusters to consolidate, in a few words: nodes with pods on them, and what is left of them after a move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tests.domain.packing.problems import catalogue, offer
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import total
from treenail.domain.model.taints import Taint
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import (
    CandidateNode,
    ConsolidationProblem,
    PoolTerms,
)
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, PoolOffer, Problem
from treenail.domain.packing.residents import Residents

OVERHEAD = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A node of an instance type in a zone, bought in one way, and the pods on it."""

    name: str
    type: InstanceType
    zone: str = "zone-a"
    way: str = labels.ON_DEMAND
    pods: tuple[Pod, ...] = ()
    pool: str = "default"
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @property
    def price(self) -> float:
        sold = (o for o in self.type.offerings if (o.zone, o.capacity_type) == (self.zone, self.way))
        return next(o.price for o in sold)

    def existing_node(self, staying: Iterable[Pod]) -> ExistingNode:
        """The node as packing sees it, with only the pods that stay on it."""
        pods = tuple(staying)
        known = {
            **{key: value for key in self.type.requirements if (value := self.type.label(key))},
            labels.ZONE: self.zone,
            labels.CAPACITY_TYPE: self.way,
            labels.HOSTNAME: self.name,
            **self.node_labels,
        }
        return ExistingNode(
            name=self.name,
            labels=known,
            taints=self.taints,
            free=self.type.allocatable.minus(total(pod.spec.requests for pod in pods)),
            pool=self.pool,
            residents=Residents().count(pods),
        )

    def candidate(self) -> CandidateNode:
        return CandidateNode(
            name=self.name,
            pool=self.pool,
            pods=tuple(pod.uid for pod in self.pods),
            instance_type=self.type.name,
            zone=self.zone,
            capacity_type=self.way,
            price=self.price,
            surcharge=OVERHEAD,
        )


def of_type(name: str) -> InstanceType:
    return next(one for one in catalogue() if one.name == name)


def node(name: str, type_name: str = "m5.2xlarge", *pods: Pod, **more: object) -> Standing:
    return Standing(name=name, type=of_type(type_name), pods=pods, **more)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes of which all but those named in `staying` may go, and the pools that can buy others."""

    nodes: tuple[Standing, ...]
    offers: tuple[PoolOffer, ...] = field(default_factory=lambda: (offer(),))
    waiting: tuple[Pod, ...] = ()
    staying: frozenset[str] = frozenset()

    def problem(self, *, terms: PoolTerms | None = None, **more: object) -> ConsolidationProblem:
        going = [one for one in self.nodes if one.name not in self.staying and one.pods]
        names = {one.name for one in going}
        of_pools = {one.pool: terms or PoolTerms() for one in self.nodes}
        return ConsolidationProblem(
            problem=Problem(
                pods=(*self.waiting, *(pod for one in going for pod in one.pods)),
                existing_nodes=tuple(
                    one.existing_node(() if one.name in names else one.pods) for one in self.nodes
                ),
                offers=self.offers,
            ),
            candidates=tuple(one.candidate() for one in going),
            terms=of_pools,
            **more,  # type: ignore[arg-type]
        )

    @property
    def cost(self) -> float:
        """What the nodes cost, with overhead, $/h."""
        return sum(one.price + OVERHEAD for one in self.nodes)

    def packing_of(self, move: Move) -> tuple[Problem, PackingPlan]:
        """The move as a packing problem at this moment, and its plan: for an independent judge."""
        moved = [pod for one in self.nodes if one.name in move.removed for pod in one.pods]
        there = [one for one in self.nodes if one.name not in move.removed]
        problem = Problem(
            pods=tuple(moved),
            existing_nodes=tuple(one.existing_node(one.pods) for one in there),
            offers=self.offers,
        )
        return problem, PackingPlan(
            claims=move.claims,
            nominations=move.nominations,
            cost=sum(claim.price for claim in move.claims),
            whole_cost=sum(claim.price + claim.surcharge for claim in move.claims),
        )

    def after(self, move: Move) -> Cluster:
        """The cluster once the move is made; nodes that are bought take no pods of later moves."""
        pods = {pod.uid: pod for one in self.nodes for pod in one.pods}
        coming: dict[str, list[Pod]] = {}
        for uid, name in sorted(move.nominations.items()):
            coming.setdefault(name, []).append(pods[uid])
        stay = [one for one in self.nodes if one.name not in move.removed]
        return replace(
            self,
            nodes=tuple(replace(one, pods=(*one.pods, *coming.get(one.name, ()))) for one in stay),
        )
