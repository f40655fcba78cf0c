"""Many rehearsals that differ in their seed alone: distributions of their numbers, and the worst seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from treenail.adapters.embed.comparison import cheaper_of, cost_verdict
from treenail.adapters.embed.fail_conditions import FailCondition
from treenail.adapters.embed.rehearsal_summary import quantile
from treenail.adapters.embed.seed_results import MEASURES, SeedResult
from treenail.domain.model.counted import counted

_MOST_FAILED: Final = 5


@dataclass(frozen=True, slots=True)
class Distribution:
    """The values of a measure over all seeds that have one; `worst` is the first seed with the highest.

    `worst` is None where all are equal.
    """

    least: float
    median: float
    p90: float
    most: float
    worst: int | None

    @staticmethod
    def of(name: str, results: Sequence[SeedResult]) -> Distribution | None:
        """Return the distribution of the measure `name`, None where no seed has a value."""
        by_seed = [(value, r.seed) for r in results if (value := r.value(name)) is not None]
        ordered = sorted(value for value, _ in by_seed)
        median, p90 = quantile(ordered, 0.5), quantile(ordered, 0.9)
        if median is None or p90 is None:
            return None
        least, most = ordered[0], ordered[-1]
        worst = next(seed for value, seed in by_seed if value == most) if most > least else None
        return Distribution(least, median, p90, most, worst)


@dataclass(frozen=True, slots=True)
class WorstSeed:
    """A seed worth repeating, and what is bad with it on which side: "a" or "b"."""

    seed: int
    side: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The results of each seed in ascending order, at least one; those of side B too where there are two."""

    a: tuple[SeedResult, ...]
    b: tuple[SeedResult, ...] = ()
    conditions: tuple[FailCondition, ...] = ()

    @property
    def sides(self) -> Mapping[str, tuple[SeedResult, ...]]:
        """The results by side."""
        return {"a": self.a, "b": self.b} if self.b else {"a": self.a}

    def distributions(self, side: str) -> dict[str, Distribution | None]:
        """Return the distribution of each measure on a side."""
        return {name: Distribution.of(name, self.sides[side]) for name in MEASURES}

    def against(self, name: str) -> tuple[int, int]:
        """Return with how many seeds side B has less of a measure than side A, and with how many more."""
        pairs = [(a.value(name), b.value(name)) for a, b in zip(self.a, self.b, strict=True)]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return sum(b < a for a, b in known), sum(b > a for a, b in known)

    def verdict(self) -> Iterator[str]:
        """Yield which side costs less, and whether that is so with every seed; nothing with one side."""
        if self.b:
            yield cost_verdict(*self.costs())
            less, more = self.against("cost")
            seeds = counted(len(self.a), "seed")
            yield f"B costs less than A with {less:,} of {seeds}, and more with {more:,}"

    def costs(self) -> tuple[float, float]:
        """Return the mean costs ($) of sides A and B."""
        return fmean(r.cost for r in self.a), fmean(r.cost for r in self.b)

    def failed(self) -> Iterator[tuple[FailCondition, str, tuple[int, ...]]]:
        """Yield each condition, the side, and the seeds with which it holds, where there are any."""
        for condition in self.conditions:
            for side, results in self.sides.items():
                seeds = tuple(r.seed for r in results if condition.holds(r))
                if seeds:
                    yield condition, side, seeds

    def worst(self) -> tuple[WorstSeed, ...]:
        """Return the worst seed of each measure, and the first with which each condition holds."""
        why: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for condition, side, seeds in self.failed():
            for seed in seeds[:_MOST_FAILED]:
                why[side, seed].append(f"{condition}")
        for side in self.sides:
            for name, found in self.distributions(side).items():
                if found is not None and found.worst is not None:
                    measure = MEASURES[name]
                    why[side, found.worst].append(f"{measure.title} {measure.text(found.most)}")
        return tuple(WorstSeed(seed, side, tuple(reasons)) for (side, seed), reasons in why.items())

    def skipped(self) -> Iterator[str]:
        """Yield each action that could not be done with some seeds, and why with the first of them."""
        for side, results in self.sides.items():
            by_action: defaultdict[tuple[float, str], list[tuple[int, str]]] = defaultdict(list)
            for result in results:
                for at, action, why in result.skipped:
                    by_action[at, action].append((result.seed, why))
            on = f" on {side.upper()}" if self.b else ""
            for (at, action), found in sorted(by_action.items()):
                seed, why = found[0]
                seeds = counted(len(results), "seed")
                yield (
                    f"at {at:g} s {action}: not done{on} with {len(found):,} of {seeds}, "
                    f"with seed {seed} because {why}"
                )


def as_json(sweep: Sweep, commands: Mapping[WorstSeed, str]) -> dict[str, object]:
    """Return a sweep for programs; `commands` repeat the worst seeds."""
    return {
        "a": _side(sweep, "a"),
        "b": _side(sweep, "b") if sweep.b else None,
        "cheaper": (cheaper_of(*sweep.costs()) or None) if sweep.b else None,
        "verdict": list(sweep.verdict()),
        "failed": [
            {"condition": f"{condition}", "side": side, "seeds": list(seeds)}
            for condition, side, seeds in sweep.failed()
        ],
        "worst": [
            {"seed": one.seed, "side": one.side, "why": list(one.why), "command": command}
            for one, command in commands.items()
        ],
        "skipped": list(sweep.skipped()),
        "seeds": [
            {"seed": pair[0].seed} | {side: _numbers(r) for side, r in zip(sweep.sides, pair, strict=True)}
            for pair in zip(*sweep.sides.values(), strict=True)
        ],
    }


def _side(sweep: Sweep, side: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, one in sweep.distributions(side).items():
        if one is None:
            found[name] = None
            continue
        numbers = {"min": one.least, "median": one.median, "p90": one.p90, "max": one.most}
        against = dict(zip(("lower", "higher"), sweep.against(name), strict=True)) if side == "b" else {}
        found[name] = {**numbers, "worstSeed": one.worst, **against}
    return found


def _numbers(result: SeedResult) -> dict[str, object]:
    return {name: result.value(name) for name in MEASURES}
