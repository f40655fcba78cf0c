"""Treenail's plan for a cluster, whose manifests are read as the objects of a live one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.rules import allowed
from tests.fuzz.consolidation.steps import Step
from tests.fuzz.scenarios import text
from treenail.adapters.api.manifests import Decoded, decode_all, parse_manifests
from treenail.adapters.embed.implied import namespaces_of, volume_claims_of
from treenail.adapters.kwok.generic_types import generic_types
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.disruption.consolidation_candidates import consolidation_candidates
from treenail.domain.disruption.consolidation_terms import pool_terms
from treenail.domain.disruption.consolidation_windows import not_receiving
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model.blockers import Block
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import holds
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.scheduling.reserved_offers import Stock

_NOW: Final = datetime(2026, 1, 2, tzinfo=UTC)
# What is said of a node that goes as an empty one.
_PRICES_ALONE: Final = PackingSettings(node_overhead_cost=0.0)


def planned(cluster: Cluster, *, whole: bool = False) -> tuple[ConsolidationPlan, tuple[Step, ...]]:
    """Return a plan for a cluster, and its moves as steps.

    Empty nodes are given back first, as the Disruptor does, by a move for each. With `whole`, the plan is for
    all others, whatever budgets say.
    """
    read = _Read(cluster)
    empty = () if whole else tuple(read.empty())
    plan = ConsolidationPlan(moves=empty) if empty else repack(read.problem(whole=whole))
    return plan, tuple(read.step(move) for move in plan.moves)


@cache
def _stock() -> Stock:
    return Stock.of(generic_types())


@cache
def _by_name() -> Mapping[str, InstanceType]:
    return {one.name: one for one in generic_types()}


class _Read:
    """The manifests of a cluster as the domain reads them. Nodes and their claims have one name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._decoded = decode_all(
            parse_manifests(text(cluster.items).encode(), "cluster"), node_classes_optional=True
        )
        model = _model(self._decoded, self._decoded.pods)
        prices = NodePrices({one.name: _by_name() for one in self._decoded.node_pools}, overhead_cost=0.0)
        found = consolidation_candidates(model, _NOW, prices=prices)
        ready = {one.name for one in self._decoded.node_claims if holds(one.conditions, "Consolidatable")}
        self._candidates = {one.name: one for one in found.candidates if one.name in ready}
        self._empty = [one for one in found.staying if one.name in ready and one.why.block is Block.EMPTY]
        self._not_receiving = frozenset(not_receiving(model, _NOW))
        self._pool_of = {one.name: one.pool for one in self._decoded.node_claims}
        self._terms = pool_terms(model, _NOW, prices=prices)

    def empty(self) -> Iterator[Move]:
        """Yield moves that give back empty nodes, as far as budgets allow."""
        left = allowed(self._cluster)
        for one in self._empty:
            left[self._pool_of[one.name]] -= 1
            if left[self._pool_of[one.name]] >= 0:
                yield Move(removed=(one.name,), saves=one.would_save)

    # --- the problem

    def problem(self, *, whole: bool) -> ConsolidationProblem:
        snapshot, let_go = self._snapshot(), allowed(self._cluster)
        moving = {uid for one in self._candidates.values() for uid in one.pods}
        pods = sorted(snapshot.pods, key=lambda pod: pod.uid in moving)
        return ConsolidationProblem(
            problem=Problem(
                pods=tuple(pods),
                existing_nodes=snapshot.existing_nodes,
                offers=tuple(
                    offer
                    for pool in snapshot.pools
                    for offer in _stock().offers(
                        pool, snapshot.limits_left.get(pool.name), taken=snapshot.in_reservations
                    )
                ),
                daemons=tuple(one.spec for one in snapshot.daemons),
                volumes=snapshot.volumes,
                namespaces=snapshot.namespaces,
                settings=_PRICES_ALONE,
            ),
            candidates=tuple(self._candidates.values()),
            terms={name: replace(terms, allowed=let_go[name]) for name, terms in self._terms.items()},
            not_receiving=self._not_receiving,
            spot_to_spot=self._cluster.spot_to_spot,
            whole=whole,
        )

    def _snapshot(self) -> Snapshot:
        """Return the cluster as if the pods of candidates waited for a place."""
        moving = {uid for one in self._candidates.values() for uid in one.pods}
        pods = self._decoded.pods
        as_if = [_waiting(pod) if pod.uid in moving or not pod.node_name else pod for pod in pods]
        return _model(self._decoded, as_if).snapshot(_NOW)

    # --- the plan

    def step(self, move: Move) -> Step:
        """Return a move as a step, pods by namespace/name."""
        names = {pod.uid: pod.key for pod in self._decoded.pods}
        existing: defaultdict[str, list[str]] = defaultdict(list)
        for uid, node in move.nominations.items():
            existing[node].append(names[uid])
        return Step(
            removed=move.removed,
            existing={node: tuple(sorted(pods)) for node, pods in sorted(existing.items())},
            claims=tuple(_written(claim, names) for claim in move.claims),
        )


def _model(decoded: Decoded, pods: Sequence[Pod]) -> ClusterModel:
    things: list[ClusterObject] = [
        *(NodeClass(ref=ref) for ref in sorted({pool.node_class for pool in decoded.node_pools})),
        *decoded.node_pools,
        *decoded.daemon_sets,
        *namespaces_of(decoded),
        *decoded.storage_classes,
        *decoded.volumes,
        *volume_claims_of(decoded),
        *decoded.csi_nodes,
        *decoded.disruption_budgets,
        *decoded.node_claims,
        *decoded.nodes,
        *pods,
    ]
    model = ClusterModel(promise_lasts=timedelta(seconds=20))
    objects = tuple(replace(thing, resource_version=1) for thing in things)
    model.learn(Resynced(revision=1, objects=objects), _NOW)
    return model


def _waiting(pod: Pod) -> Pod:
    return replace(pod, node_name="", phase=Phase.PENDING, unschedulable_since=_NOW)


def _written(claim: PlannedClaim, names: Mapping[str, str]) -> dict[str, object]:
    return {
        "nodePool": claim.pool,
        "pods": sorted(names[uid] for uid in claim.pods),
        "instanceTypes": list(claim.instance_types),
        "requirements": [
            {"key": one.key, "operator": operator.value, "values": list(values)}
            for one in claim.requirements.in_order()
            for operator, values in one.written()
        ],
        "price": claim.price,
    }
