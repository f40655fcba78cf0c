"""Events from outside that a test may cause: shortages, interruptions, people at consoles."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.fake.ec2.capacity import ANY, OF_FAMILY, Pool
from treenail.adapters.fake.ec2.fleets import Fleets
from treenail.adapters.fake.ec2.launch_templates import LaunchTemplates
from treenail.adapters.fake.ec2.region import Region
from treenail.adapters.fake.ec2.spells import Spell
from treenail.adapters.fake.ec2.troubles import Troubles
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.launch.trial_launch import Forbidden
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Instance

_CAPACITY_TYPES: Final = (labels.ON_DEMAND, labels.RESERVED, labels.SPOT)


class OutsideEvents:
    """Events that users of the fake cause. Methods raise ValueError where an event cannot happen."""

    def __init__(
        self, region: Region, fleets: Fleets, templates: LaunchTemplates, queue: FakeQueue | None
    ) -> None:
        self._region = region
        self._fleets = fleets
        self._templates = templates
        self._troubles = Troubles(region, queue)
        # What the controller may not do of a launch, for now.
        self.forbidden: Forbidden | None = None

    def launch(self, request: FleetRequest) -> tuple[Instance, ...]:
        """Launch as somebody else would, who need not tag instances as this cluster's."""
        return self._fleets.create(request).instances

    def run_out(
        self, instance_type: str, zone: str, capacity_type: str | None = None, until: float | None = None
    ) -> None:
        """Set the capacity of a type ("*", "c5.*") in a zone ("*") and capacity type (None is any) to 0.

        `until` is a monotonic second; None is for good, or until `restock`.
        """
        self.check_pools(instance_type, zone, capacity_type)
        self._region.pools.run_out(Pool(capacity_type or ANY, instance_type, zone), until)

    def limit(self, instance_type: str, zone: str, capacity_type: str | None = None, *, most: int) -> None:
        """Allow at most `most` instances at a time in each of these pools."""
        self.check_pools(instance_type, zone, capacity_type)
        self._region.pools.limit(Pool(capacity_type or ANY, instance_type, zone), most)

    def restock(self, instance_type: str = ANY, zone: str = ANY, capacity_type: str | None = None) -> None:
        """End the shortages and limits of these pools."""
        self.check_pools(instance_type, zone, capacity_type)
        self._region.pools.restock(Pool(capacity_type or ANY, instance_type, zone))

    def check_pools(self, instance_type: str, zone: str, capacity_type: str | None = None) -> None:
        """Check that pools of this type ("*", "c5.*"), zone ("*") and capacity type (None is any) are used.

        Raises:
            ValueError: there is no such type, family, zone or capacity type, or nothing can be bought in the
                zone; the nearest is named.
        """
        self._check_type(str(instance_type))
        self._check_zone(str(zone))
        if capacity_type not in (None, ANY, *_CAPACITY_TYPES):
            known = ", ".join(_CAPACITY_TYPES)
            raise ValueError(f"there is no capacity type {capacity_type}: there are {known}")

    def _check_zone(self, name: str) -> None:
        """Check that a zone is one in which anything can happen, or is any."""
        used = self._used_zones()
        if name in (ANY, *used):
            return
        there = ", ".join(used)
        if name in self._region.shop.zones:
            raise ValueError(f"there are no subnets in the zone {name}, but in {there}")
        raise ValueError(f"there is no zone {name}{meant(name, used) or f': there are {there}'}")

    def _used_zones(self) -> tuple[str, ...]:
        """Return the zones that have subnets or instances: nothing is bought in others."""
        living = {one.instance.zone for one in self._region.machines.all() if one.instance.live}
        return tuple(sorted({subnet.zone for subnet in self._region.vpc.subnets} | living))

    def _check_type(self, name: str) -> None:
        shop = self._region.shop
        families = {one.partition(".")[0] for one in shop.names()}
        if name.endswith(OF_FAMILY):
            family = name.removesuffix(OF_FAMILY)
            if family not in families:
                raise ValueError(f"there is no family of instance types {family}{meant(family, families)}")
        elif name != ANY and not shop.knows(name):
            family = next((one for one in sorted(families) if name in (one, f"{one}.", f"{one}*")), "")
            hint = "; a family is written c5.*" if ANY in name else meant(name, shop.names())
            hint = f"; did you mean {family}{OF_FAMILY}?" if family else hint
            raise ValueError(f"there is no instance type {name}{hint}")

    def zone_ids(self) -> tuple[str, ...]:
        """Return the ids of the zones that are used, sorted; none where the catalogue has none."""
        return self._region.shop.zone_ids(self._used_zones())

    def set_spot_price(self, instance_type: str, zone: str, price: float | None) -> None:
        """Let spot cost `price` from now on, in $/h; with None again what it would by itself.

        Instances that run keep the price they were bought at.
        """
        self._check_zone(zone)
        self._region.market.set_price(instance_type, zone, price)

    def interrupt(self, instance_id: str, notice_seconds: float = 120) -> None:
        """Warn of the end of a spot instance, and end it when the notice is over."""
        self._troubles.interrupt(instance_id, notice_seconds)

    def being_interrupted(self, instance_id: str) -> bool:
        """Return whether the end of a spot instance was announced already."""
        return self._troubles.being_interrupted(instance_id)

    def recommend_rebalance(self, instance_id: str) -> None:
        """Send the notice that a spot instance is at an elevated risk of interruption."""
        self._troubles.recommend_rebalance(instance_id)

    def terminate(self, instance_id: str) -> None:
        """Terminate an instance as somebody at a console would."""
        self._troubles.terminate(instance_id)

    def stop(self, instance_id: str) -> None:
        """Stop an instance as somebody at a console would."""
        self._troubles.stop(instance_id)

    def retire(self, *instance_ids: str, after_seconds: float = 14 * 86_400) -> None:
        """Announce the retirement of the hardware of instances, and end them at that time."""
        self._troubles.retire(instance_ids, after_seconds)

    def forbid(self, action: str | None) -> None:
        """Take the permission for an action of launches, such as "CreateFleet", away; None gives all back."""
        why = "You are not authorized to perform this operation."
        self.forbidden = None if action is None else Forbidden(action=action, why=why)

    def begin(self, spell: Spell, seconds: float) -> None:
        """Have something go wrong with all calls for so many seconds."""
        self._region.spells.begin(spell, seconds)

    def publish_image(self, alias: str) -> str:
        """Publish newer images of a family: "al2023@latest" means them from now on. Return the alias."""
        return self._region.images.publish(alias)

    def delete_templates(self) -> None:
        """Delete all launch templates as somebody at a console would: the next launch finds none."""
        self._templates.delete_all()
