"""Surveys of instances: how they stand in the cloud, and what could be launched in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from treenail.domain.model import labels
from treenail.domain.model.fleets import Instance
from treenail.domain.model.instance_types import InstanceType


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesSurveyed:
    """The state at `surveyed_at`: the instances of the cluster by id, and what a pool could launch.

    `types` are by name; None where nobody could tell.
    """

    surveyed_at: datetime
    instances: Mapping[str, Instance]
    types: Mapping[str, InstanceType] | None = None

    def still_sold(self, instance: Instance) -> bool:
        """Return whether an instance of the same type and capacity type could be launched in its zone.

        Capacity that has run out for now does not matter, and where nobody can tell, it could.
        """
        if self.types is None:
            return True
        sold = self.types.get(instance.instance_type)
        ways = {instance.capacity_type}
        if instance.capacity_type == labels.RESERVED:
            # Where a reservation ends, its instances go on as ones on demand.
            ways.add(labels.ON_DEMAND)
        return sold is not None and any(
            o.zone == instance.zone and o.capacity_type in ways for o in sold.offerings
        )
