"""The page: a story as one HTML file without network or other files, and without script unless it is live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from treenail.adapters.report.axis import clock, time_of, time_ticks, top
from treenail.adapters.report.story import Curve, Story

_TEMPLATES: Final = Path(__file__).parent / "templates"
# The inside of a chart, in its own units; the page stretches it.
_WIDTH: Final = 1000.0
_HEIGHT: Final = 100.0


def render(story: Story, *, live: bool = False) -> str:
    """Return the page of a story. Whatever the story says is text: it is escaped.

    A `live` page asks for itself anew each second, and shows what has changed.
    """
    return _environment().get_template("page.html").render(story=story, live=live)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        at=time_of, share=_share, width=_share_of, path=_path, number=_number, moment=_moment
    )
    environment.globals.update(ticks=time_ticks, top_of=_top_of)
    return environment


def _share(at: float, seconds: float) -> str:
    """Return where a moment is on an axis of so many seconds, in percent."""
    return f"{100 * min(max(at, 0.0), seconds) / seconds:.3f}".rstrip("0").rstrip(".") if seconds > 0 else "0"


def _share_of(start: float, end: float, seconds: float) -> str:
    """Return how wide a time is on an axis of so many seconds, in percent; never nothing."""
    shown = min(end, seconds) - max(start, 0.0)
    share = max(100 * shown / seconds, 0.05) if seconds > 0 else 100.0
    return f"{share:.3f}".rstrip("0").rstrip(".")


def _path(curve: Curve, seconds: float, highest: float) -> str:
    """Return the path of a curve's steps, closed to the ground where it is filled."""
    moves: list[str] = []
    before = 0.0
    for number, (at, value) in enumerate(curve.steps):
        x, y = _WIDTH * min(at / seconds, 1) if seconds > 0 else 0.0, _HEIGHT * (1 - value / highest)
        moves.append(f"M{x:.1f} {y:.1f}" if number == 0 else f"H{x:.1f}V{y:.1f}")
        before = y
    if not moves:
        return ""
    moves.append(f"H{_WIDTH:.0f}")
    if curve.filled and before is not None:
        first = _WIDTH * min(curve.steps[0][0] / seconds, 1) if seconds > 0 else 0.0
        moves.append(f"V{_HEIGHT:.0f}H{first:.1f}Z")
    return "".join(moves)


def _top_of(curves: Sequence[Curve]) -> float:
    return top(max((value for c in curves for _, value in c.steps), default=0.0))


def _number(value: float) -> str:
    """Write a number of an axis: thousands with commas, and no more decimals than it has."""
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def _moment(seconds: float) -> str:
    """Write a length of time as precisely as it is short."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 60 else clock(seconds)  # noqa: PLR2004 (below a minute)
