"""Pools that nothing can be bought for, whatever pods ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.event_subjects import of_pool
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.requirements import Requirements

_MESSAGE: Final = "NodePool requirements filtered out all compatible available instance types"


def nothing_to_buy(
    pool: NodePool, types: Iterable[InstanceType], *, strict: bool = True
) -> NothingToBuy | None:
    """Return a finding if a pool can use none of the `types` now; None if it can use some.

    With `strict`, enough of them to meet `minValues`.
    """
    wanted = pool.template_requirements()
    there = _compatible(types, wanted)
    least = {r.key: r.min_values for r in wanted.values() if r.min_values is not None} if strict else {}
    values: dict[str, set[str]] = {key: set() for key in least}
    found = False
    for one in there:
        found = True
        for key, known in values.items():
            known.update(one.values(key))
        if all(len(values[key]) >= count for key, count in least.items()):
            return None
    return NothingToBuy(pool=of_pool(pool), min_values=found)


def no_compatible_types(nothing: NothingToBuy) -> ClusterEvent:
    """Return the event that says so of the pool."""
    why = " due to minValues incompatibility" if nothing.min_values else ""
    return ClusterEvent(nothing.pool, "NoCompatibleInstanceTypes", f"{_MESSAGE}{why}", warning=True)


def _compatible(types: Iterable[InstanceType], wanted: Requirements) -> Iterator[InstanceType]:
    return (one for one in types if one.requirements.intersects(wanted) and one.cheapest(wanted) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToBuy:
    """No type that a pool's requirements allow can be bought now, or too few for its `minValues`."""

    pool: ObjectRef
    min_values: bool = False
