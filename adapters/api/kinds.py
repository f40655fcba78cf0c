"""Kinds and versions that can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from treenail.adapters.api import model as models
from treenail.adapters.api.autoscaling.capacity_buffer import CapacityBufferModel, capacity_buffer
from treenail.adapters.api.aws.v1_node_class import EC2NodeClassModel
from treenail.adapters.api.aws.v1alpha1_node_template import AWSNodeTemplateModel, node_template
from treenail.adapters.api.aws.v1beta1_node_class import BetaEC2NodeClassModel
from treenail.adapters.api.conversion.kept import (
    beta_node_claim_as_kept,
    beta_node_class_as_kept,
    beta_node_pool_as_kept,
    node_class_as_kept,
    node_pool_as_kept,
)
from treenail.adapters.api.core.apps import (
    DaemonSetModel,
    DeploymentModel,
    ReplicaSetModel,
    StatefulSetModel,
    daemon_set,
    deployment,
    replica_set,
    stateful_set,
)
from treenail.adapters.api.core.batch import CronJobModel, JobModel, cron_job, job
from treenail.adapters.api.core.config_maps import ConfigMapModel, config_map
from treenail.adapters.api.core.device_taint_rules import DeviceTaintRuleModel, device_taint_rule
from treenail.adapters.api.core.devices import (
    DeviceClassModel,
    ResourceClaimTemplateModel,
    ResourceSliceModel,
    device_class,
    resource_claim_template,
    resource_slice,
)
from treenail.adapters.api.core.nodes import NamespaceModel, NodeModel, namespace, node
from treenail.adapters.api.core.pod_templates import StoredPodTemplateModel, stored_pod_template
from treenail.adapters.api.core.pods import PodModel, pod
from treenail.adapters.api.core.policy import (
    PodDisruptionBudgetModel,
    PriorityClassModel,
    disruption_budget,
    priority_class,
)
from treenail.adapters.api.core.quotas import (
    LimitRangeModel,
    ResourceQuotaModel,
    limit_range,
    resource_quota,
)
from treenail.adapters.api.core.resource_claims import ResourceClaimModel, resource_claim
from treenail.adapters.api.core.storage import (
    CSINodeModel,
    PersistentVolumeClaimModel,
    PersistentVolumeModel,
    StorageClassModel,
    csi_node,
    persistent_volume,
    persistent_volume_claim,
    storage_class,
)
from treenail.adapters.api.core.templated_workloads import (
    TemplatedDeploymentModel,
    TemplatedReplicaSetModel,
    TemplatedStatefulSetModel,
    templated_deployment,
    templated_replica_set,
    templated_stateful_set,
)
from treenail.adapters.api.core.watched_workloads import (
    WatchedJobModel,
    WatchedReplicaSetModel,
    WatchedStatefulSetModel,
    watched_job,
    watched_replica_set,
    watched_stateful_set,
)
from treenail.adapters.api.diagnosis import meant, quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimModel, node_claim
from treenail.adapters.api.karpenter.v1_node_pool import NodePoolModel
from treenail.adapters.api.karpenter.v1alpha1_node_overlay import NodeOverlayModel, node_overlay
from treenail.adapters.api.karpenter.v1alpha5_machine import MachineModel, machine
from treenail.adapters.api.karpenter.v1alpha5_provisioner import ProvisionerModel, provisioner
from treenail.adapters.api.karpenter.v1beta1_node_claim import BetaNodeClaimModel
from treenail.adapters.api.karpenter.v1beta1_node_pool import BetaNodePoolModel
from treenail.adapters.api.kwok.v1alpha1_node_class import KWOKNodeClassModel, kwok_node_class
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.snapshot.account_model import (
    AccountModel,
    ClusterSnapshotEndModel,
    ClusterSnapshotModel,
    account,
    cluster_snapshot,
    cluster_snapshot_end,
)
from treenail.domain.model.devices import TAINT_RULE_VERSIONS

M = TypeVar("M", bound=models.Model)


@dataclass(frozen=True, slots=True)
class ApiKind(Generic[M]):
    """A kind in one version: its typed model, and the translation of its objects."""

    api_version: str
    name: str
    model: type[M]
    translate: Callable[[M, Reading], Translation]
    namespaced: bool = False

    def read(self, content: models.Content, reading: Reading) -> Translation:
        """Return the translation of the object; FieldError says what is wrong with it."""
        return self.translate(models.read(self.model, content), reading)


_ALL: Final[tuple[ApiKind[Any], ...]] = (
    ApiKind("karpenter.sh/v1", "NodePool", NodePoolModel, node_pool_as_kept),
    ApiKind("karpenter.sh/v1", "NodeClaim", NodeClaimModel, node_claim),
    ApiKind("karpenter.k8s.aws/v1", "EC2NodeClass", EC2NodeClassModel, node_class_as_kept),
    ApiKind("karpenter.sh/v1beta1", "NodePool", BetaNodePoolModel, beta_node_pool_as_kept),
    ApiKind("karpenter.sh/v1beta1", "NodeClaim", BetaNodeClaimModel, beta_node_claim_as_kept),
    ApiKind("karpenter.k8s.aws/v1beta1", "EC2NodeClass", BetaEC2NodeClassModel, beta_node_class_as_kept),
    ApiKind("karpenter.sh/v1alpha5", "Provisioner", ProvisionerModel, provisioner),
    ApiKind("karpenter.sh/v1alpha5", "Machine", MachineModel, machine),
    ApiKind("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", AWSNodeTemplateModel, node_template),
    ApiKind("karpenter.sh/v1alpha1", "NodeOverlay", NodeOverlayModel, node_overlay),
    ApiKind("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", KWOKNodeClassModel, kwok_node_class),
    *(
        ApiKind(version, "CapacityBuffer", CapacityBufferModel, capacity_buffer, namespaced=True)
        for version in ("autoscaling.x-k8s.io/v1beta1", "autoscaling.x-k8s.io/v1alpha1")
    ),
    ApiKind("v1", "Pod", PodModel, pod, namespaced=True),
    ApiKind("v1", "PodTemplate", StoredPodTemplateModel, stored_pod_template, namespaced=True),
    ApiKind("v1", "Node", NodeModel, node),
    ApiKind("v1", "ConfigMap", ConfigMapModel, config_map, namespaced=True),
    ApiKind("v1", "Namespace", NamespaceModel, namespace),
    ApiKind("v1", "ResourceQuota", ResourceQuotaModel, resource_quota, namespaced=True),
    ApiKind("v1", "LimitRange", LimitRangeModel, limit_range, namespaced=True),
    ApiKind("v1", "PersistentVolume", PersistentVolumeModel, persistent_volume),
    ApiKind(
        "v1", "PersistentVolumeClaim", PersistentVolumeClaimModel, persistent_volume_claim, namespaced=True
    ),
    ApiKind("apps/v1", "Deployment", DeploymentModel, deployment, namespaced=True),
    ApiKind("apps/v1", "ReplicaSet", ReplicaSetModel, replica_set, namespaced=True),
    ApiKind("apps/v1", "StatefulSet", StatefulSetModel, stateful_set, namespaced=True),
    ApiKind("apps/v1", "DaemonSet", DaemonSetModel, daemon_set, namespaced=True),
    ApiKind("batch/v1", "Job", JobModel, job, namespaced=True),
    ApiKind("batch/v1", "CronJob", CronJobModel, cron_job, namespaced=True),
    ApiKind("policy/v1", "PodDisruptionBudget", PodDisruptionBudgetModel, disruption_budget, namespaced=True),
    ApiKind("scheduling.k8s.io/v1", "PriorityClass", PriorityClassModel, priority_class),
    ApiKind("resource.k8s.io/v1", "ResourceClaim", ResourceClaimModel, resource_claim, namespaced=True),
    ApiKind("resource.k8s.io/v1", "DeviceClass", DeviceClassModel, device_class),
    ApiKind("resource.k8s.io/v1", "ResourceSlice", ResourceSliceModel, resource_slice),
    *(
        ApiKind(version, "DeviceTaintRule", DeviceTaintRuleModel, device_taint_rule(version))
        for version in TAINT_RULE_VERSIONS
    ),
    ApiKind(
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        ResourceClaimTemplateModel,
        resource_claim_template,
        namespaced=True,
    ),
    ApiKind("storage.k8s.io/v1", "StorageClass", StorageClassModel, storage_class),
    ApiKind("storage.k8s.io/v1", "CSINode", CSINodeModel, csi_node),
    ApiKind("treenail.sh/v1alpha1", "Account", AccountModel, account),
    ApiKind("treenail.sh/v1alpha1", "ClusterSnapshot", ClusterSnapshotModel, cluster_snapshot),
    ApiKind("treenail.sh/v1alpha1", "ClusterSnapshotEnd", ClusterSnapshotEndModel, cluster_snapshot_end),
)
# What makes pods is watched for how many it wants: of that, less is read than of a manifest.
WATCHED_WORKLOADS: Final[tuple[ApiKind[Any], ...]] = (
    ApiKind("apps/v1", "ReplicaSet", WatchedReplicaSetModel, watched_replica_set, namespaced=True),
    ApiKind("apps/v1", "StatefulSet", WatchedStatefulSetModel, watched_stateful_set, namespaced=True),
    ApiKind("batch/v1", "Job", WatchedJobModel, watched_job, namespaced=True),
)
# Where capacity buffers are followed, also of what they make them.
TEMPLATED_WORKLOADS: Final[tuple[ApiKind[Any], ...]] = (
    ApiKind("apps/v1", "Deployment", TemplatedDeploymentModel, templated_deployment, namespaced=True),
    ApiKind("apps/v1", "ReplicaSet", TemplatedReplicaSetModel, templated_replica_set, namespaced=True),
    ApiKind("apps/v1", "StatefulSet", TemplatedStatefulSetModel, templated_stateful_set, namespaced=True),
)
for _kind in (*_ALL, *WATCHED_WORKLOADS, *TEMPLATED_WORKLOADS):
    models.prepare(_kind.model)
# Kubernetes' own kinds, by group, that are common in manifests and are not about pods or nodes.
_PASSED_OVER: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"Endpoints", "Event", "Secret", "Service", "ServiceAccount"}),
    "admissionregistration.k8s.io": frozenset(
        {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
        | {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    ),
    "apiextensions.k8s.io": frozenset({"CustomResourceDefinition"}),
    "apiregistration.k8s.io": frozenset({"APIService"}),
    "apps": frozenset({"ControllerRevision"}),
    "autoscaling": frozenset({"HorizontalPodAutoscaler"}),
    "coordination.k8s.io": frozenset({"Lease"}),
    "discovery.k8s.io": frozenset({"EndpointSlice"}),
    "events.k8s.io": frozenset({"Event"}),
    "networking.k8s.io": frozenset({"Ingress", "IngressClass", "NetworkPolicy"}),
    "rbac.authorization.k8s.io": frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
}
KINDS: Final[Mapping[tuple[str, str], ApiKind[Any]]] = {(k.api_version, k.name): k for k in _ALL}


def passed_over(api_version: str, name: str) -> bool:
    """Return whether the kind `name` of `api_version` says nothing that matters here, and is no mistake."""
    group, slash, version = api_version.rpartition("/")
    return bool(version) and bool(group) == bool(slash) and name in _PASSED_OVER.get(group, ())


def foreign(api_version: str, name: str) -> bool:
    """Return whether a kind is of a group that is neither Kubernetes' own nor one that is read here.

    A name that is known, under a group that is not, is a mistake.
    """
    group, _, version = api_version.rpartition("/")
    ours = "." not in group or group.endswith(
        (".k8s.io", "autoscaling.x-k8s.io", "karpenter.sh", "karpenter.k8s.aws", "treenail.sh")
    )
    return bool(name and version) and not ours and all(name != kind.name for kind in _ALL)


def watched_kind_of(api_version: str, name: str, *, templates: bool = False) -> ApiKind[Any]:
    """Return the kind that objects of a watch are read as, workloads with their `templates` if wanted."""
    known = (*(TEMPLATED_WORKLOADS if templates else ()), *WATCHED_WORKLOADS)
    of_workload = (k for k in known if (k.api_version, k.name) == (api_version, name))
    return next(of_workload, None) or kind_of(api_version, name)


def kind_of(api_version: str, name: str) -> ApiKind[Any]:
    """Return the kind `name` of `api_version`; FieldError lists the known ones if that is unknown."""
    found = KINDS.get((api_version, name))
    if found is not None:
        return found
    if not name:
        raise FieldError("kind", "is missing, or no text")
    if name == "Kustomization":
        raise FieldError("kind", "is what kustomize reads: give what `kubectl kustomize` makes of its folder")
    if name == "List":
        raise FieldError("items", "must be a list of objects")
    versions = sorted(k.api_version for k in _ALL if k.name == name)
    if not versions:
        known = sorted({k.name for k in _ALL})
        raise FieldError(
            "kind", f"{quoted(name)} is not known{meant(name, known)}; known are {', '.join(known)}"
        )
    if not api_version:
        raise FieldError("apiVersion", f"is missing, or no text; {name} is of {' or '.join(versions)}")
    are = "are" if len(versions) > 1 else "is"
    problem = f"{quoted(api_version)} is not known for {name}; known {are} {' and '.join(versions)}"
    raise FieldError("apiVersion", problem)
