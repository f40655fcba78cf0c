"""Volumes, the claims on them and the classes they are made by."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from treenail.adapters.api.amounts import asked
from treenail.adapters.api.core.volume_sources import DisksModel
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, NotEmpty, NotNegative, Quantities
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import NodeSelectorModel, node_expression
from treenail.domain.model.instants import in_utc
from treenail.domain.model.pods import Expression
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_STORAGE = "storage"
# Set together with the volume's name, where the API server bound the claim itself.
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class StorageRequestModel(Model):
    """The amount of storage a claim requests."""

    requests: Quantities = field(default_factory=dict)


class PersistentVolumeClaimSpecModel(Model):
    """The spec of a claim."""

    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()
    resources: StorageRequestModel = field(default_factory=StorageRequestModel)


class PersistentVolumeClaimStatusModel(Model):
    """The phase of a claim: Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaimModel(CoreObject):
    """v1 PersistentVolumeClaim."""

    spec: PersistentVolumeClaimSpecModel = field(default_factory=PersistentVolumeClaimSpecModel)
    status: PersistentVolumeClaimStatusModel = field(default_factory=PersistentVolumeClaimStatusModel)


def volume_claim(model: PersistentVolumeClaimModel, namespace: str, at: str = "") -> PersistentVolumeClaim:
    """Return the claim; `at` is the path before its fields, with a dot at its end.

    Raises:
        FieldError: it breaks a rule of the API server.
    """
    meta, spec = model.metadata, model.spec
    meta.validate(at=f"{at}metadata")
    return PersistentVolumeClaim(
        **meta.labelled,
        namespace=namespace,
        storage_class=spec.storage_class_name,
        volume_name=spec.volume_name,
        access_modes=spec.access_modes,
        requested=asked(spec.resources.requests, f"{at}spec.resources.requests").get(_STORAGE, 0),
        bound=_BIND_COMPLETED in meta.annotations or model.status.phase == "Bound",
        lost=model.status.phase == "Lost",
        deleting=meta.deletion_timestamp is not None,
    )


def persistent_volume_claim(model: PersistentVolumeClaimModel, _reading: Reading) -> Translation:
    """Return the claim; FieldError says what is wrong with it."""
    return Translation(objects=(volume_claim(model, model.metadata.namespace or "default"),))


class ClaimRefModel(Model):
    """A reference to the claim that a volume is bound to."""

    namespace: str = ""
    name: str = ""


class CsiModel(Model, kw_only=True):
    """A volume of a CSI driver."""

    driver: NotEmpty
    volume_handle: str = ""


class LocalModel(Model):
    """A volume that is a directory of one node."""


class VolumeNodeAffinityModel(Model):
    """The nodes from which a volume can be reached."""

    required: NodeSelectorModel | None = None


class PersistentVolumeSpecModel(DisksModel):
    """The spec of a volume."""

    storage_class_name: str = ""
    capacity: Quantities = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimRefModel | None = None
    csi: CsiModel | None = None
    local: LocalModel | None = None
    host_path: LocalModel | None = None
    node_affinity: VolumeNodeAffinityModel | None = None


class PersistentVolumeModel(CoreObject):
    """v1 PersistentVolume."""

    spec: PersistentVolumeSpecModel = field(default_factory=PersistentVolumeSpecModel)


def persistent_volume(model: PersistentVolumeModel, _reading: Reading) -> Translation:
    """Return the volume; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    affinity = spec.node_affinity.required if spec.node_affinity else None
    claim = spec.claim_ref
    driver, handle = (spec.csi.driver, spec.csi.volume_handle) if spec.csi else spec.disk()
    found = PersistentVolume(
        **meta.identity,
        labels=meta.labels,
        storage_class=spec.storage_class_name,
        capacity=asked(spec.capacity, "spec.capacity").get(_STORAGE, 0),
        access_modes=spec.access_modes,
        claim=f"{claim.namespace or 'default'}/{claim.name}" if claim and claim.name else "",
        driver=driver,
        handle=handle or meta.name,
        on_node=spec.local is not None or spec.host_path is not None,
        node_affinity=affinity.value("spec.nodeAffinity.required") if affinity else (),
        deleting=meta.deletion_timestamp is not None,
    )
    return Translation(objects=(found,))


class TopologyExpressionModel(Model, kw_only=True):
    """Values a topology label may have."""

    key: str
    values: tuple[str, ...]


class TopologyTermModel(Model):
    """A conjunction of demands on where a volume is made."""

    match_label_expressions: tuple[TopologyExpressionModel, ...] = ()


class StorageClassModel(CoreObject, kw_only=True):
    """storage.k8s.io/v1 StorageClass."""

    provisioner: NotEmpty
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"
    allowed_topologies: tuple[TopologyTermModel, ...] = ()


def storage_class(model: StorageClassModel, _reading: Reading) -> Translation:
    """Return the class; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    terms = (_topology(m, f"allowedTopologies[{n}]") for n, m in enumerate(model.allowed_topologies))
    found = StorageClass(
        **meta.identity,
        provisioner=model.provisioner,
        waits_for_pod=model.volume_binding_mode == "WaitForFirstConsumer",
        default=meta.annotations.get(_DEFAULT_CLASS) == "true",
        allowed_topologies=tuple(term for term in terms if term),
        created_at=in_utc(meta.creation_timestamp) if meta.creation_timestamp else None,
    )
    return Translation(objects=(found,))


def _topology(model: TopologyTermModel, at: str) -> tuple[Expression, ...]:
    return tuple(
        node_expression(e.key, "In", e.values, f"{at}.matchLabelExpressions[{n}]")
        for n, e in enumerate(model.match_label_expressions)
    )


class AllocatableModel(Model):
    """The number of volumes a driver can attach to a node; no limit where it is not set."""

    count: NotNegative | None = None


class NodeDriverModel(Model, kw_only=True):
    """A driver on a node."""

    name: NotEmpty
    allocatable: AllocatableModel | None = None


class CSINodeSpecModel(Model):
    """The drivers on a node."""

    drivers: tuple[NodeDriverModel, ...] = ()


class CSINodeModel(CoreObject):
    """storage.k8s.io/v1 CSINode."""

    spec: CSINodeSpecModel = field(default_factory=CSINodeSpecModel)


def csi_node(model: CSINodeModel, _reading: Reading) -> Translation:
    """Return what the drivers of a node can do; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    counts = ((d.name, d.allocatable.count if d.allocatable else None) for d in model.spec.drivers)
    found = CSINode(
        **meta.identity,
        limits={name: count for name, count in counts if count is not None},
    )
    return Translation(objects=(found,))
