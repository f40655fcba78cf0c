"""The region, the zones and the account that manifests are meant for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treenail.adapters.api.account import Account
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.records import shipped_types
from treenail.adapters.embed.regional_sales import USUAL_REGION, known_regions, sales_in
from treenail.adapters.embed.unknown_types import unknown_types
from treenail.domain.model import labels

REGION_OF_ZONE: Final = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")
# Of a region whose zones nobody names, so many are used.
_ZONES: Final = 3
_SIZES: Final = NodeSizing()


class RegionError(Exception):
    """Nothing is known of the region that is meant."""


@dataclass(frozen=True, slots=True)
class Home:
    """The home of the objects of manifests: a region, zones with subnets, and the account, if it is told."""

    region: str = USUAL_REGION
    zones: tuple[str, ...] | None = None
    account: Account | None = None
    warnings: tuple[str, ...] = ()

    def catalogue(self, sizes: NodeSizing = _SIZES) -> Catalogue:
        """Return what the region sells, at the prices that the account tells, as far as it does."""
        prices = self.account.on_demand_prices if self.account is not None else {}
        if self.region == USUAL_REGION and not prices:
            return Catalogue.shipped(settings=sizes)
        return Catalogue(shipped_types(), sales_in(self.region, self.zones or (), prices).record, sizes)


USUAL_HOME: Final = Home()


def home_of(decoded: Decoded, asked: str = "") -> Home:
    """Return where manifests are meant for: `asked`, else as the account or the zones of objects say.

    Raises:
        RegionError: nothing is known of that region.
    """
    account = next(iter(decoded.accounts), None)
    named = Counter(zone for zone in _zones_named(decoded) if REGION_OF_ZONE.fullmatch(zone))
    regions: Counter[str] = Counter()
    for zone, count in named.items():
        regions[zone[:-1]] += count
    told = asked or (account.region if account is not None else "")
    region = told or min(regions, key=lambda one: (-regions[one], one), default=USUAL_REGION)
    if account is not None and account.region not in ("", region):
        raise RegionError(f"--region {region}: Account {account.name} is of {account.region}")
    _check(region)
    sales = sales_in(region, (), account.on_demand_prices if account is not None else {})
    there = tuple(sorted(sales.record.zones))
    mentioned = {zone for zone in named if zone[:-1] == region}
    unknown = sorted(mentioned - set(there))
    own = account.zones if account is not None and account.subnets is not None else ()
    zones = own or tuple(sorted({*there[:_ZONES], *mentioned} & set(there)))
    others = sorted(set(regions) - {region})
    warnings = [sales.warning] if sales.warning else []
    if others:
        option = "" if asked else "; --region says another"
        warnings.append(
            f"objects name zones of {', '.join(others)}: nothing is bought there, but in {region}{option}"
        )
    warnings += [f"{region} has no zone {zone}" for zone in unknown]
    warnings += unknown_types(account) if account is not None else ()
    return Home(region, zones, account, tuple(warnings))


def not_known(decoded: Decoded) -> Iterator[str]:
    """Yield a line on what a snapshot could not read, and on classes whose reservations are not declared."""
    if not any(account.capacity_reservations for account in decoded.accounts):
        for node_class in decoded.node_classes:
            if node_class.reservation_terms:
                what = f"{node_class.ref.kind} {node_class.ref.name}: spec.capacityReservationSelectorTerms"
                yield f"{what}: selects none: an object of kind Account declares the reservations there are"
    for one in decoded.snapshots:
        if one.not_read:
            yield f"ClusterSnapshot {one.name}: some of it could not be read: {'; '.join(one.not_read)}"


def _check(region: str) -> None:
    if region not in known_regions():
        raise RegionError(
            f"nothing is known of the region {region!r}; known are {', '.join(known_regions())}. "
            f"`make catalogue REGIONS={region}` writes what AWS tells of another one"
        )


def _zones_named(decoded: Decoded) -> Iterator[str]:
    """Yield the zones that objects say they are in, or want their nodes in."""
    for account in decoded.accounts:
        yield from account.zones
    yield from (node.labels.get(labels.ZONE, "") for node in decoded.nodes)
    yield from (claim.zone for claim in decoded.node_claims)
    for pool in decoded.node_pools:
        wanted = pool.requirements.get(labels.ZONE)
        if wanted is not None and not wanted.complement:
            yield from sorted(wanted.values)
    for volume in decoded.volumes:
        for term in volume.node_affinity:
            yield from (value for one in term if one.key == labels.ZONE for value in one.values)
