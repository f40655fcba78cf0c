"""A node class resolved in the account: its subnets, security groups and images, by id."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from treenail.adapters.ec2.labels import ACCELERATOR, GPU
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import Count
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.placement_groups import PlacementGroupRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet. `free_addresses` is as of the last look, which began at a monotonic second."""

    id: str
    zone: str
    zone_id: str
    free_addresses: int
    looked_at: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityGroup:
    """A security group."""

    id: str
    name: str = ""


class Variant(StrEnum):
    """Variants of an image, by the chips it has drivers for. Images that users select are for all types."""

    ANY = "any"
    STANDARD = "standard"
    NVIDIA = "nvidia"
    NEURON = "neuron"

    def suits(self, instance_type: InstanceType) -> bool:
        """Return whether nodes of the type want this variant."""
        gpus = instance_type.label(GPU + "count") is not None
        accelerators = instance_type.label(ACCELERATOR + "count") is not None
        match self:
            case Variant.ANY:
                return True
            case Variant.NVIDIA:
                return gpus
            case Variant.NEURON:
                return accelerators
            case Variant.STANDARD:
                return not gpus and not accelerators


def _may_bear(instance_type: InstanceType, key: str, value: str) -> bool:
    requirement = instance_type.requirements.get(key)
    return requirement is None or requirement.has(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A machine image for one architecture ("amd64" or "arm64").

    `labels`, sorted, are what of a type's it is made for, beyond its architecture and chips.
    """

    id: str
    arch: str
    name: str
    created_at: datetime
    deprecated: bool = False
    variant: Variant = Variant.ANY
    labels: tuple[tuple[str, str], ...] = ()

    def suits(self, instance_type: InstanceType) -> bool:
        """Return whether nodes of the type run this image."""
        return (
            self.arch == instance_type.label(labels.ARCH)
            and self.variant.suits(instance_type)
            and all(_may_bear(instance_type, key, value) for key, value in self.labels)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    """A group of instances, and how EC2 places them: "cluster", "partition" or "spread".

    Instances of the types in `without`, by name, cannot be placed so. Where it has `partitions`, that is how
    many.
    """

    id: str
    name: str
    strategy: str
    partitions: int = 0
    without: frozenset[str] = frozenset()

    @property
    def ref(self) -> PlacementGroupRef:
        """The group as node classes and claims name it."""
        return PlacementGroupRef(id=self.id, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A node class's selectors, resolved to objects of the account.

    `subnets` are sorted by free addresses, most first, and `images` by age, newest first. A node class that
    names a launch template of the user's has no images and no security groups here: the template has both.
    `reservations` are those in its zones, sorted.
    """

    subnets: tuple[Subnet, ...]
    security_groups: tuple[str, ...]
    images: tuple[Image, ...]
    from_template: bool = False
    placement_group: PlacementGroup | None = None
    reservations: tuple[Count, ...] = ()

    @property
    def zones(self) -> tuple[tuple[str, str], ...]:
        """The zones of the subnets with their ids, sorted."""
        return tuple(sorted({(subnet.zone, subnet.zone_id) for subnet in self.subnets}))

    def image_for(self, instance_type: InstanceType) -> Image | None:
        """Return the newest image that nodes of the type run, None where there is none."""
        return next((image for image in self.images if image.suits(instance_type)), None)

    def launches(self, instance_type: InstanceType) -> bool:
        """Return whether the type runs an image of the node class and fits its placement group."""
        if self.placement_group is not None and instance_type.name in self.placement_group.without:
            return False
        return self.from_template or self.image_for(instance_type) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The facts about the cluster that a node needs to join it.

    `certificate_authority` is PEM in base64; `version` is as "1.34"; `service_cidr` is the range of the
    cluster's services, of IPv4 or IPv6, and empty if it is unknown.
    """

    name: str
    endpoint: str
    certificate_authority: str
    version: str
    service_cidr: str = ""
