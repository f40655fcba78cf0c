"""The cluster that manifests describe: its objects, completed as the API server and Karpenter would."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Final

from treenail.adapters.api.manifests import Decoded
from treenail.adapters.api.workloads import Deployment, Job, ReplicaSet, Workload
from treenail.adapters.embed.implied import ManifestAdmission, namespaces_of, volume_claims_of
from treenail.adapters.fake.cluster.told_workloads import told
from treenail.domain.cluster import workloads as watched
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import INITIALIZED, REGISTERED, Condition, Node, NodeClaim, Status
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Pod

_TRUE: Final = (
    Condition(type=REGISTERED, status=Status.TRUE),
    Condition(type=INITIALIZED, status=Status.TRUE),
)


class ManifestCluster:
    """The cluster of `decoded` manifests at a time.

    Pods without a node wait since then for one. So do those that `workloads` (Deployments, ReplicaSets, Jobs
    and StatefulSets) have, unless these are left out. A node that says it is of a pool has a claim, if only
    one made up for it.
    """

    def __init__(self, decoded: Decoded, at: datetime, *, workloads: bool = True) -> None:
        self._decoded = decoded
        self._at = at
        admission = ManifestAdmission(decoded)
        pods = self._pods_written() + (self._pods_of_workloads() if workloads else [])
        self.pods = tuple(p for p in map(admission.admit, pods) if not admission.gated(p))
        self.warnings = (*decoded.warnings, *admission.warnings)
        self.node_names = self._node_names()

    def listed(self) -> Resynced:
        """Return all objects, and the kinds that a snapshot says could not be read."""
        return Resynced(revision=1, objects=self.objects(), unreadable=self._decoded.unreadable)

    def objects(self) -> tuple[ClusterObject, ...]:
        """Return all objects, referenced ones before those that refer to them."""
        decoded = self._decoded
        placeholder = [
            NodeClass(ref=ref)
            for ref in sorted({p.node_class for p in decoded.node_pools})
            if str(ref) not in {str(c.ref) for c in decoded.node_classes}
        ]
        things: list[ClusterObject] = [
            *placeholder,
            *decoded.node_classes,
            *decoded.node_overlays,
            *decoded.node_pools,
            *decoded.daemon_sets,
            *namespaces_of(decoded),
            *decoded.storage_classes,
            *decoded.volumes,
            *volume_claims_of(decoded),
            *decoded.csi_nodes,
            *decoded.device_classes,
            *decoded.resource_claim_templates,
            *decoded.device_taint_rules,
            *decoded.resource_slices,
            *decoded.resource_claims,
            *decoded.node_claims,
            *decoded.disruption_budgets,
            *decoded.pod_templates,
            *self._scalable(),
            *self._buffers(),
            *(self._claim(n) for n in decoded.nodes if self._pool_of(n)),
            *(self._node(n) for n in decoded.nodes),
            *self.pods,
        ]
        return tuple(replace(thing, resource_version=1) for thing in things)

    # --- capacity buffers

    def _scalable(self) -> list[ClusterObject]:
        """Return the workloads that buffers may refer to, none where there are no buffers."""
        decoded = self._decoded
        if not decoded.capacity_buffers:
            return []
        workloads: tuple[Workload, ...] = (
            *decoded.deployments,
            *decoded.replica_sets,
            *decoded.stateful_sets,
        )
        named: list[Workload] = [
            replace(one, uid=one.uid or f"{one.namespace}/{one.name}") for one in workloads
        ]
        there = (told(one, deleting=False, templates=True) for one in named)
        return [thing for thing in there if isinstance(thing, watched.Workload)]

    def _buffers(self) -> list[CapacityBuffer]:
        return [replace(one, uid=one.uid or one.key) for one in self._decoded.capacity_buffers]

    # --- nodes

    def _node_names(self) -> dict[str, str]:
        """Return the names of nodes by those of their rooms: their claims', written or made here."""
        made = {self._claim_name(n): n.name for n in self._decoded.nodes}
        by_provider = {n.provider_id: n.name for n in self._decoded.nodes if n.provider_id}
        written = self._decoded.node_claims
        return made | {c.name: by_provider[c.provider_id] for c in written if c.provider_id in by_provider}

    def _pool_of(self, node: Node) -> NodePool | None:
        """Return the pool that a node says it is of: it counts against its limits."""
        names = {p.generation.pool_label: p for p in self._decoded.node_pools}
        claimed = {c.provider_id for c in self._decoded.node_claims if c.provider_id}
        if node.provider_id in claimed:
            return None
        return next(
            (
                p
                for p in self._decoded.node_pools
                if p.generation.pool_label in names and node.labels.get(p.generation.pool_label) == p.name
            ),
            None,
        )

    def _claim_name(self, node: Node) -> str:
        return f"node/{node.name}"

    def _provider_id(self, node: Node) -> str:
        return node.provider_id or f"simulated:///{node.name}"

    def _node(self, node: Node) -> Node:
        return replace(node, provider_id=self._provider_id(node))

    def _claim(self, node: Node) -> NodeClaim:
        pool = self._pool_of(node)
        assert pool is not None  # noqa: S101
        return NodeClaim(
            name=self._claim_name(node),
            generation=pool.generation,
            pool=pool.name,
            node_class=pool.node_class,
            labels=node.labels,
            taints=node.taints,
            created_at=node.created_at,
            provider_id=self._provider_id(node),
            node_name=node.name,
            capacity=node.capacity or node.allocatable,
            allocatable=node.allocatable,
            conditions=_TRUE,
        )

    # --- pods

    def _pods_written(self) -> list[Pod]:
        return [self._pending(p) if not p.node_name else p for p in self._decoded.pods]

    def _pods_of_workloads(self) -> list[Pod]:
        """Return the pods that workloads want beside those that are written, and owned by them."""
        decoded = self._decoded
        pods: list[Pod] = []
        owned = Counter(owner.uid for pod in decoded.pods if pod.active for owner in pod.owners)
        # What a Deployment wants is what its ReplicaSets want, where these are written too.
        managed = {owner.uid for one in decoded.replica_sets for owner in one.owners if one.uid}
        deployments = [one for one in decoded.deployments if not one.uid or one.uid not in managed]
        alike: list[Deployment | ReplicaSet] = [*deployments, *decoded.replica_sets]
        for workload in alike:
            missing = range(owned[workload.uid] if workload.uid else 0, workload.replicas)
            pods += (self._replica(workload, n, workload.template) for n in missing)
        there = {pod.key for pod in decoded.pods if pod.owners}
        for one in decoded.stateful_sets:
            absent = (n for n in range(one.replicas) if f"{one.namespace}/{one.name}-{n}" not in there)
            pods += (self._replica(one, n, one.template_of(n)) for n in absent)
        for job in decoded.jobs:
            missing = range(owned[job.uid] if job.uid else 0, job.wanted)
            pods += (self._replica(job, n, job.template) for n in missing)
        return pods

    def _replica(self, of: Workload | Job, number: int, template: PodTemplate) -> Pod:
        return self._pending(
            Pod(
                uid=f"{of.namespace}/{of.name}-{number}",
                name=f"{of.name}-{number}",
                namespace=of.namespace,
                labels=template.labels,
                annotations=template.annotations,
                spec=template.spec,
                created_at=self._at,
            )
        )

    def _pending(self, pod: Pod) -> Pod:
        return replace(pod, uid=pod.uid or pod.key, unschedulable_since=self._at)
