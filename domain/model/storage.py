"""Volumes, claims on them, storage classes, and how many volumes a node can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from treenail.domain.model.pods import Expression

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)

# The CSI drivers that took over from plugins within Kubernetes; the old names are still written.
CSI_DRIVERS: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/rbd": "rbd.csi.ceph.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
_WITHIN_KUBERNETES: Final = "kubernetes.io/"


def csi_driver(provisioner: str) -> str:
    """Return the CSI driver that serves a provisioner, by its present or older name; "" where none does."""
    if provisioner.startswith(_WITHIN_KUBERNETES):
        return CSI_DRIVERS.get(provisioner, "")
    return provisioner


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolumeClaim:
    """A claim on storage. `storage_class` is None where the default class is meant, "" where none is.

    `requested` is in bytes. `volume_name` is the volume it is `bound` to, or is to be bound to. One that is
    `lost` was bound to a volume that is gone.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    storage_class: str | None = None
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()
    requested: int = 0
    bound: bool = False
    lost: bool = False
    deleting: bool = False

    @property
    def key(self) -> str:
        """The claim's name as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolume:
    """A volume. `node_affinity` terms are alternatives of conjunctions, none meaning any node.

    `capacity` is in bytes. `claim` is the namespace/name it is bound to. `driver` is its CSI driver, ""
    where none serves it, and `handle` what the driver calls it. `on_node` marks local and host path
    volumes, which live on one node.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    storage_class: str = ""
    capacity: int = 0
    access_modes: tuple[str, ...] = ()
    claim: str = ""
    driver: str = ""
    handle: str = ""
    on_node: bool = False
    node_affinity: tuple[tuple[Expression, ...], ...] = ()
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClass:
    """A way to make volumes. `allowed_topologies` terms are alternatives of conjunctions, none meaning any.

    `waits_for_pod` is the binding mode WaitForFirstConsumer. `default` marks the class of claims
    that name none: the newest, where several are so marked.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    provisioner: str
    waits_for_pod: bool = False
    default: bool = False
    allowed_topologies: tuple[tuple[Expression, ...], ...] = ()
    created_at: datetime | None = None

    @property
    def driver(self) -> str:
        """The CSI driver of its volumes, "" where they have none."""
        return csi_driver(self.provisioner)


@dataclass(frozen=True, slots=True, kw_only=True)
class CSINode:
    """The storage drivers of the node of this name: `limits` are the most volumes by driver."""

    name: str
    uid: str = ""
    resource_version: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)


def default_class(classes: Mapping[str, StorageClass]) -> StorageClass | None:
    """Return the class of claims that name none: of those marked so the newest, then the first by name."""
    marked = sorted((c for c in classes.values() if c.default), key=lambda c: c.name)
    return max(marked, key=lambda c: c.created_at or _BEFORE_ALL, default=None)
