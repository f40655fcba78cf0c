"""Objects of the cluster that the domain has no type for, such as Deployments and budgets.

All are one object at one revision. An empty `uid` means that no API server has seen the object yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from treenail.adapters.api.account import Account, ClusterSnapshot
from treenail.domain.cluster import workloads
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.devices import DeviceClass, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from treenail.domain.model.limit_ranges import LimitRange
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pod_templates import PodTemplate, StoredPodTemplate
from treenail.domain.model.pods import LabelSelector, Owner, Pod, PodVolume
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

MOST_REPLICAS: Final = 100_000
# Of a pod of a Job in a rehearsal: how long it runs until it succeeds.
RUNS_FOR: Final = "treenail.sh/runs-for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicated:
    """A workload that runs `replicas` pods of one template. `selector` matches the template's labels."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    selector: LabelSelector
    template: PodTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(Replicated):
    """A Deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSet(Replicated):
    """A ReplicaSet, on its own or of the Deployment among its `owners`.

    `failure` is why pods of it could not be made of late, as its condition ReplicaFailure says.
    """

    owners: tuple[Owner, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSet(Replicated):
    """A StatefulSet. Pod n's claims are named TEMPLATE-NAME-n after `volume_claim_templates`.

    `parallel` pods start without waiting for those before them. `revision` is that of its next pods, "" where
    its controller has not said it.
    """

    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    parallel: bool = False
    revision: str = ""

    def claims_of(self, number: int) -> tuple[PersistentVolumeClaim, ...]:
        """Return the claims on storage of pod `number`."""
        return tuple(
            replace(
                claim,
                name=f"{claim.name}-{self.name}-{number}",
                namespace=self.namespace,
                labels={**claim.labels, **dict(self.selector.match_labels)},
            )
            for claim in self.volume_claim_templates
        )

    def template_of(self, number: int) -> PodTemplate:
        """Return what pod `number` is made from: its own claims take the place of volumes of their name."""
        if not self.volume_claim_templates:
            return self.template
        own = tuple(
            PodVolume(name=template.name, claim_name=claim.name)
            for template, claim in zip(self.volume_claim_templates, self.claims_of(number), strict=True)
        )
        names = {volume.name for volume in own}
        others = tuple(v for v in self.template.spec.volumes if v.name not in names)
        return replace(self.template, spec=replace(self.template.spec, volumes=(*others, *own)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A Job. Without `completions` no pod is made after one that succeeded.

    The status: how many pods `succeeded` and `failed`, which indexes are done of an `indexed` one, and how it
    `ended`, "" while it has not.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    parallelism: int = 1
    completions: int | None = 1
    indexed: bool = False
    backoff_limit: int = 6
    suspended: bool = False
    template: PodTemplate
    succeeded: int = 0
    failed: int = 0
    done: frozenset[int] = frozenset()
    ended: Literal["", "Complete", "Failed"] = ""

    @property
    def wanted(self) -> int:
        """The number of pods it wants to run now, including those that run."""
        if self.ended or self.suspended:
            return 0
        if self.completions is None:
            return 0 if self.succeeded else self.parallelism
        return max(0, min(self.parallelism, self.completions - self.succeeded))


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob:
    """A CronJob: it makes a Job like `job` at each time of its schedule, whose time zone is UTC if not said.

    While one of them runs, the next one is made too ("Allow"), is not made ("Forbid"), or takes its place
    ("Replace"). Of those that ended so many are kept.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    schedule: str
    time_zone: str = "UTC"
    suspended: bool = False
    concurrency: Literal["Allow", "Forbid", "Replace"] = "Allow"
    keeps_complete: int = 3
    keeps_failed: int = 1
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """A class of pods by importance. `preempts` tells whether its pods may push out lesser ones."""

    name: str
    uid: str = ""
    resource_version: int = 0
    value: int
    global_default: bool = False
    preempts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMap:
    """A ConfigMap. Of interest here are those that hold settings."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    data: Mapping[str, str] = field(default_factory=dict)


Workload: TypeAlias = "Deployment | ReplicaSet | StatefulSet"
ApiObject: TypeAlias = (
    "NodePool | NodeClass | NodeOverlay | NodeClaim | Node | Pod | DaemonSet | Workload | Job | CronJob"
    " | PodDisruptionBudget | PriorityClass | Namespace | LimitRange | ResourceQuota"
    " | PersistentVolume | PersistentVolumeClaim | StorageClass | CSINode | ConfigMap | workloads.Workload"
    " | CapacityBuffer | StoredPodTemplate | ResourceClaim"
    " | DeviceClass | ResourceClaimTemplate | ResourceSlice | DeviceTaintRule | Account | ClusterSnapshot"
)
