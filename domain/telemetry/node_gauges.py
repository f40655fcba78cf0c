"""Gauges of nodes and their claims, each alone and all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import CPU, NOTHING, Resources, total
from treenail.domain.telemetry import state_metrics
from treenail.domain.telemetry.condition_gauges import Conditioned, own_series, summed_series
from treenail.domain.telemetry.condition_metrics import NODE, NODE_CLAIM
from treenail.domain.telemetry.metric import Metric
from treenail.domain.telemetry.series import Series, Since

# The provider of nodes without machines has some labels of its own in place of those of AWS.
_KWOK: Final = "karpenter.kwok.sh/"
_LABELS: Final = {
    "nodepool": labels.NODEPOOL,
    "zone": labels.ZONE,
    "region": labels.REGION,
    "arch": labels.ARCH,
    "os": labels.OS,
    "capacity_type": labels.CAPACITY_TYPE,
    "instance_type": labels.INSTANCE_TYPE,
    "instance_category": labels.INSTANCE_CATEGORY,
    "instance_family": labels.INSTANCE_FAMILY,
    "instance_generation": labels.INSTANCE_GENERATION,
    "instance_size": labels.INSTANCE_SIZE,
    "instance_cpu": labels.INSTANCE_CPU,
    "instance_memory": labels.INSTANCE_MEMORY,
    "instance_network_bandwidth": labels.AWS + "instance-network-bandwidth",
}


@dataclass(frozen=True, kw_only=True)
class NodeState:
    """A node, its claim and the pods that hold room there, as they stand; `empty`: it may go as that."""

    view: NodeView
    pods: tuple[Pod, ...] = ()
    empty: bool = False

    @cached_property
    def requests(self) -> Resources:
        """The requests of all pods there."""
        return total(pod.spec.requests for pod in self.pods)

    @cached_property
    def conditioned(self) -> tuple[Conditioned, ...]:
        """The claim and the node as objects with conditions."""
        claim, node = self.view.claim, self.view.node
        pool = self.view.labels.get(labels.NODEPOOL, self.view.pool)
        added = {
            "karpenter_k8s_aws_ec2nodeclass": claim.node_class.name if claim is not None else "",
            "karpenter_sh_nodepool": pool,
        }
        found: list[Conditioned] = []
        if claim is not None:
            found.append(
                Conditioned(
                    kind=NODE_CLAIM,
                    name=claim.name,
                    conditions=claim.conditions,
                    added=added,
                    deleting_since=claim.deleting_since,
                )
            )
        if node is not None:
            initialized = node.labels.get(labels.INITIALIZED, "")
            found.append(
                Conditioned(
                    kind=NODE,
                    name=node.name,
                    conditions=node.conditions,
                    added={**added, "karpenter_sh_initialized": initialized},
                    deleting_since=node.deleting_since,
                )
            )
        return tuple(found)

    def series(self) -> Iterator[Series]:
        """Yield the series about this node and its claim."""
        for of in self.conditioned:
            yield from own_series(of)
        node = self.view.node
        if node is None:
            return
        where = {"node_name": node.name, **self.where}
        daemons = [pod for pod in self.pods if pod.daemon]
        for metric, amounts in (
            (state_metrics.NODES_ALLOCATABLE, node.allocatable),
            (state_metrics.NODES_POD_REQUESTS, self.requests),
            (state_metrics.NODES_POD_LIMITS, total(pod.spec.limits for pod in self.pods)),
            (state_metrics.NODES_DAEMON_REQUESTS, total(pod.spec.requests for pod in daemons)),
            (state_metrics.NODES_DAEMON_LIMITS, total(pod.spec.limits for pod in daemons)),
        ):
            yield from of_resources(metric, amounts, where)
        yield Series(state_metrics.NODES_LIFETIME, Since(node.created_at), where)

    @cached_property
    def where(self) -> Mapping[str, str]:
        """The labels of the node's series, less its name; none while there is no node."""
        node = self.view.node
        if node is None:
            return {}
        written = {
            label: node.labels.get(key) or node.labels.get(key.replace(labels.AWS, _KWOK), "")
            for label, key in _LABELS.items()
        }
        managed = "true" if self.view.claim is not None else "false"
        written["nodepool"] = written["nodepool"] or node.labels.get(labels.PROVISIONER, "")
        return {**{key: value for key, value in written.items() if value}, "managed": managed}


def cluster_series(nodes: tuple[NodeState, ...]) -> Iterator[Series]:
    """Yield the series about all nodes and claims together."""
    joined = [one for one in nodes if one.view.node is not None]
    allocatable = total(one.view.node.allocatable for one in joined if one.view.node is not None)
    requests = total(one.requests for one in joined)
    for resource, amount in allocatable.items():
        if amount:
            share = 100 * requests.get(resource, 0) / amount
            yield Series(state_metrics.CLUSTER_UTILIZATION, share, {"resource_type": written(resource)})
    yield from _overhead(joined)
    yield from summed_series(of for one in nodes for of in one.conditioned)
    eligible = Counter(why for one in nodes for why in _eligible(one))
    for reason in ("empty", "drifted"):
        yield Series(state_metrics.DISRUPTION_ELIGIBLE_NODES, eligible[reason], {"reason": reason})


def _overhead(joined: Iterable[NodeState]) -> Iterator[Series]:
    """Yield what kubelet and system keep of nodes, summed over those with the same labels."""
    kept: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for one in joined:
        if (node := one.view.node) is not None:
            sums = kept.setdefault(tuple(one.where.items()), Counter())
            sums.update(Resources(node.capacity).minus(node.allocatable))
    for where, sums in kept.items():
        amounts = {resource: amount for resource, amount in sums.items() if amount}
        yield from of_resources(state_metrics.NODES_OVERHEAD, amounts, dict(where))


def no_candidates() -> tuple[Series, ...]:
    """Return that no node may be consolidated."""
    return (Series(state_metrics.DISRUPTION_ELIGIBLE_NODES, 0, {"reason": Cause.UNDERUTILIZED.value}),)


def cost_series(nodes: tuple[NodeState, ...], pools: tuple[str, ...]) -> Iterator[Series]:
    """Yield what the instances of each pool cost."""
    costs: dict[str, list[float]] = {pool: [] for pool in pools}
    for one in nodes:
        claim = one.view.claim
        if claim is not None and claim.launched and claim.pool in costs:
            costs[claim.pool].append(price_of(claim) or 0.0)
    for pool, prices in costs.items():
        yield Series(state_metrics.NODEPOOLS_COST, fsum(prices), {"nodepool": pool})


def of_resources(metric: Metric, amounts: Mapping[str, int], where: Mapping[str, str]) -> Iterator[Series]:
    """Yield a series for each resource, CPU in cores."""
    for resource, amount in amounts.items():
        value = amount / 1000 if resource == CPU else amount
        yield Series(metric, value, {**where, "resource_type": written(resource)})


def pool_series(
    pool: str, limits: Mapping[str, int] | None, used: Mapping[str, int], nodes: int
) -> Iterable[Series]:
    """Return the limits of a pool and what it uses of each resource."""
    where = {"nodepool": pool}
    return (
        *of_resources(state_metrics.NODEPOOLS_LIMIT, limits or NOTHING, where),
        *of_resources(state_metrics.NODEPOOLS_USAGE, {**used, "nodes": nodes}, where),
    )


def written(resource: str) -> str:
    """Return the name of a resource as labels have it."""
    return resource.lower().replace("-", "_")


def _eligible(one: NodeState) -> Iterator[str]:
    claim = one.view.claim
    if claim is None or one.view.leaving:
        return
    if one.empty:
        yield "empty"
    if claim.drift is not None:
        yield "drifted"
