"""The remainder of a problem once its plan is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from treenail.domain.model.pods import Pod
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import NOTHING, total
from treenail.domain.packing.arrays.attachable_volumes import with_attached
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, Packing, PoolOffer, Problem, VolumeNeeds
from treenail.domain.packing.residents import Residents


class Remainder:
    """The places that refused pods could still get, each part worked out when it is first asked for."""

    def __init__(self, problem: Problem, plan: PackingPlan) -> None:
        self._problem = problem
        self._plan = plan
        self._residents = Residents()

    @cached_property
    def pods(self) -> Mapping[str, Pod]:
        """All pods of the problem, by uid."""
        return {pod.uid: pod for pod in self._problem.pods}

    @cached_property
    def existing_nodes(self) -> tuple[ExistingNode, ...]:
        """The existing nodes with the pods nominated to them, and after them the nodes to buy, closed."""
        # As the scheduler will find them: what the plan gave away must be given to nobody again.
        given: dict[str, list[Pod]] = {}
        for uid, existing_node in self._plan.nominations.items():
            given.setdefault(existing_node, []).append(self.pods[uid])
        existing_nodes = [
            self._filled(existing_node, given[existing_node.name])
            if existing_node.name in given
            else existing_node
            for existing_node in self._problem.existing_nodes
        ]
        # Closed, for how much room a node will have depends on the type that is launched. Its pods count in
        # topology terms all the same.
        return (*existing_nodes, *self._to_buy())

    @cached_property
    def offers(self) -> Mapping[str, PoolOffer]:
        """The pools by name, with what is left of their limits, in the order they are tried."""
        # By name: of a pool that comes several times, with reserved capacity, the last offer stands, which
        # has everything else.
        offers = {offer.pool.name: offer for offer in self._problem.offers}
        for claim in self._plan.claims:
            offer = offers[claim.pool]
            # Counted as a claim counts until it is launched: with the largest type it lists.
            if offer.limits_left is not None:
                counted = claim.largest.plus({NODES: 1})
                offers[claim.pool] = replace(offer, limits_left=offer.limits_left.minus(counted))
        return offers

    def volumes(self, pod: Pod) -> VolumeNeeds | None:
        """Return the needs of a pod's volumes of its node."""
        return self._problem.volumes.get(pod.uid)

    def problem(
        self, pods: tuple[Pod, ...], pools: Iterable[str], existing_nodes: tuple[ExistingNode, ...]
    ) -> Problem:
        """Return the problem of placing `pods` onto what is left of `existing_nodes` and the pools named."""
        wanted = frozenset(pools)
        return replace(
            self._problem,
            pods=pods,
            existing_nodes=existing_nodes,
            offers=tuple(offer for name, offer in self.offers.items() if name in wanted),
            volumes={
                pod.uid: self._problem.volumes[pod.uid] for pod in pods if pod.uid in self._problem.volumes
            },
            # Whether there is a place is the same for every way of packing, and this is the quickest.
            settings=replace(self._problem.settings, packing=Packing.FIRST_FIT_DESCENDING, steps=None),
        )

    def _filled(self, existing_node: ExistingNode, pods: list[Pod]) -> ExistingNode:
        # Residents are interned again here: advice merges nodes by them, and compares them by identity.
        free = existing_node.free.minus(total(pod.spec.requests for pod in pods))
        needs = (needs for pod in pods if (needs := self.volumes(pod)) is not None)
        there = (*existing_node.residents, *self._residents.count(pods))
        return with_attached(replace(existing_node, free=free, residents=there), needs)

    def _to_buy(self) -> Iterable[ExistingNode]:
        """Return the nodes to buy as far as they matter to others: by who will be there."""
        for index, claim in enumerate(self._plan.claims):
            # Only labels that are certain. A zone that the launch still chooses is none, as in placement.
            labels = {key: r.single for key, r in claim.requirements.items() if r.single is not None}
            pods = [self.pods[uid] for uid in claim.pods]
            yield ExistingNode(
                name=f"to buy {index}",
                labels=labels,
                taints=self.offers[claim.pool].pool.taints,
                free=NOTHING,
                pool=claim.pool,
                residents=self._residents.count(pods),
                open=False,
            )
