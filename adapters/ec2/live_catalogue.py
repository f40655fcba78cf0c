"""The live catalogue: all instance types that a node class can launch now, as AWS says."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, NamedTuple, Protocol

from cachetools import LRUCache

from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.catalogue import Catalogue, Zones
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.capacity_reservations import CapacityReservations
from treenail.adapters.ec2.discovery.cluster import Cluster
from treenail.adapters.ec2.discovery.images import Images
from treenail.adapters.ec2.discovery.node_class_status import node_class_status_of
from treenail.adapters.ec2.discovery.placement_groups import PlacementGroups
from treenail.adapters.ec2.discovery.prices import OnDemand, OnDemandPrices, Spot
from treenail.adapters.ec2.discovery.subnets_and_security_groups import SecurityGroups, Subnets
from treenail.adapters.ec2.discovery.types import InstanceTypes, Offerings, SoldIn
from treenail.adapters.ec2.instance_types import SpotPrices
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import RegionRecord, Sale, TypeRecord
from treenail.adapters.ec2.resolved import PlacementGroup, Resolved, Subnet, Variant
from treenail.domain.model.capacity_reservations import Count, with_reserved
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.observed_capacity import CapacityObserved, ObservedCapacity, Sizes
from treenail.domain.model.placement_groups import in_group
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.template_hash import sizing_hash

# Different node settings in use at once; each costs a few megabytes.
_MOST_KEPT: Final = 16
_MOST_THREADS: Final = 4
_DEFAULTS: Final = NodeSizing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """Seconds for which results of a node class's selectors are cached."""

    subnets: float = 60.0
    images: float = 60.0


_USUAL_PERIODS: Final = Periods()


class _Source(Protocol):
    """A cached answer of AWS that is read anew once in a while."""

    def read(self, *, ahead: float = 0.0) -> object: ...
    def fresh(self, *, ahead: float = 0.0) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Stock:
    """The types, offerings and prices of the region, as they were read."""

    types: tuple[TypeRecord, ...]
    zones: SoldIn
    on_demand: OnDemandPrices
    spot: SpotPrices

    def catalogue(self, region: str, settings: NodeSizing) -> Catalogue:
        sales = tuple(Sale(name, zones, self.on_demand.get(name)) for name, zones in self.zones.items())
        # The zones' ids come with the subnets.
        return Catalogue(self.types, RegionRecord(region, {}, sales), settings)


class _Wanted(NamedTuple):
    """All that decides how a stock looks to a node class."""

    node: NodeSettings
    zones: Zones
    images: frozenset[tuple[str, Variant, tuple[tuple[str, str], ...]]]
    from_template: bool
    placement_group: PlacementGroup | None
    learned: Sizes


class _Made(NamedTuple):
    """The types of a stock for a node class, and those that it could launch if they were sold."""

    sold: tuple[InstanceType, ...]
    unsold: Mapping[str, InstanceType]


class LiveCatalogue:
    """Node classes resolved in an account, and the types they can launch. Threads may share it.

    Answers of AWS are cached: subnets and images for `periods`, capacity reservations for a minute, security
    groups for five minutes, types, offerings and prices for twelve hours. The latter are read when they are
    needed first, and from then on by `refresh` alone: a caller gets the types that are known, and waits for
    no call.
    """

    def __init__(
        self,
        aws: Aws,
        caches: AnswerCaches,
        cluster: Cluster,
        *,
        settings: NodeSizing = _DEFAULTS,
        periods: Periods = _USUAL_PERIODS,
        isolated: bool = False,
        prices: PriceOverrides = NO_OVERRIDES,
        reserved: bool = True,
    ) -> None:
        """Look for images of the cluster's version.

        `isolated` says that the price list is out of reach; `prices` replace public ones. Without `reserved`,
        node classes select no capacity reservations.
        """
        self._use_reserved = reserved
        self._region = aws.clients.region
        self._settings = settings
        self._prices = prices
        self._subnets = Subnets(aws, caches, seconds=periods.subnets)
        self._groups = SecurityGroups(aws, caches)
        self._placement_groups = PlacementGroups(aws, caches)
        self._reservations = CapacityReservations(aws, caches)
        self._images = Images(aws, caches, cluster.version, seconds=periods.images)
        self._types = InstanceTypes(aws, caches)
        self._offerings = Offerings(aws, caches)
        self._on_demand = OnDemand(aws, caches, isolated=isolated)
        self._spot = Spot(aws, caches)
        self._lock = Lock()
        self._learning = Lock()
        self._learned = ObservedCapacity()
        self._clock = caches.clock
        self._stock: _Stock | None = None
        self._catalogue: Catalogue | None = None
        self._made: LRUCache[_Wanted, _Made] = LRUCache(_MOST_KEPT)
        self._reserved: LRUCache[tuple[_Wanted, tuple[Count, ...]], tuple[InstanceType, ...]] = LRUCache(
            _MOST_KEPT
        )

    def resolve(self, node_class: NodeClass) -> Resolved:
        """Return the subnets, security groups, images and so on that `node_class` selects.

        Raises:
            NodeClassNotReadyError: one of its selectors finds nothing.
            PortError: they could not be looked up, and never were before.
        """
        node_class = self._as_used(node_class)
        subnets = self._subnets.of(node_class)
        if node_class.launch_template:
            return Resolved(subnets=subnets, security_groups=(), images=(), from_template=True)
        return Resolved(
            subnets=subnets,
            security_groups=tuple(group.id for group in self._groups.of(node_class)),
            images=self._images.of(node_class),
            placement_group=_placed(self._placement_groups.of(node_class), self._types.last() or ()),
            reservations=self._reservations_in(node_class, subnets),
        )

    def _as_used(self, node_class: NodeClass) -> NodeClass:
        return node_class if self._use_reserved else replace(node_class, reservation_terms=())

    def _reservations_in(self, node_class: NodeClass, subnets: tuple[Subnet, ...]) -> tuple[Count, ...]:
        ids = {subnet.zone: subnet.zone_id for subnet in subnets}
        return tuple(
            replace(one, of=replace(one.of, zone_id=ids[one.of.zone]))
            for one in self._reservations.of(node_class)
            if one.of.zone in ids
        )

    def node_class_status(self, node_class: NodeClass) -> NodeClassStatus:
        """Return what the selectors of `node_class` find, with their conditions."""
        return node_class_status_of(
            self._as_used(node_class),
            subnets=self._subnets,
            groups=self._groups,
            images=self._images,
            reservations=self._reservations,
            placement_groups=self._placement_groups,
        )

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return all types that `node_class` could launch, sorted by name, with offerings and prices.

        The same tuple as before, where nothing has changed.

        Raises:
            NodeClassNotReadyError: one of its selectors finds nothing, or `kubelet` makes no sense.
            PortError: something could not be looked up, and never was before.
        """
        resolved = self.resolve(node_class)
        stock = self._known() or self._read()
        resolved = replace(resolved, placement_group=_placed(resolved.placement_group, stock.types))
        with self._learning:
            images, sized_by = {image.id for image in resolved.images}, sizing_hash(node_class, kubelet)
            learned = self._learned.of(images, sized_by, self._clock.now())
        wanted = _Wanted(
            node=NodeSettings.of(node_class, kubelet),
            zones=resolved.zones,
            images=frozenset((image.arch, image.variant, image.labels) for image in resolved.images),
            from_template=resolved.from_template,
            placement_group=resolved.placement_group,
            learned=learned,
        )
        try:
            # One thread at a time: making them takes a fifth of a second, and others want the same ones.
            with self._lock:
                made = self._types_of(stock, wanted, node_class, kubelet, resolved)
                return self._with_reserved(made, wanted, resolved)
        except ValueError as error:
            raise NodeClassNotReadyError(f"{node_class.ref}: {error}") from None

    def learn(self, observation: CapacityObserved) -> bool:
        """Take in how much a node turned out to have; return whether that is news.

        Types have no more of it from now on in the eyes of node classes that select the image. Nodes of
        a launch template of the user's teach nothing, as it is not known what the next ones will run.
        """
        with self._learning:
            return self._learned.learn(observation)

    def refresh(self, *, ahead: float = 0.0) -> None:
        """Read types, offerings and prices anew that are old, or would be in `ahead` seconds.

        To be called now and then, beside the work. `instance_types` follows what is found at once.

        Raises:
            PortError: types or offerings could not be looked up, and never were before.
        """
        sources: tuple[_Source, ...] = (self._types, self._offerings, self._on_demand, self._spot)
        due = [source for source in sources if not source.fresh(ahead=ahead)]
        if due:
            with ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="catalogue") as threads:
                for reading in [threads.submit(source.read, ahead=ahead) for source in due]:
                    reading.result()

    def _known(self) -> _Stock | None:
        """Return what was read at last, however long ago; None while something never was."""
        types, zones = self._types.last(), self._offerings.last()
        on_demand, spot = self._on_demand.last(), self._spot.last()
        if not types or not zones or on_demand is None or spot is None:
            return None
        return _Stock(types, zones, on_demand, spot)

    def _read(self) -> _Stock:
        """Wait for what was never read. Prices that another thread is reading are not waited for long."""
        self.refresh()
        types, zones = self._types.read(), self._offerings.read()
        return _Stock(types, zones, self._on_demand.current(), self._spot.current())

    def _types_of(
        self, stock: _Stock, wanted: _Wanted, node_class: NodeClass, kubelet: Kubelet, resolved: Resolved
    ) -> _Made:
        if self._catalogue is None or stock != self._stock:
            self._stock = stock
            self._catalogue = stock.catalogue(self._region, self._settings)
            self._made.clear()
            self._reserved.clear()
        made = self._made.get(wanted)
        if made is None:
            # Before its history was ever read, spot is taken to cost as much as on demand.
            types = self._catalogue.instance_types(
                node_class,
                kubelet,
                zones=wanted.zones,
                spot_prices=stock.spot or None,
                learned=wanted.learned,
            )
            fit = tuple(one for one in types if resolved.launches(one))
            group = resolved.placement_group
            if group is not None:
                fit = in_group(fit, group.id, group.partitions)
            made = self._made[wanted] = _Made(
                sold=self._prices.applied(tuple(one for one in fit if one.offerings)),
                unsold={one.name: one for one in fit if not one.offerings},
            )
        return made

    def _with_reserved(self, made: _Made, wanted: _Wanted, resolved: Resolved) -> tuple[InstanceType, ...]:
        """Return the types with what is reserved of them: for the same reservations the same tuple."""
        if not resolved.reservations:
            return made.sold
        key = wanted, resolved.reservations
        types = self._reserved.get(key)
        if types is None:
            types = self._reserved[key] = with_reserved(
                made.sold, resolved.reservations, unsold=made.unsold, prices=self._prices
            )
        return types


def _placed(group: PlacementGroup | None, types: tuple[TypeRecord, ...]) -> PlacementGroup | None:
    """Return a group with what is known of the types that cannot be in it."""
    if group is None:
        return None
    return replace(group, without=frozenset(one.name for one in types if group.strategy in one.unplaced))
