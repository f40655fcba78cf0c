"""The story of a comparison, as its report tells it."""

from __future__ import annotations

from collections.abc import Iterator

from treenail.adapters.embed.comparison import Comparison, Outcome
from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.rehearsal_story import thinned
from treenail.adapters.report.story import Curve, Fact, Sheet, Story
from treenail.domain.model.counted import counted

COLUMNS = (
    "seed",
    "side",
    "cost",
    "$/month",
    "nodes",
    "waited",
    "99 %",
    "evicted",
    "waiting",
    "fewest ready",
)


def tell_comparison(comparison: Comparison, title: str, subtitle: str) -> Story:
    """Return a comparison as its page shows it; over time, the first seed of both sides."""
    a, b = comparison.a[0], comparison.b[0]
    return Story(
        title=title,
        subtitle=subtitle,
        seconds=a.summary.seconds,
        lead=(*comparison.verdict(), *comparison.skipped()),
        facts=tuple(_facts(comparison)),
        curves=(
            (
                "Dollars per hour",
                (
                    Curve("A, $ per hour", thinned(a.rates), unit="$"),
                    Curve("B, $ per hour", thinned(b.rates)),
                ),
            ),
            ("Pods that wait", (Curve("A", thinned(a.waiting)), Curve("B", thinned(b.waiting)))),
        ),
        sheets=(
            Sheet(
                heading="Side by side",
                columns=COLUMNS,
                rows=tuple(rows(comparison)),
                numbers=tuple(range(2, len(COLUMNS) - 1)),
            ),
        ),
    )


def _facts(comparison: Comparison) -> Iterator[Fact]:
    for side, outcomes in (("A", comparison.a), ("B", comparison.b)):
        first = outcomes[0].summary
        yield Fact(f"{side} spent", dollars(first.cost), f"{counted(first.nodes_most, 'node')} at most")


def rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a row for each seed and side, under `COLUMNS`."""
    for a, b in zip(comparison.a, comparison.b, strict=True):
        yield _row("A", a)
        yield _row("B", b)


def _row(side: str, outcome: Outcome) -> tuple[str, ...]:
    summary = outcome.summary
    short = [w for w in summary.workloads if w.fewest < w.had]
    lows = ", ".join(f"{w.workload.name} {w.fewest} of {w.had}" for w in short[:3])
    return (
        f"{outcome.seed}",
        side,
        dollars(summary.cost),
        dollars(summary.monthly),
        f"{summary.nodes_most}",
        "" if summary.median_wait is None else f"{summary.median_wait:.1f} s",
        "" if summary.p99_wait is None else f"{summary.p99_wait:.1f} s",
        f"{summary.evictions}",
        f"{len(summary.waiting)}",
        lows + (f" and {len(short) - 3} more" if len(short) > 3 else "") or "all",  # noqa: PLR2004 (as many as are named)
    )
