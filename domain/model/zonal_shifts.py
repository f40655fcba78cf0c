"""Zonal shifts: zones that somebody, or AWS itself, moved the cluster's traffic away from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import ANY, OfferingKey
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_pools import NodePool

_NONE: Final = frozenset[str]()


@dataclass(frozen=True, slots=True, order=True)
class ZonalShift:
    """A shift away from a zone, by its id, which ends by itself at a time. Not `applied`, it says nothing."""

    zone_id: str
    until: datetime
    applied: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonesShifted:
    """The zones that are shifted away from by now, by their ids: others are not, or not any more."""

    zone_ids: frozenset[str]


def shifted_zones(shifts: Iterable[ZonalShift], now: datetime) -> frozenset[str]:
    """Return the ids of the zones that are shifted away from."""
    return frozenset(one.zone_id for one in shifts if one.applied and one.until > now)


def closed(zone_ids: Iterable[str]) -> frozenset[OfferingKey]:
    """Return what is not to be bought in zones of these ids: anything."""
    return frozenset((ANY, ANY, zone_id) for zone_id in zone_ids)


def shift_events(
    pool: NodePool,
    zones: Iterable[tuple[str, str]],
    *,
    begun: frozenset[str] = _NONE,
    ended: frozenset[str] = _NONE,
) -> tuple[ClusterEvent, ...]:
    """Return the events, in Karpenter's words, on a pool that may buy in zones whose shift begun or ended.

    `zones` are those of its catalogue, as (id, name).
    """
    own = pool.template_requirements()
    name, number = own.get(labels.ZONE), own.get(labels.ZONE_ID)
    about = ObjectRef(pool.generation.pool_kind, pool.name, uid=pool.uid)
    events = []
    for zone_id, zone in sorted(set(zones)):
        if (name is not None and not name.has(zone)) or (number is not None and not number.has(zone_id)):
            continue
        where = f"offerings in zone {zone} ({zone_id}) are"
        if zone_id in begun:
            says = f"Zonal shift detected: {where} unavailable for this {about.kind}"
            events.append(ClusterEvent(about, "ZonalShiftActive", says, warning=True))
        elif zone_id in ended:
            says = f"Zonal shift cleared: {where} restored for this {about.kind}"
            events.append(ClusterEvent(about, "ZonalShiftCleared", says))
    return tuple(events)
