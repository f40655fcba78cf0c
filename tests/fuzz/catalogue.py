"""The catalogue that scenarios are packed against, in the JSON of Karpenter's KWOK provider."""

from __future__ import annotations

from functools import cache

from tests.fuzz.manifests import CAPACITY_TYPE, ZONE, Manifest, need
from treenail.adapters.kwok.generic_types import generic_types
from treenail.domain.model.instance_types import InstanceType, Offering


@cache
def catalogue() -> list[Manifest]:
    """Return the 144 types that the provider has where nobody gives it others."""
    return [_written(one) for one in generic_types()]


def _written(one: InstanceType) -> Manifest:
    _, _, architecture, system = one.name.split("-")
    return {
        "name": one.name,
        "architecture": architecture,
        "operatingSystems": [system],
        "resources": one.capacity.format(),
        "offerings": [_offering(offering) for offering in one.offerings],
    }


def _offering(one: Offering) -> Manifest:
    requirements = [need(CAPACITY_TYPE, "In", one.capacity_type), need(ZONE, "In", one.zone)]
    return {"Price": one.price, "Available": one.available, "Requirements": requirements}
