"""The estate from before: the account, and instances that run already."""

from __future__ import annotations

from dataclasses import replace

from treenail.adapters.api.account import Account, Subnet
from treenail.adapters.fake.ec2.region import Region
from treenail.domain.model import labels
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.fleets import FleetRequest, Instance
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.resources import Resources


class Estate:
    """Takes in what a region had before anybody looked."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def furnish(self, account: Account) -> None:
        """Take in the images, placement groups, reservations and spot prices of an account.

        The region was made with its subnets, security groups and roles. Reservations that have ended, and
        prices of what is not sold, are passed over.
        """
        region = self._region
        if account.images is not None:
            region.images.know(account.images)
        if account.placement_groups is not None:
            region.placement_groups.know(account.placement_groups)
        now = region.agenda.now()
        for reserved in account.capacity_reservations:
            if reserved.ends_at is None or reserved.ends_at > now:
                region.reservations.add(reserved)
        for (name, zone), price in sorted(account.spot_prices.items()):
            if region.market.sold(name, zone):
                region.market.set_price(name, zone, price)

    def image_of(self, claim: NodeClaim, request: FleetRequest) -> str:
        """Return the image that a node of a claim would run today, its own where nobody can tell."""
        try:
            images = self._region.images.of(request.node_class)
        except NodeClassNotReadyError:
            return claim.image_id
        image = images.get(claim.labels.get(labels.ARCH, ""))
        return claim.image_id if image is None else image.id

    def adopt(self, instance: Instance, request: FleetRequest, estimate: Resources) -> None:
        """Take in an instance of a request, in a subnet and with what else its node class gives.

        `estimate` is what its node has for pods. Where the class gives nothing, as it is not ready, any
        subnet of the zone will do, else any.
        """
        region, node_class = self._region, request.node_class
        try:
            subnets = region.vpc.subnets_of(node_class)
            groups = region.vpc.group_ids_of(node_class)
            placed = region.placement_groups.of(node_class)
        except NodeClassNotReadyError:
            subnets, groups, placed = region.vpc.subnets, (), instance.placement_group
        subnet = _in_zone(subnets, instance.zone) or _in_zone(region.vpc.subnets, instance.zone) or subnets[0]
        placed_instance = replace(
            instance,
            price=instance.price or self._price(instance),
            subnet_id=subnet.id if subnet.zone == instance.zone else "",
            security_groups=groups,
            placement_group=placed,
            instance_profile=region.profiles.name_of(node_class),
        )
        region.machines.adopt(placed_instance, request, subnet, estimate)

    def _price(self, instance: Instance) -> float:
        """Return what an instance costs that does not say it, in $/h; 0 where its type is not sold."""
        spot = None
        if instance.capacity_type == labels.SPOT:
            spot = self._region.market.price_at(
                instance.instance_type, instance.zone, self._region.agenda.monotonic()
            )
        return spot if spot is not None else self._region.shop.on_demand_price(instance.instance_type)


def _in_zone(subnets: tuple[Subnet, ...], zone: str) -> Subnet | None:
    return next((one for one in subnets if one.zone == zone), None)
