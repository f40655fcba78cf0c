"""What pools may have together, and how much choice their claims must leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.fuzz.check.amounts import Amounts, add, amounts, most, short_of
from tests.fuzz.check.decision import Claim, Decision
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.pools import Pool


def check_limits(decision: Decision) -> Iterator[Fault]:
    """Each claim counts with the type that costs least."""
    for pool in _pools_that_buy(decision):
        short = short_of(_limited(pool, committed(decision, pool, cheapest)), pool.limits)
        if short:
            yield Fault(Kind.LIMIT, pool.name, f"goes over its limit of {', '.join(short)}")


def over_with_largest(decision: Decision) -> list[str]:
    """Return the pools that would go over a limit if each claim took its largest type."""
    return [
        pool.name
        for pool in _pools_that_buy(decision)
        if short_of(_limited(pool, committed(decision, pool, largest)), pool.limits)
    ]


def _pools_that_buy(decision: Decision) -> list[Pool]:
    names = dict.fromkeys(claim.pool.name for claim in decision.claims)
    return [decision.scenario.pools[name] for name in names]


def _limited(pool: Pool, used: Amounts) -> Amounts:
    return {name: value for name, value in used.items() if name in pool.limits}


def committed(decision: Decision, pool: Pool, takes: Callable[[Claim], Amounts]) -> Amounts:
    """Return what a pool has with all its claims, and how many nodes."""
    total = decision.scenario.used(pool.name)
    for claim in decision.claims:
        if claim.pool is pool:
            add(total, takes(claim))
            add(total, amounts({"nodes": 1}))
    return total


def cheapest(claim: Claim) -> Amounts:
    way = min(claim.home.ways, key=lambda way: way.price, default=None)
    return way.type.capacity if way else {}


def largest(claim: Claim) -> Amounts:
    return most(way.type.capacity for way in claim.home.ways)


def check_min_values(decision: Decision) -> Iterator[Fault]:
    for claim in decision.claims:
        for key, least in claim.pool.min_values.items():
            types = dict.fromkeys(way.type for way in claim.home.ways)
            values = {value for one in types for value in one.values(key)}
            if len(values) < least:
                yield Fault(Kind.MIN_VALUES, claim.name, f"{len(values)} values of {key} are not {least}")
