"""Which pools a fleet takes its instances from, in which order: EC2's allocation strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeAlias

from moto.ec2.exceptions import EC2ClientError

# Pools with less spare capacity than this are thought likely to be interrupted.
_DEEP: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """An override the fleet may choose. `depth` is its spare capacity, from 1 to 10, `price` in $/h."""

    instance_type: str
    zone: str
    price: float
    depth: int
    priority: float = inf
    subnet_id: str | None = None
    image_id: str = ""
    template: Any = None
    said: Mapping[str, Any] = field(default_factory=dict)


_Key: TypeAlias = Callable[[Pool], tuple[float, ...]]

# Small comes first. Equal pools come in the order of types and zones.
_STRATEGIES: Final[Mapping[str, Mapping[str, _Key]]] = {
    "on-demand": {
        "lowest-price": lambda pool: (pool.price,),
        "prioritized": lambda pool: (pool.priority, pool.price),
    },
    "spot": {
        "lowest-price": lambda pool: (pool.price,),
        "capacity-optimized": lambda pool: (-pool.depth,),
        "capacity-optimized-prioritized": lambda pool: (pool.depth < _DEEP, pool.priority, -pool.depth),
        "price-capacity-optimized": lambda pool: (pool.depth < _DEEP, pool.price),
    },
}


def in_order(pools: Sequence[Pool], capacity_type: str, strategy: str) -> list[Pool]:
    """Return the pools in the order a fleet tries them.

    Raises:
        EC2ClientError: there is no such strategy for this capacity type.
    """
    key = _STRATEGIES[capacity_type].get(strategy)
    if key is None:
        message = f"The allocation strategy {strategy} is not one of {capacity_type} fleets."
        raise EC2ClientError("InvalidParameterValue", message)
    return sorted(pools, key=lambda pool: (*key(pool), pool.instance_type, pool.zone))
