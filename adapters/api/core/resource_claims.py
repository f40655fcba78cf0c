"""ResourceClaims: requests, allocated devices, and the nodes from which these can be used."""

from __future__ import annotations

from typing import Any

from msgspec import field

from treenail.adapters.api.core.devices import wishes_of
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, NotEmpty
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import NodeSelectorModel
from treenail.domain.model.devices import DeviceId
from treenail.domain.model.resource_claims import ResourceClaim


class DeviceModel(Model, kw_only=True):
    """A device that a claim has. With an administrator's access others may have it, too."""

    driver: NotEmpty
    pool: NotEmpty
    device: NotEmpty
    admin_access: bool = False


class DevicesModel(Model):
    """The devices that a claim has."""

    results: tuple[DeviceModel, ...] = ()

    @property
    def taken(self) -> tuple[DeviceId, ...]:
        """The devices that no other claim can have."""
        return tuple((d.driver, d.pool, d.device) for d in self.results if not d.admin_access)


class AllocationModel(Model):
    """The devices that a claim has. Without a selector they can be used on any node."""

    devices: DevicesModel = field(default_factory=DevicesModel)
    node_selector: NodeSelectorModel | None = None


class ConsumerModel(Model, kw_only=True):
    """Somebody who may use a claim."""

    uid: NotEmpty


class ResourceClaimStatusModel(Model):
    """Devices that a claim has, and those it is reserved for."""

    allocation: AllocationModel | None = None
    reserved_for: tuple[ConsumerModel, ...] = ()


class ResourceClaimModel(CoreObject):
    """resource.k8s.io/v1 ResourceClaim."""

    spec: dict[str, Any] = field(default_factory=dict)
    status: ResourceClaimStatusModel = field(default_factory=ResourceClaimStatusModel)


def resource_claim(model: ResourceClaimModel, _reading: Reading) -> Translation:
    """Return the claim; FieldError says what is wrong with it."""
    meta, allocation = model.metadata, model.status.allocation
    meta.validate()
    nodes = allocation.node_selector if allocation is not None else None
    owner = next((o for o in meta.owner_references if o.controller and o.kind == "Pod"), None)
    found = ResourceClaim(
        **meta.identity,
        namespace=meta.namespace or "default",
        made_for=owner.uid if owner is not None else "",
        allocated=allocation is not None,
        nodes=nodes.value("status.allocation.nodeSelector") if nodes is not None else (),
        devices=allocation.devices.taken if allocation is not None else (),
        wishes=wishes_of(model.spec, "spec"),
        users=tuple(one.uid for one in model.status.reserved_for),
        deleting=meta.deletion_timestamp is not None,
    )
    return Translation(objects=(found,))
