"""The parts of a fake EC2 region, made to work together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.adapters.api.account import Account, SecurityGroup, Subnet
from treenail.adapters.fake.ec2.capacity import CapacityPools
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.fake.ec2.images import Images
from treenail.adapters.fake.ec2.machines import Machines
from treenail.adapters.fake.ec2.market import SpotMarket
from treenail.adapters.fake.ec2.network import Vpc, default_groups, default_subnets
from treenail.adapters.fake.ec2.placement_groups import PlacementGroups
from treenail.adapters.fake.ec2.profiles import InstanceProfiles
from treenail.adapters.fake.ec2.reservations import Reservations
from treenail.adapters.fake.ec2.settings import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.shop import Assortment, Shop
from treenail.adapters.fake.ec2.spells import Spells
from treenail.adapters.fake.luck import fork
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.runtime import Agenda

_DEFAULT_ZONES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of a region; None is the default."""

    zones: Sequence[str] | None = None
    subnets: Sequence[Subnet] | None = None
    security_groups: Sequence[SecurityGroup] | None = None
    roles: Sequence[str] | None = None

    @classmethod
    def of(cls, account: Account, zones: Sequence[str] | None) -> Layout:
        """Return the layout of an account, which says nothing of `zones` where it names no subnets."""
        return cls(
            zones=zones,
            subnets=account.subnets,
            security_groups=account.security_groups,
            roles=account.roles,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region of EC2. `dice` are for its users to fork from."""

    name: str
    agenda: Agenda
    dice: random.Random
    settings: EC2Settings
    faults: Callable[[], EC2Faults]
    spells: Spells
    vpc: Vpc
    images: Images
    profiles: InstanceProfiles
    placement_groups: PlacementGroups
    pools: CapacityPools
    market: SpotMarket
    shop: Shop
    reservations: Reservations
    machines: Machines

    @classmethod
    def of(
        cls,
        *,
        agenda: Agenda,
        dice: random.Random,
        catalogue: Catalogue,
        settings: EC2Settings,
        faults: Callable[[], EC2Faults],
        layout: Layout,
        cluster: str,
    ) -> Region:
        """Make a region, with the instance profiles of one cluster.

        Raises:
            ValueError: the catalogue does not have its zones, or its subnets overlap.
        """
        zones = _checked_zones(layout.zones, catalogue)
        vpc = Vpc(
            default_subnets(zones) if layout.subnets is None else layout.subnets,
            default_groups() if layout.security_groups is None else layout.security_groups,
        )
        images, pools, spells = Images(), CapacityPools(agenda), Spells(agenda)
        reservations, placement_groups = Reservations(agenda), PlacementGroups()
        market = SpotMarket(
            dice.getrandbits(64), catalogue, factor=settings.spot_factor, moving=settings.moving_prices
        )
        name = zones[0].rstrip("abcdef")
        profiles = InstanceProfiles(agenda, cluster=cluster, region=name, roles=layout.roles)
        return cls(
            name=name,
            agenda=agenda,
            dice=dice,
            settings=settings,
            faults=faults,
            spells=spells,
            vpc=vpc,
            images=images,
            profiles=profiles,
            placement_groups=placement_groups,
            pools=pools,
            market=market,
            shop=Shop(
                agenda,
                catalogue,
                market,
                vpc=vpc,
                images=images,
                profiles=profiles,
                placement_groups=placement_groups,
            ),
            reservations=reservations,
            machines=Machines(
                agenda,
                fork(dice),
                settings,
                faults,
                vpc=vpc,
                pools=pools,
                reservations=reservations,
                spells=spells,
            ),
        )

    def assortment(self, node_class: NodeClass, kubelet: Kubelet) -> Assortment:
        """Return what a node class can launch, what is reserved included.

        Raises:
            NodeClassNotReadyError: as the shop says.
        """
        return self.shop.assortment(node_class, kubelet).reserving(self.reservations.counts(node_class))


def _checked_zones(zones: Sequence[str] | None, catalogue: Catalogue) -> tuple[str, ...]:
    known = catalogue.zones
    chosen = tuple(known[:_DEFAULT_ZONES] if zones is None else zones)
    unknown = [zone for zone in chosen if zone not in known]
    if not chosen or unknown:
        raise ValueError(f"the catalogue has {', '.join(known)}, not {', '.join(unknown) or 'no zones'}")
    return chosen
