"""Dollars of storms of wishes, both ways: nodes bought for what is wanted, and for pods alone.

    python -m tests.bench.wish_costs [--consolidating] 0-99

Prints a line of JSON for each seed. At last it prints how much more `wishes` cost, in all, for each hour that
a pod ran and in the median storm, and how many more CPU-hours of nodes were bought, as a CPU costs many times
as much where spot capacity has run out; each with the middle 95 % of 2,000 resamples of the storms. And the
share of unused nodes. With --consolidating the pools do so as they do by default, and storms end when they
are measured: they are not looked at when all is quiet.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec

from tests.fuzz.__main__ import seeds
from tests.simulation.storm import POOLS
from tests.simulation.wish_storm import WishStorm

_WAYS: Final = {"wishes": True, "pods": False}
_RESAMPLES: Final = 2_000


class Spent(msgspec.Struct, frozen=True):
    """What one storm came to after 35 minutes, in $ and hours."""

    cost: float
    unused: float
    pod_hours: float
    cpu_hours: float


Pair: TypeAlias = dict[str, Spent]
Measure: TypeAlias = Callable[[Sequence[Pair]], float]


def _cost(pairs: Sequence[Pair], way: str) -> float:
    return sum(pair[way].cost for pair in pairs)


def in_all(pairs: Sequence[Pair]) -> float:
    """Return how much more wishes cost in all, as a share of what pods alone cost."""
    return _cost(pairs, "wishes") / _cost(pairs, "pods") - 1


def per_pod_hour(pairs: Sequence[Pair]) -> float:
    """Return how much more they cost for each hour that a pod ran, as a share."""
    early, late = (sum(pair[way].pod_hours for pair in pairs) for way in _WAYS)
    return (1 + in_all(pairs)) * late / early - 1


def in_cpus(pairs: Sequence[Pair]) -> float:
    """Return how many more CPU-hours of nodes wishes took, whatever they cost, as a share."""
    early, late = (sum(pair[way].cpu_hours for pair in pairs) for way in _WAYS)
    return early / late - 1


def in_the_median(pairs: Sequence[Pair]) -> float:
    """Return how much more they cost in the median storm, as a share."""
    return statistics.median(pair["wishes"].cost / pair["pods"].cost for pair in pairs) - 1


_MEASURES: Final[dict[str, Measure]] = {
    "in all": in_all,
    "per pod-hour": per_pod_hour,
    "in the median storm": in_the_median,
    "CPU-hours of nodes": in_cpus,
}


def resampled(measure: Measure, pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of a measure over resamples of the storms."""
    dice = random.Random(0)
    found = sorted(measure(dice.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES))
    return found[_RESAMPLES // 40], found[-_RESAMPLES // 40]


class _MeasuredError(Exception):
    """The storm is measured, and need not go on."""


class _ConsolidatingStorm(WishStorm):
    """A storm in pools that consolidate, until it is measured."""

    def _pools(self) -> str:
        by_default = POOLS.replace("Policy: WhenEmpty,", "Policy: WhenEmptyOrUnderutilized,")
        return by_default.replace("ttlSecondsAfterEmpty: %(ttl)d", "consolidation: {enabled: true}")

    def _measure(self) -> None:
        WishStorm._measure(self)
        raise _MeasuredError


def _spent(seed: int, *, for_wishes: bool, consolidating: bool) -> Spent:
    storm = (_ConsolidatingStorm if consolidating else WishStorm)(seed, for_wishes=for_wishes)
    with suppress(_MeasuredError):
        storm.run()
    return Spent(storm.cost, storm.unused, storm.pod_hours, storm.cpu_hours)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.wish_costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--consolidating", action="store_true", help="let pools consolidate, as by default")
    parser.add_argument("seeds", type=seeds, help="such as 7, 1-500 or 3,8,20-30")
    asked = parser.parse_args()
    if not asked.seeds:
        parser.error("argument seeds: none are named")
    pairs: list[Pair] = []
    for seed in asked.seeds:
        pairs.append(
            {
                way: _spent(seed, for_wishes=for_wishes, consolidating=asked.consolidating)
                for way, for_wishes in _WAYS.items()
            }
        )
        print(msgspec.json.encode({"seed": seed, **pairs[-1]}).decode(), flush=True)  # noqa: T201
    for name, measure in _MEASURES.items():
        low, high = resampled(measure, pairs)
        sys.stderr.write(f"{name}: {measure(pairs):+.2%} ({low:+.2%} to {high:+.2%})\n")
    unused = sum(pair["wishes"].unused for pair in pairs) / _cost(pairs, "wishes")
    sys.stderr.write(f"unused: {unused:.3%} of the cost of {len(pairs)} storms\n")


if __name__ == "__main__":
    main()
