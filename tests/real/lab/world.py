"""What the laboratory's EC2 is like just now: its capacity, its pace and its prices."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from treenail.adapters.ec2.records import shipped_region

ANY: Final = "*"
_CHEAPEST_SPOT: Final = 0.30
_SPOT_SPREAD: Final = 0.20
_DEEPEST: Final = 10


@dataclass(slots=True)
class Shortage:
    """At most `left` more instances are to be had of the pools it covers ("*" is any): then `code`."""

    capacity_type: str = ANY
    instance_type: str = ANY
    zone: str = ANY
    left: int = 0
    code: str = "InsufficientInstanceCapacity"

    def covers(self, capacity_type: str, instance_type: str, zone: str) -> bool:
        pairs = ((self.capacity_type, capacity_type), (self.instance_type, instance_type), (self.zone, zone))
        return all(mine in (ANY, its) for mine, its in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long things take, in seconds of real time.

    `pending`: from its launch to an instance's running. `hidden`: from its launch to its showing up in
    DescribeInstances. `shutdown`: from its termination to its being terminated. `listed`: from then on,
    how long it still shows up.
    """

    pending: float = 0.0
    hidden: float = 0.0
    shutdown: float = 0.0
    listed: float = 3600.0


@dataclass(slots=True)
class World:
    """The state that tests govern. Safe to share between threads."""

    pace: Pace = field(default_factory=Pace)
    state_events: bool = True
    _shortages: list[Shortage] = field(default_factory=list)
    _spot: dict[tuple[str, str], float] = field(default_factory=dict)
    _on_demand: dict[str, float] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        """Be as at the start."""
        with self._lock:
            self.pace, self.state_events = Pace(), True
            self._shortages.clear()
            self._spot.clear()
            self._on_demand.clear()

    def set_pace(self, **seconds: float) -> dict[str, float]:
        """Change some of the pace, and return all of it."""
        with self._lock:
            self.pace = replace(self.pace, **seconds)
            return asdict(self.pace)

    # --- capacity

    def run_out(self, **shortage: Any) -> None:
        """Have a shortage from now on."""
        with self._lock:
            self._shortages.append(Shortage(**shortage))

    def restock(self) -> None:
        """End all shortages."""
        with self._lock:
            self._shortages.clear()

    def take(self, capacity_type: str, instance_type: str, zone: str) -> str | None:
        """Take one instance out of a pool, or return the code that says why there is none."""
        with self._lock:
            mine = [s for s in self._shortages if s.covers(capacity_type, instance_type, zone)]
            empty = next((s for s in mine if s.left <= 0), None)
            if empty is not None:
                return empty.code
            for shortage in mine:
                shortage.left -= 1
            return None

    def depth(self, instance_type: str, zone: str) -> int:
        """Return how much spare capacity a spot pool has, from 1 to 10."""
        return 1 + int(_drawn("depth", instance_type, zone) * _DEEPEST)

    # --- prices, in US dollars per hour

    def set_spot_price(self, instance_type: str, zone: str, price: float) -> None:
        with self._lock:
            self._spot[instance_type, zone] = price

    def set_on_demand_price(self, instance_type: str, price: float) -> None:
        with self._lock:
            self._on_demand[instance_type] = price

    def on_demand_price(self, instance_type: str) -> float | None:
        """Return the price, None where there is none."""
        with self._lock:
            changed = self._on_demand.get(instance_type)
        return _SHIPPED.get(instance_type) if changed is None else changed

    def spot_price(self, instance_type: str, zone: str) -> float | None:
        """Return 30 to 50 % of the on-demand price, by type and zone; None where there is none."""
        with self._lock:
            changed = self._spot.get((instance_type, zone))
        if changed is not None:
            return changed
        price = self.on_demand_price(instance_type)
        if price is None:
            return None
        return round(price * (_CHEAPEST_SPOT + _SPOT_SPREAD * _drawn("price", instance_type, zone)), 6)

    def priced_types(self) -> Iterable[str]:
        """Return the types that have an on-demand price, sorted."""
        with self._lock:
            return sorted({*_SHIPPED, *self._on_demand})


def _drawn(what: str, instance_type: str, zone: str) -> float:
    digest = hashlib.blake2b(f"{what}/{instance_type}/{zone}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


# Prices of one region stand for those of all: what matters is how they compare.
_SHIPPED: Final = {
    sale.instance_type: sale.on_demand_price
    for sale in shipped_region("us-east-1").sales
    if sale.on_demand_price is not None
}
