"""Treenail's plan for a cluster, whose manifests are read as the objects of a live one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from tests.fuzz.consolidation.blockers import eviction_cost
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.rules import allowed
from tests.fuzz.consolidation.scores import PoolTotals
from tests.fuzz.consolidation.steps import Step, pod_key
from tests.fuzz.scenarios import text
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.embed.implied import namespaces_of, volume_claims_of
from treenail.adapters.kwok.generic_types import generic_types
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.disruption.consolidation_terms import terms_of
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim, holds
from treenail.domain.model.pod_budgets import PodBudgets
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move
from treenail.domain.packing.consolidation.consolidation_problem import (
    CandidateNode,
    ConsolidationProblem,
    PoolTerms,
)
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.scheduling.reserved_offers import Stock

_NOW: Final = datetime(2026, 1, 2, tzinfo=UTC)
_PRICES_ALONE: Final = PackingSettings(node_overhead_cost=0.0)


def planned(cluster: Cluster, *, whole: bool = False) -> tuple[ConsolidationPlan, tuple[Step, ...]]:
    """Return a plan for a cluster, and its moves as steps; with `whole`, whatever budgets say."""
    read = _Read(cluster)
    plan = repack(read.problem(whole=whole))
    return plan, tuple(read.step(move) for move in plan.moves)


@cache
def _stock() -> Stock:
    return Stock.of(generic_types())


@cache
def _price(name: str, zone: str, capacity_type: str) -> float | None:
    found = (one for one in generic_types() if one.name == name)
    offerings = (o for one in found for o in one.offerings)
    return next((o.price for o in offerings if (o.zone, o.capacity_type) == (zone, capacity_type)), None)


class _Read:
    """The manifests of a cluster as the domain reads them. Nodes and their claims have one name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._decoded = decode_all(
            parse_manifests(text(cluster.items).encode(), "cluster"), node_classes_optional=True
        )
        self._budgets = PodBudgets()
        for budget in self._decoded.disruption_budgets:
            self._budgets.put(budget)
        self._pools = {one.name: one for one in self._decoded.node_pools}
        self._claims = {one.name: one for one in self._decoded.node_claims}
        self._eviction_costs = {
            pod_key(one): eviction_cost(one) for one in cluster.items if one["kind"] == "Pod"
        }
        self._on: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self._decoded.pods:
            self._on[pod.node_name].append(pod)
        nodes = sorted(self._decoded.nodes, key=lambda node: node.name)
        self._candidates = {one.name: self._candidate(one) for one in nodes if self._may_go(one)}

    # --- the problem

    def problem(self, *, whole: bool) -> ConsolidationProblem:
        snapshot = self._snapshot()
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
            terms=self._terms(),
            not_receiving=frozenset(one.name for one in self._claims.values() if not one.initialized),
            spot_to_spot=self._cluster.spot_to_spot,
            whole=whole,
        )

    def _snapshot(self) -> Snapshot:
        """Return the cluster as if the pods of candidates waited for a place."""
        moving = {uid for one in self._candidates.values() for uid in one.pods}
        decoded = self._decoded
        pods = (_waiting(pod) if pod.uid in moving or not pod.node_name else pod for pod in decoded.pods)
        things: list[ClusterObject] = [
            *(NodeClass(ref=ref) for ref in sorted({pool.node_class for pool in decoded.node_pools})),
            *decoded.node_pools,
            *decoded.daemon_sets,
            *namespaces_of(decoded),
            *decoded.storage_classes,
            *decoded.volumes,
            *volume_claims_of(decoded),
            *decoded.csi_nodes,
            *decoded.node_claims,
            *decoded.nodes,
            *pods,
        ]
        model = ClusterModel(promise_lasts=timedelta(seconds=20))
        objects = tuple(replace(thing, resource_version=1) for thing in things)
        model.learn(Resynced(revision=1, objects=objects), _NOW)
        return model.snapshot(_NOW)

    # --- candidates

    def _may_go(self, node: Node) -> bool:
        claim = self._claims.get(node.name)
        pool = self._pools.get(node.labels.get(labels.NODEPOOL, ""))
        if claim is None or pool is None or not claim.initialized or not _consolidated(claim, pool):
            return False
        if node.annotations.get(labels.DO_NOT_DISRUPT) == "true":
            return False
        return not any(
            pod.protected(_NOW) or (pod.evictable(_NOW) and self._budgets.holding(pod) is not None)
            for pod in self._on[node.name]
        )

    def _candidate(self, node: Node) -> CandidateNode:
        moving = [pod for pod in self._on[node.name] if pod.reschedulable]
        of = node.labels
        name, zone, capacity_type = of[labels.INSTANCE_TYPE], of[labels.ZONE], of[labels.CAPACITY_TYPE]
        return CandidateNode(
            name=node.name,
            pool=of[labels.NODEPOOL],
            pods=tuple(pod.uid for pod in moving),
            eviction_costs={pod.uid: self._eviction_costs[pod.key] for pod in moving},
            instance_type=name,
            zone=zone,
            capacity_type=capacity_type,
            price=_price(name, zone, capacity_type),
        )

    def _terms(self) -> Mapping[str, PoolTerms]:
        let_go, totals = allowed(self._cluster), PoolTotals.of(self._cluster)
        return {
            name: replace(
                terms_of(pool),
                cost=totals[name].cost,
                disruption=totals[name].disruption,
                allowed=let_go[name],
            )
            for name, pool in self._pools.items()
        }

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


def _consolidated(claim: NodeClaim, pool: NodePool) -> bool:
    """Return whether nodes of the pool are consolidated at all, and this one may be now."""
    return pool.disruption.consolidate_after is not None and holds(claim.conditions, "Consolidatable")


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
