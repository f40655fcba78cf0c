"""Schemas of statuses that are written, but not read."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.metadata import ConditionModel
from treenail.adapters.api.model import NotEmpty, NotNegative, PlainQuantities, StrictModel, Time

Count: TypeAlias = Annotated[int, Meta(ge=0)]


class PoolConditionModel(ConditionModel, kw_only=True):
    """A condition of a pool, a node class or a node overlay."""

    observed_generation: int = 0


class OldConditionModel(ConditionModel, kw_only=True):
    """A condition of a pool or a node class of the old generation."""

    severity: str = ""


class NodePoolStatusModel(StrictModel):
    """The status of a NodePool."""

    conditions: tuple[PoolConditionModel, ...] = ()
    nodes: Count = 0
    resources: PlainQuantities = field(default_factory=dict)
    node_class_observed_generation: int = 0


class NodeOverlayStatusModel(StrictModel):
    """The status of a NodeOverlay."""

    conditions: tuple[PoolConditionModel, ...] = ()


class ProvisionerStatusModel(StrictModel):
    """The status of a Provisioner."""

    conditions: tuple[OldConditionModel, ...] = ()
    resources: PlainQuantities = field(default_factory=dict)
    last_scale_time: Time | None = None


class SubnetModel(StrictModel, kw_only=True):
    """A subnet that the selector finds."""

    id: str
    zone: str
    zone_id: str = field(default="", name="zoneID")


class SecurityGroupModel(StrictModel, kw_only=True):
    """A security group that the selector finds."""

    id: str
    name: str = ""


class ImageRequirementModel(StrictModel, kw_only=True):
    """A requirement that a node must meet to run the image."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class ImageModel(StrictModel, kw_only=True):
    """An image that the selector finds."""

    id: str
    name: str = ""
    deprecated: bool = False
    requirements: tuple[ImageRequirementModel, ...]


class CapacityReservationModel(StrictModel, kw_only=True):
    """A capacity reservation that the selector finds."""

    id: str
    availability_zone: str
    instance_type: str
    instance_match_criteria: Literal["open", "targeted"]
    owner_id: str = field(name="ownerID")
    end_time: Time | None = None
    interruptible: bool = False
    reservation_type: Literal["default", "capacity-block"] | None = None
    state: Literal["active", "expiring"] | None = None


class EC2NodeClassStatusModel(StrictModel):
    """The status of an EC2NodeClass: what it selects in the account."""

    conditions: tuple[PoolConditionModel, ...] = ()
    subnets: tuple[SubnetModel, ...] = ()
    security_groups: tuple[SecurityGroupModel, ...] = ()
    amis: tuple[ImageModel, ...] = ()
    capacity_reservations: tuple[CapacityReservationModel, ...] = ()
    instance_profile: str = ""


class KWOKNodeClassStatusModel(StrictModel):
    """The status of a KWOKNodeClass."""

    conditions: tuple[PoolConditionModel, ...] = ()


class BufferTemplateModel(StrictModel, kw_only=True):
    """The PodTemplate of a buffer."""

    name: NotEmpty


class CapacityBufferStatusModel(StrictModel):
    """The status of a CapacityBuffer: what was found for it."""

    conditions: tuple[PoolConditionModel, ...] = ()
    pod_template_ref: BufferTemplateModel | None = None
    pod_template_generation: int = 0
    provisioning_strategy: str = ""
    replicas: NotNegative = 0


class AWSNodeTemplateStatusModel(StrictModel):
    """The status of an AWSNodeTemplate: what it selects in the account."""

    conditions: tuple[OldConditionModel, ...] = ()
    subnets: tuple[SubnetModel, ...] = ()
    security_groups: tuple[SecurityGroupModel, ...] = ()
    amis: tuple[ImageModel, ...] = ()
