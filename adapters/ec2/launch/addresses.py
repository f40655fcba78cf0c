"""Free addresses of subnets, less those that launches since the last look are about to take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from treenail.adapters.ec2.resolved import Subnet
from treenail.domain.model.runtime import Clock

# Looks at subnets come a minute apart, or so; what no look has made void by then never will be.
_KEPT_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class _Taken:
    """Addresses a launch is assumed to take of a subnet, `each` for an instance, since second `at`."""

    at: float
    each: int
    instances: int


class FreeAddresses:
    """Knows how many addresses are in flight, by subnet. Threads may share it.

    A look at a subnet that began after a launch has counted what that launch took.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._taken: dict[str, dict[str, _Taken]] = {}
        self._exhausted: dict[str, float] = {}

    def roomiest(self, subnets: Iterable[Subnet]) -> Mapping[str, Subnet]:
        """Return the subnet of each zone with the most free addresses left; of equals the first by id."""
        with self._lock:
            ranked = sorted(subnets, key=lambda one: (-self._left(one), one.id))
        by_zone: dict[str, Subnet] = {}
        for subnet in ranked:
            by_zone.setdefault(subnet.zone, subnet)
        return by_zone

    def left(self, subnet: Subnet) -> int:
        """Return how many addresses a subnet has left, as far as we know; negative if too many are taken."""
        with self._lock:
            return self._left(subnet)

    def deduct(self, launch: str, each: Mapping[str, int], *, instances: int) -> None:
        """Take it that a launch takes so many addresses for each instance of each subnet, by its id."""
        now = self._clock.monotonic()
        with self._lock:
            self._tidy(now)
            for subnet, amount in each.items():
                self._taken.setdefault(subnet, {})[launch] = _Taken(now, amount, instances)

    def settle(self, launch: str, bought: Mapping[str, int]) -> None:
        """Give back what a launch did not take, `bought` being the number of its instances by subnet id."""
        with self._lock:
            for subnet, instances in bought.items():
                taken = self._taken.get(subnet, {})
                known = taken.pop(launch, None)
                if known is not None and instances:
                    taken[launch] = replace(known, instances=instances)

    def exhaust(self, subnets: Iterable[str]) -> None:
        """Take it that subnets have no address left, until they are looked at again."""
        now = self._clock.monotonic()
        with self._lock:
            self._exhausted |= dict.fromkeys(subnets, now)

    def _left(self, subnet: Subnet) -> int:
        exhausted_at = self._exhausted.get(subnet.id)
        if exhausted_at is not None and exhausted_at >= subnet.looked_at:
            return 0
        taken = self._taken.get(subnet.id, {}).values()
        return subnet.free_addresses - sum(
            one.each * one.instances for one in taken if one.at >= subnet.looked_at
        )

    def _tidy(self, now: float) -> None:
        """Forget what is so old that a look has counted it."""
        for taken in self._taken.values():
            for launch in [name for name, one in taken.items() if now - one.at > _KEPT_SECONDS]:
                del taken[launch]
        for subnet in [one for one, at in self._exhausted.items() if now - at > _KEPT_SECONDS]:
            del self._exhausted[subnet]
