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
class _Rule:
    """The most instances that each pool of a pattern gives, until monotonic second `until`.

    Where that is without end, older rules do not count in these pools.
    """

    pattern: Pool
    most: float
    until: float = inf
    limit: bool = False


class CapacityPools:
    """Pools without end, unless they are limited or have run out."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        # The oldest first.
        self._rules: list[_Rule] = []
        self._in_use: Counter[Pool] = Counter()

    def has_room(self, pool: Pool) -> bool:
        """Return whether one more instance can be had from `pool`."""
        now, most = self._agenda.monotonic(), inf
        for rule in reversed(self._rules):
            if rule.until > now and rule.pattern.covers(pool):
                if rule.most == inf:
                    break
                most = min(most, rule.most)
        return self._in_use[pool] < most

    def take(self, pool: Pool) -> None:
        """Take one instance."""
        self._in_use[pool] += 1

    def give_back(self, pool: Pool) -> None:
        """Give one instance back."""
        self._in_use[pool] -= 1

    def run_out(self, pattern: Pool, until: float | None) -> None:
        """Set the pools of `pattern` to 0 until monotonic second `until`, or for good."""
        now = self._agenda.monotonic()
        self._rules = [rule for rule in self._rules if rule.until > now]
        self._rules.append(_Rule(pattern, 0, inf if until is None else until))

    def limit(self, pattern: Pool, most: int) -> None:
        """Allow at most so many instances at a time in each pool of `pattern`."""
        if most < 0:
            raise ValueError(f"a pool cannot hold {most} instances")
        self._rules = [rule for rule in self._rules if not (rule.limit and rule.pattern == pattern)]
        self._rules.append(_Rule(pattern, most, limit=True))

    def restock(self, pattern: Pool) -> None:
        """End the shortages and limits of pools within `pattern`, also those of a wider pattern."""
        self._rules = [rule for rule in self._rules if not pattern.covers(rule.pattern)]
        if self._rules:
            self._rules.append(_Rule(pattern, inf))
