"""A case: one reason against alike pods, with the pool or node it is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.taints import Taint
from treenail.domain.packing.problem import ExistingNode, PoolOffer, Problem
from treenail.domain.packing.refusal_reasons import Refusal, Values


@dataclass(frozen=True)
class Case:
    """A refusal of the pods of `problem`, which are all alike."""

    problem: Problem
    refusal: Refusal

    @property
    def values(self) -> Values:
        """The values that the sentence of the refusal names, by name."""
        return self.refusal.values

    @property
    def spec(self) -> PodSpec:
        """The spec of each of the pods."""
        return self.problem.pods[0].spec

    @cached_property
    def offer(self) -> PoolOffer | None:
        """The offer of the pool that refuses; None where a node does."""
        # The first of its offers: what reasons are about, taints and requirements, all of them share.
        name = self.refusal.pool
        return next((o for o in self.problem.offers if name and o.pool.name == name), None)

    @property
    def pool(self) -> NodePool | None:
        """The pool that refuses; None where a node does."""
        return self.offer.pool if self.offer is not None else None

    @cached_property
    def existing_node(self) -> ExistingNode | None:
        """The node that refuses; None where a pool does."""
        name = self.refusal.node
        return next((node for node in self.problem.existing_nodes if name and node.name == name), None)

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of whichever refuses."""
        bearer = self.pool or self.existing_node
        return bearer.taints if bearer is not None else ()
