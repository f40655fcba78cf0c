"""The assortment of a node class: subnets, images and instance types with prices."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treenail.adapters.api.account import Image, Subnet
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.fake.ec2.images import Images
from treenail.adapters.fake.ec2.market import SpotMarket
from treenail.adapters.fake.ec2.network import Vpc
from treenail.adapters.fake.ec2.placement_groups import PlacementGroups
from treenail.adapters.fake.ec2.profiles import InstanceProfiles
from treenail.adapters.fake.ec2.user_data import check_user_data
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import Count, with_reserved
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.observed_capacity import ObservedCapacity
from treenail.domain.model.placement_groups import in_group
from treenail.domain.model.resources import MEMORY, Resources
from treenail.domain.model.runtime import Clock
from treenail.domain.model.template_hash import sizing_hash
from treenail.domain.scheduling.capacity_shortfalls import with_room

_MOST_KEPT: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Assortment:
    """Types that a node class can launch. `types` has also those of other architectures than its images'."""

    subnets: tuple[Subnet, ...]
    images: Mapping[str, Image]
    types: Mapping[str, InstanceType]
    launchable: tuple[InstanceType, ...]

    def image_for(self, instance_type: InstanceType) -> Image | None:
        """Return the image instances of a type run; None where there is none for its architecture."""
        return self.images.get(_arch(instance_type))

    def reserving(self, counts: Sequence[Count]) -> Assortment:
        """Return it with what is reserved in its zones."""
        zones = {subnet.zone for subnet in self.subnets}
        there = [count for count in counts if count.of.zone in zones]
        if not there:
            return self
        launchable = with_reserved(self.launchable, there)
        types = {**self.types, **{one.name: one for one in launchable}}
        return replace(self, types=types, launchable=launchable)


def _arch(instance_type: InstanceType) -> str:
    return instance_type.label(labels.ARCH) or "amd64"


def _with_memory(instance_type: InstanceType, learned: Mapping[str, int]) -> InstanceType:
    """Return the type with the memory that was learned of its nodes, where any was."""
    memory = learned.get(instance_type.name)
    if memory is None or memory == instance_type.capacity.get(MEMORY, 0):
        return instance_type
    return replace(instance_type, capacity=Resources({**instance_type.capacity, MEMORY: memory}))


class Shop:
    """Puts together what is on offer, and remembers it, as making it takes long."""

    def __init__(
        self,
        clock: Clock,
        catalogue: Catalogue,
        market: SpotMarket,
        *,
        vpc: Vpc,
        images: Images,
        profiles: InstanceProfiles,
        placement_groups: PlacementGroups,
    ) -> None:
        self._clock = clock
        self._catalogue = catalogue
        self._market = market
        self._vpc = vpc
        self._images = images
        self._profiles = profiles
        self._placement_groups = placement_groups
        self.learned = ObservedCapacity()
        self._made: deque[tuple[object, Assortment]] = deque(maxlen=_MOST_KEPT)
        # Prices of now are put into all types, which takes long: for nothing where only sizes were learned.
        self._priced: deque[tuple[object, tuple[InstanceType, ...]]] = deque(maxlen=_MOST_KEPT)

    def on_demand_price(self, instance_type: str) -> float:
        """Return what an instance costs on demand, in $/h; 0 where it is not sold."""
        return self._catalogue.on_demand_price(instance_type) or 0.0

    def knows(self, instance_type: str) -> bool:
        """Return whether there is an instance type of this name at all."""
        # A type may have no price on demand. To look at all types resolves the catalogue.
        return self._catalogue.on_demand_price(instance_type) is not None or instance_type in self.names()

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the region, sorted."""
        return self._catalogue.zones

    def names(self) -> tuple[str, ...]:
        """Return the names of all instance types, sorted. Resolves the catalogue: for errors."""
        return tuple(one.name for one in self._any_types())

    def zone_ids(self, zones: Collection[str]) -> tuple[str, ...]:
        """Return the ids of those of `zones` in which anything is sold, sorted; none where none is known."""
        offerings = (offering for one in self._any_types() for offering in one.offerings)
        return tuple(sorted({one.zone_id for one in offerings if one.zone in zones} - {""}))

    def _any_types(self) -> tuple[InstanceType, ...]:
        nobody = NodeClass(ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "any"))
        return self._catalogue.instance_types(nobody, Kubelet())

    def assortment(self, node_class: NodeClass, kubelet: Kubelet) -> Assortment:
        """Return what a node class can launch, with the prices of now.

        Raises:
            NodeClassNotReadyError: its subnets, security groups, images, role or placement group are not to
                be found, it has user data nothing boots with, or it sets its kubelets up in a way that no
                catalogue can work with.
        """
        subnets = self._vpc.subnets_of(node_class)
        self._vpc.check_groups(node_class)
        group = self._placement_groups.of(node_class)
        partitions = self._placement_groups.partitions(group)
        images = self._images.of(node_class)
        if not node_class.launch_template:
            self._profiles.of(node_class)
            check_user_data(node_class)
        # What changes with every write to the class and says nothing of its content is left out.
        same = replace(node_class, resource_version=0)
        epoch = self._market.epoch(self._clock.monotonic())
        ids = {image.id for image in images.values()}
        learned = self.learned.of(ids, sizing_hash(node_class, kubelet), self._clock.now())
        key = (same, kubelet, subnets, images, epoch, self._market.changes, learned, group, partitions)
        for known, made in self._made:
            if known == key:
                return made
        zones = tuple(sorted({subnet.zone for subnet in subnets}))
        try:
            estimated = self._types(same, kubelet, zones, epoch)
        except ValueError as error:
            raise NodeClassNotReadyError(f"{node_class.ref}: {error}") from None
        memory = dict(learned.memory)
        types = with_room(tuple(_with_memory(one, memory) for one in estimated), dict(learned.room))
        if group:
            types = in_group(types, group.id, partitions)
        made = Assortment(
            subnets=subnets,
            images=images,
            types={t.name: t for t in types},
            launchable=tuple(t for t in types if t.offerings and _arch(t) in images),
        )
        self._made.append((key, made))
        return made

    def _types(
        self, node_class: NodeClass, kubelet: Kubelet, zones: tuple[str, ...], epoch: int
    ) -> tuple[InstanceType, ...]:
        key = (node_class, kubelet, zones, epoch, self._market.changes)
        for known, priced in self._priced:
            if known == key:
                return priced
        plain = self._catalogue.instance_types(node_class, kubelet, zones=zones)
        prices = {
            (t.name, o.zone): price
            for t in plain
            for o in t.offerings
            if o.capacity_type == labels.SPOT
            and (price := self._market.price(t.name, o.zone, epoch)) is not None
        }
        types = self._catalogue.instance_types(node_class, kubelet, zones=zones, spot_prices=prices)
        self._priced.append((key, types))
        return types
