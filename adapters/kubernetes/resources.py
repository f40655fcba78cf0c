"""Resources of the API server: the path of each kind and version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from treenail.domain.model.devices import TAINT_RULE_VERSIONS


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of one version, as in the API server's paths."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool = False

    def __str__(self) -> str:
        """Return "nodepools.karpenter.sh", as people call it."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural

    def path(
        self, name: str | None = None, namespace: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the path of one object or its subresource, else that of all (in `namespace`, if given)."""
        root = "api" if "/" not in self.api_version else "apis"
        parts = [root, self.api_version]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(parts)


POD: Final = Resource("Pod", "v1", "pods", namespaced=True)
NODE: Final = Resource("Node", "v1", "nodes")
EVENT: Final = Resource("Event", "v1", "events", namespaced=True)
NAMESPACE: Final = Resource("Namespace", "v1", "namespaces")
RESOURCE_QUOTA: Final = Resource("ResourceQuota", "v1", "resourcequotas", namespaced=True)
PERSISTENT_VOLUME: Final = Resource("PersistentVolume", "v1", "persistentvolumes")
PERSISTENT_VOLUME_CLAIM: Final = Resource(
    "PersistentVolumeClaim", "v1", "persistentvolumeclaims", namespaced=True
)
STORAGE_CLASS: Final = Resource("StorageClass", "storage.k8s.io/v1", "storageclasses")
CSI_NODE: Final = Resource("CSINode", "storage.k8s.io/v1", "csinodes")
VOLUME_ATTACHMENT: Final = Resource("VolumeAttachment", "storage.k8s.io/v1", "volumeattachments")
DAEMON_SET: Final = Resource("DaemonSet", "apps/v1", "daemonsets", namespaced=True)
REPLICA_SET: Final = Resource("ReplicaSet", "apps/v1", "replicasets", namespaced=True)
STATEFUL_SET: Final = Resource("StatefulSet", "apps/v1", "statefulsets", namespaced=True)
DEPLOYMENT: Final = Resource("Deployment", "apps/v1", "deployments", namespaced=True)
POD_TEMPLATE: Final = Resource("PodTemplate", "v1", "podtemplates", namespaced=True)
JOB: Final = Resource("Job", "batch/v1", "jobs", namespaced=True)
POD_DISRUPTION_BUDGET: Final = Resource(
    "PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", namespaced=True
)
NODE_POOL: Final = Resource("NodePool", "karpenter.sh/v1", "nodepools")
NODE_CLAIM: Final = Resource("NodeClaim", "karpenter.sh/v1", "nodeclaims")
EC2_NODE_CLASS: Final = Resource("EC2NodeClass", "karpenter.k8s.aws/v1", "ec2nodeclasses")
PROVISIONER: Final = Resource("Provisioner", "karpenter.sh/v1alpha5", "provisioners")
MACHINE: Final = Resource("Machine", "karpenter.sh/v1alpha5", "machines")
AWS_NODE_TEMPLATE: Final = Resource("AWSNodeTemplate", "karpenter.k8s.aws/v1alpha1", "awsnodetemplates")
NODE_OVERLAY: Final = Resource("NodeOverlay", "karpenter.sh/v1alpha1", "nodeoverlays")
KWOK_NODE_CLASS: Final = Resource("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", "kwoknodeclasses")
CAPACITY_BUFFER: Final = Resource(
    "CapacityBuffer", "autoscaling.x-k8s.io/v1beta1", "capacitybuffers", namespaced=True
)
RESOURCE_CLAIM: Final = Resource("ResourceClaim", "resource.k8s.io/v1", "resourceclaims", namespaced=True)
RESOURCE_CLAIM_TEMPLATE: Final = Resource(
    "ResourceClaimTemplate", "resource.k8s.io/v1", "resourceclaimtemplates", namespaced=True
)
DEVICE_CLASS: Final = Resource("DeviceClass", "resource.k8s.io/v1", "deviceclasses")
RESOURCE_SLICE: Final = Resource("ResourceSlice", "resource.k8s.io/v1", "resourceslices")
DEVICE_TAINT_RULES: Final[tuple[Resource, ...]] = tuple(
    Resource("DeviceTaintRule", version, "devicetaintrules") for version in TAINT_RULE_VERSIONS
)

# What makes pods, watched for how many it wants. Where we may not see it, nodes are made for pods alone.
WORKLOADS: Final[tuple[Resource, ...]] = (REPLICA_SET, STATEFUL_SET, JOB)
# Capacity buffers, and what they refer to beside the workloads.
OF_BUFFERS: Final[tuple[Resource, ...]] = (POD_TEMPLATE, DEPLOYMENT, CAPACITY_BUFFER)
# Claims on devices, and what is known of devices.
OF_CLAIMS: Final[tuple[Resource, ...]] = (
    DEVICE_CLASS,
    RESOURCE_CLAIM_TEMPLATE,
    *DEVICE_TAINT_RULES,
    RESOURCE_SLICE,
    RESOURCE_CLAIM,
)
# What only some pods need to be known: where we may not see it, the others go on.
DISPENSABLE: Final[tuple[Resource, ...]] = (
    NAMESPACE,
    STORAGE_CLASS,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    CSI_NODE,
    POD_DISRUPTION_BUDGET,
    RESOURCE_QUOTA,
    *WORKLOADS,
    *OF_BUFFERS,
    *OF_CLAIMS,
)
# What is watched, in the order in which a full list tells it: what others refer to comes first.
WATCHED: Final[tuple[Resource, ...]] = (
    EC2_NODE_CLASS,
    AWS_NODE_TEMPLATE,
    KWOK_NODE_CLASS,
    NODE_POOL,
    PROVISIONER,
    DAEMON_SET,
    *(one for one in DISPENSABLE if one not in (*OF_BUFFERS, *OF_CLAIMS)),
    NODE_CLAIM,
    MACHINE,
    NODE,
    POD,
)
# What is watched besides, where the feature gate of its name is on, or that of what refers to it; resource
# claims where a setting says so.
GATED: Final[tuple[Resource, ...]] = (NODE_OVERLAY, *OF_CLAIMS, *OF_BUFFERS)


def watched(*, workloads: bool = True, gates: Mapping[str, bool] | None = None) -> tuple[Resource, ...]:
    """Return what is watched: what makes pods only with `workloads`, what is gated where `gates` say so.

    Quotas say how many pods may still be made: they are watched for workloads.
    """
    on = {kind for kind, gate in (gates or {}).items() if gate}
    buffers = CAPACITY_BUFFER.kind in on
    claims = RESOURCE_CLAIM.kind in on
    gated = (
        one
        for one in GATED
        if one.kind in on or (buffers and one in OF_BUFFERS) or (claims and one in OF_CLAIMS)
    )
    # Buffers refer to what makes pods, but not to Jobs.
    unneeded = (RESOURCE_QUOTA, *((JOB,) if buffers else WORKLOADS))
    passed_over = () if workloads else unneeded
    return (*gated, *(one for one in WATCHED if one not in passed_over))


RESOURCES: Final[Mapping[str, Resource]] = {resource.kind: resource for resource in (EVENT, *GATED, *WATCHED)}
