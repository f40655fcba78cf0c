"""Results of a rehearsal with one seed, in a few numbers that can be compared over many seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from treenail.adapters.embed.comparison import skipped_actions
from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_summary import summarize

DOLLARS: Final = "$"
SECONDS: Final = "s"


class SeedResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A rehearsal in numbers, as `MEASURES` names them. No pod waited where the waits are None.

    `skipped` are the actions that could not be done: the time (s), the action, and why.
    """

    seed: int
    cost: float
    median_wait: float | None
    p99_wait: float | None
    nodes_most: int
    evictions: int
    pending: int
    blocked: int
    below_budget: int
    skipped: tuple[tuple[float, str, str], ...] = ()

    def value(self, name: str) -> float | None:
        """Return the value of the measure `name`."""
        value: float | None = getattr(self, MEASURES[name].field)
        return value


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a rehearsal: the field of `SeedResult` that has it, its title and its unit."""

    field: str
    title: str
    unit: str = ""

    def text(self, value: float | None) -> str:
        """Write a value for people."""
        if value is None:
            return "-"
        if self.unit == DOLLARS:
            return dollars(value)
        return f"{value:,.1f} s" if self.unit == SECONDS else f"{value:,.0f}"


# By the name that `--fail-if` and the JSON have. More is worse in all of them.
MEASURES: Final = {
    "cost": Measure("cost", "cost", DOLLARS),
    "medianWait": Measure("median_wait", "median wait", SECONDS),
    "p99Wait": Measure("p99_wait", "p99 wait", SECONDS),
    "nodesMost": Measure("nodes_most", "nodes at most"),
    "evictions": Measure("evictions", "evictions"),
    "pending": Measure("pending", "pods waiting at the end"),
    "blocked": Measure("blocked", "drains held up at the end"),
    "belowBudget": Measure("below_budget", "workloads below their budgets"),
}


def result_of(rehearsal: Rehearsal, seed: int) -> SeedResult:
    """Return the numbers of a rehearsal that has ended."""
    summary = summarize(rehearsal)
    return SeedResult(
        seed=seed,
        cost=round(summary.cost, 6),
        median_wait=summary.median_wait,
        p99_wait=summary.p99_wait,
        nodes_most=summary.nodes_most,
        evictions=summary.evictions,
        pending=len(summary.waiting),
        blocked=len(summary.blocked),
        below_budget=sum(w.too_few for w in summary.workloads),
        skipped=tuple(skipped_actions(rehearsal)),
    )
