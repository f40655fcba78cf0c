"""Small scenarios, those of tests/fuzz, timed beside Karpenter: both sides decide on each in turns.

    python -m tests.bench.packing small [--kinds plain,extended] [--seeds 1-500] [--runs 5] [--set NAME=VALUE]

Each side is one process for all of them. A scenario's time is the median of its decisions after the first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from tests.bench.packing.contestants import Contestant, karpenter, treenail
from tests.bench.packing.decisions import Decision
from tests.bench.packing.peer import PeerNotBuiltError
from tests.bench.packing.ranges import numbers
from tests.fuzz.catalogue import catalogue
from tests.fuzz.scenarios import GENERATORS, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What one scenario took Karpenter (`theirs`) and us (`ours`): seconds, and those of all processors."""

    kind: str
    seed: int
    pods: int
    theirs: float
    ours: float
    their_processors: float
    our_processors: float


def timed(
    kind: str, seeds: Iterable[int], folder: Path, *, runs: int, settings: Sequence[str] = ()
) -> Iterator[Timed]:
    """Decide on the scenarios of a kind, `runs` times after the first; files are written into `folder`.

    `settings` of ours are NAME=VALUE.

    Raises:
        PeerNotBuiltError: Karpenter's scheduler is not built.
    """
    types = folder / "types.json"
    types.write_text(json.dumps(catalogue()))
    with karpenter(types) as theirs, treenail(types, settings=settings) as ours:
        for seed in seeds:
            path = folder / f"{kind}-{seed}.json"
            path.write_text(text(GENERATORS[kind](seed)))
            decided = _in_turns((theirs, ours), path, runs)
            seconds = [median(d.seconds[0] for d in side) for side in decided]
            processors = [median(d.processor_seconds[0] for d in side) for side in decided]
            yield Timed(
                kind=kind,
                seed=seed,
                pods=decided[1][0].pods,
                theirs=seconds[0],
                ours=seconds[1],
                their_processors=processors[0],
                our_processors=processors[1],
            )


def _in_turns(sides: Sequence[Contestant], path: Path, runs: int) -> list[list[Decision]]:
    """Return the decisions of each side but the first, which reads the scenario."""
    decided: list[list[Decision]] = [[] for _ in sides]
    for side in sides:
        side.decide(path)
    order = list(enumerate(sides))
    for turn in range(runs):
        for at, side in order if turn % 2 == 0 else order[::-1]:
            decided[at].append(side.decide(path))
    return decided


def times_as_fast(scenarios: Sequence[Timed]) -> float:
    """Return the median over scenarios of Karpenter's time by ours."""
    return median(one.theirs / one.ours for one in scenarios)


def times_by_processors(scenarios: Sequence[Timed]) -> float:
    """Return the same by the time of all processors: on a busy machine, it is what says most."""
    return median(one.their_processors / one.our_processors for one in scenarios)


def table(scenarios: Sequence[Timed]) -> str:
    """Return a table in Markdown with a line for each kind."""
    headings = (
        "scenarios",
        "seeds",
        "pods, mean",
        "Karpenter's ms, median",
        "ms, median",
        "times as fast, median",
        "by CPU",
        "in all",
    )
    kinds = dict.fromkeys(one.kind for one in scenarios)
    lines = [_line([one for one in scenarios if one.kind == kind]) for kind in kinds]
    rule = ["---"] * len(headings)
    return "".join(f"| {' | '.join(line)} |\n" for line in (headings, rule, *lines))


def _line(of_kind: Sequence[Timed]) -> tuple[str, ...]:
    def in_the_middle(of: Callable[[Timed], float]) -> float:
        return median(of(one) for one in of_kind)

    return (
        of_kind[0].kind,
        str(len(of_kind)),
        f"{fmean(one.pods for one in of_kind):.1f}",
        f"{in_the_middle(lambda one: one.theirs) * 1000:.1f}",
        f"{in_the_middle(lambda one: one.ours) * 1000:.1f}",
        f"{times_as_fast(of_kind):.2f}",
        f"{times_by_processors(of_kind):.2f}",
        f"{sum(one.theirs for one in of_kind) / sum(one.ours for one in of_kind):.2f}",
    )


def main(arguments: Sequence[str]) -> None:
    """Time the scenarios asked for and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.packing small",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kinds", default=",".join(GENERATORS), help=f"of {', '.join(GENERATORS)}")
    parser.add_argument("--seeds", type=numbers, default=numbers("1-500"), help="such as 7, 1-500 or 3,8")
    parser.add_argument("--runs", type=int, default=5, help="decisions of each side after its first")
    parser.add_argument(
        "--set", action="append", default=[], help="a setting of ours: packing=first-fit-descending"
    )
    asked = parser.parse_args(arguments)
    found: list[Timed] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for kind in asked.kinds.split(","):
                found += timed(kind, asked.seeds, Path(folder), runs=asked.runs, settings=asked.set)
        except PeerNotBuiltError as error:
            sys.exit(str(error))
    sys.stdout.write(table(found))
