"""What came of a study, as a table in Markdown: a line for every workload, catalogue and number of pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final, TypeAlias

from tests.bench.packing.chart import growth, lines_of
from tests.bench.packing.contest import KARPENTER, Measurement
from tests.bench.packing.report import speedup
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

_NONE: Final = "-"
_OURS: Final = "treenail"
_KEYS: Final = ("workload", "types", "pods")

Pair: TypeAlias = tuple[Measurement, Measurement]


def speeds(measurements: Sequence[Measurement]) -> str:
    """Return pods a second of both sides, and by how much ours are more: in later decisions and at first."""
    headings = (*_KEYS, "Karpenter's pods/s", "pods/s", "times as fast", "at first", "placed", "Karpenter's")
    lines = []
    for key, pairs in _by_key(measurements):
        later = median(speedup(o.seconds, o.pods, k.seconds, k.pods) for k, o in pairs)
        first = median(speedup(o.first_seconds, o.pods, k.first_seconds, k.pods) for k, o in pairs)
        theirs = median(k.pods / k.seconds for k, _ in pairs)
        ours = median(o.pods / o.seconds for _, o in pairs)
        placed = (str(sum(o.placed for _, o in pairs)), str(sum(k.placed for k, _ in pairs)))
        lines.append((*key, f"{theirs:,.0f}", f"{ours:,.0f}", f"{later:.1f}", f"{first:.1f}", *placed))
    return _table(headings, lines)


def growths(measurements: Sequence[Measurement]) -> str:
    """Return milliseconds of the processor by number of pods, and the power that these grow by.

    1 is as fast as the work.
    """
    lines_by_name = lines_of(measurements, processor=True)
    sizes = sorted({one.size for one in measurements})
    headings = (
        "workload, types",
        *(f"{size:,} pods" for size in sizes),
        "grows as pods to the power of",
    )
    lines = []
    for name, points in lines_by_name.items():
        taken = dict(points)
        times = [f"{taken[size] * 1000:,.1f} ms" if size in taken else _NONE for size in sizes]
        power = f"{growth(points):.2f}" if len(points) > 1 else _NONE
        lines.append((name.removesuffix(f", {_OURS}"), *times, power))
    return _table(headings, lines)


def costs(measurements: Sequence[Measurement]) -> str:
    """Return the median and the highest of prices by Karpenter's and by the bound, and that of prices alone.

    There nodes cost nothing beside their prices.
    """
    headings = (
        *_KEYS,
        "seeds",
        "cost/Karpenter, median",
        "highest",
        "cost/bound, median",
        "highest",
        "by prices alone, median",
        "highest",
        "nodes/Karpenter",
    )
    free = [one for one in measurements if one.side not in (KARPENTER, _OURS)]
    lines = []
    for key, pairs in _by_key(measurements):
        beside = [o.cost / k.cost for k, o in pairs if k.cost]
        over = [o.cost / o.lower_bound for _, o in pairs if o.lower_bound]
        any_nodes = [o.cost / o.lower_bound for o in free if _key(o) == key and o.lower_bound]
        nodes = sum(o.nodes for _, o in pairs) / max(sum(k.nodes for k, _ in pairs), 1)
        figures = (*_median_and_highest(beside), *_median_and_highest(over), *_median_and_highest(any_nodes))
        lines.append((*key, str(len(pairs)), *figures, f"{nodes:.3f}"))
    return _table(headings, lines)


def wholes(measurements: Sequence[Measurement]) -> str:
    """Return what nodes cost in all by Karpenter's, and how many there are by first-fit's."""
    headings = (
        *_KEYS,
        "seeds",
        "cost in all/Karpenter, median",
        "highest",
        "nodes",
        "first-fit's",
        "Karpenter's",
        "above 3 for each of first-fit's and 3 more, and above one for 20 pods",
    )
    classic = {(_key(one), one.seed): one for one in measurements if one.side not in (KARPENTER, _OURS)}
    lines = []
    for key, pairs in _by_key(measurements):
        beside = [whole_cost(o) / whole_cost(k) for k, o in pairs if k.nodes]
        first = [classic[key, o.seed].nodes for _, o in pairs]
        most = (max(3 * nodes + 3, o.placed / 20) for (_, o), nodes in zip(pairs, first, strict=True))
        over = sum(o.nodes > bound for (_, o), bound in zip(pairs, most, strict=True))
        nodes = (sum(o.nodes for _, o in pairs), sum(first), sum(k.nodes for k, _ in pairs))
        lines.append((*key, str(len(pairs)), *_median_and_highest(beside), *map(str, nodes), str(over)))
    return _table(headings, lines)


def whole_cost(one: Measurement) -> float:
    """Return what a side's nodes cost in all, $/h: types from a file have no volumes."""
    return one.cost + one.nodes * NODE_OVERHEAD_COST


def launches(measurements: Sequence[Measurement]) -> str:
    """Return the types a spot claim offers, and what launches come to by Karpenter's."""
    headings = (
        *_KEYS,
        "seeds",
        "types per spot claim",
        "Karpenter's",
        "launched/Karpenter, median",
        "highest",
    )
    lines = []
    for key, pairs in _by_key(measurements):
        ours = [o.types_per_spot_claim for _, o in pairs if o.types_per_spot_claim is not None]
        theirs = [k.types_per_spot_claim for k, _ in pairs if k.types_per_spot_claim is not None]
        types = (f"{median(found):g}" if found else _NONE for found in (ours, theirs))
        beside = [o.launched_cost / k.launched_cost for k, o in pairs if k.launched_cost]
        lines.append((*key, str(len(pairs)), *types, *_median_and_highest(beside)))
    return _table(headings, lines)


def _by_key(measurements: Sequence[Measurement]) -> Iterator[tuple[tuple[str, ...], list[Pair]]]:
    """Yield Karpenter's and ours for each line, a pair a seed."""
    found: dict[tuple[str, ...], dict[int, dict[str, Measurement]]] = {}
    for one in measurements:
        found.setdefault(_key(one), {}).setdefault(one.seed, {})[one.side] = one
    for key, seeds in found.items():
        yield key, [(sides[KARPENTER], sides[_OURS]) for sides in seeds.values()]


def _key(one: Measurement) -> tuple[str, ...]:
    return one.workload, one.catalogue, f"{one.size:,}"


def _median_and_highest(values: Sequence[float]) -> tuple[str, str]:
    return (f"{median(values):.4f}", f"{max(values):.4f}") if values else (_NONE, _NONE)


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(headings)
    return "".join(f"| {' | '.join(line)} |\n" for line in (headings, rule, *lines))
