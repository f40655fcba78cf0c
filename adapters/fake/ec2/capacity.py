"""Capacity that EC2 has left, by capacity type, instance type and zone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

from treenail.domain.model.runtime import Agenda

ANY: Final = "*"
# After the name of a family of instance types, it means all of them.
OF_FAMILY: Final = ".*"


class Pool(NamedTuple):
    """The key by which capacity is counted. In a pattern, "*" is any, and "c5.*" any type of a family."""

    capacity_type: str
    instance_type: str
    zone: str

    def covers(self, pool: Pool) -> bool:
        """Return whether `pool` is one that this pattern is about."""
        return all(mine in (ANY, its) for mine, its in zip(self, pool, strict=True)) or self._of_family(pool)

    def _of_family(self, pool: Pool) -> bool:
        family = self.instance_type.removesuffix(ANY)
        if not self.instance_type.endswith(OF_FAMILY) or not pool.instance_type.startswith(family):
            return False
        return self._replace(instance_type=ANY).covers(pool)


@dataclass(frozen=True, slots=True)
class _Shortage:
    """Nothing is left in the pools of a pattern until monotonic second `until`."""

    pattern: Pool
    until: float


class CapacityPools:
    """Pools without end, unless they are limited or have run out."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._limits: dict[Pool, int] = {}
        self._shortages: list[_Shortage] = []
        self._in_use: Counter[Pool] = Counter()

    def has_room(self, pool: Pool) -> bool:
        """Return whether one more instance can be had from `pool`."""
        now = self._agenda.monotonic()
        if any(s.until > now and s.pattern.covers(pool) for s in self._shortages):
            return False
        limits = [most for pattern, most in self._limits.items() if pattern.covers(pool)]
        return self._in_use[pool] < min(limits, default=inf)

    def take(self, pool: Pool) -> None:
        """Take one instance."""
        self._in_use[pool] += 1

    def give_back(self, pool: Pool) -> None:
        """Give one instance back."""
        self._in_use[pool] -= 1

    def run_out(self, pattern: Pool, until: float | None) -> None:
        """Set the pools of `pattern` to 0 until monotonic second `until`, or for good."""
        now = self._agenda.monotonic()
        self._shortages = [s for s in self._shortages if s.until > now]
        self._shortages.append(_Shortage(pattern, inf if until is None else until))

    def limit(self, pattern: Pool, most: int) -> None:
        """Allow at most so many instances at a time in each pool of `pattern`."""
        if most < 0:
            raise ValueError(f"a pool cannot hold {most} instances")
        self._limits[pattern] = most

    def restock(self, pattern: Pool) -> None:
        """End the shortages and limits of pools within `pattern`."""
        self._shortages = [s for s in self._shortages if not pattern.covers(s.pattern)]
        self._limits = {p: most for p, most in self._limits.items() if not pattern.covers(p)}
