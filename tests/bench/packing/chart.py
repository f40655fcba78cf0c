"""A chart of time against pods, as SVG: both axes logarithmic, a line for each side of each workload."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

from tests.bench.packing.contest import Measurement

Points: TypeAlias = Sequence[tuple[float, float]]

_SVG: Final = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT = 760, 480
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 30, 200, 50
_COLOURS: Final = ("#0b62a4", "#c0392b", "#27803b", "#8e44ad", "#d68910", "#16747d", "#6b4f2a", "#555555")


def lines_of(
    measurements: Iterable[Measurement], *, processor: bool = False
) -> dict[str, list[tuple[float, float]]]:
    """Return (pods, seconds) by line, by pods; of several seeds the median.

    Seconds of the `processor` grow with the work alone, whatever else the machine does.
    """
    seconds: dict[str, dict[int, list[float]]] = {}
    for one in measurements:
        line = f"{one.workload} {one.catalogue}, {one.side}"
        seconds.setdefault(line, {}).setdefault(one.size, []).append(
            one.processor_seconds if processor else one.seconds
        )
    return {
        line: [(float(size), median(taken)) for size, taken in sorted(sizes.items())]
        for line, sizes in sorted(seconds.items())
    }


def growth(points: Points) -> float:
    """Return the exponent that time grows by with pods, fitted over all points: 1 is as fast as the work.

    Raises:
        ValueError: there are not two sizes.
    """
    logs = [(math.log(x), math.log(y)) for x, y in points]
    if len({x for x, _ in logs}) < 2:
        raise ValueError("growth needs two sizes at least")
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return float(covariance / sum((x - mean_x) ** 2 for x, _ in logs))


@dataclass(frozen=True, slots=True)
class _Axis:
    """Whole powers of ten from the one below the least value to the one above the largest."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return float(self.start + share * (self.end - self.start))

    def marks(self) -> list[float]:
        return [
            float(10**power) if power >= 0 else 1 / 10**-power for power in range(self.low, self.high + 1)
        ]


def svg(lines: Mapping[str, Points]) -> str:
    """Return the chart of (pods, seconds) by line."""
    points = [point for line in lines.values() for point in line]
    across = _Axis.over([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis.over([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    drawn = [
        f'<svg xmlns="{_SVG}" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        *(_mark(f"{x:,.0f}", across.at(x), up, across, upright=True) for x in across.marks()),
        *(_mark(f"{y:g} s", up.at(y), up, across, upright=False) for y in up.marks()),
    ]
    for number, (name, line) in enumerate(lines.items()):
        drawn += _line(name, [(across.at(x), up.at(y)) for x, y in line], number)
    return "\n".join([*drawn, "</svg>", ""])


def _mark(text: str, at: float, up: _Axis, across: _Axis, *, upright: bool) -> str:
    if upright:
        ends, place = (at, up.start, at, up.end), f'x="{at:.1f}" y="{up.start + 18:.1f}" text-anchor="middle"'
    else:
        ends = (across.start, at, across.end, at)
        place = f'x="{across.start - 8:.1f}" y="{at + 4:.1f}" text-anchor="end"'
    x1, y1, x2, y2 = ends
    grid = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'
    return f"{grid}<text {place}>{text}</text>"


def _line(name: str, points: Points, number: int) -> list[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    legend = f'<text x="{_WIDTH - _RIGHT + 12}" y="{_TOP + 10 + 16 * number}" fill="{colour}">{name}</text>'
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots, legend]
