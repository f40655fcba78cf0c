"""Compare Treenail with Karpenter: pods from a Deployment's POST to all ready, on nodes that KWOK plays.

    python -m tests.bench.real [--pods 5,500,2000] [--runs 5] [--only treenail]

Every run has a control plane of its own; the controllers take turns, each going first every other time.
Prints one line of JSON a run, then a table of medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from tests.bench.real.contest import Run, run
from tests.bench.real.contestants import Contestant, karpenter, treenail

CONTESTANTS: Final = {"karpenter": karpenter, "treenail": treenail}
FIGURES: Final = (
    "seconds",
    "last_node_seconds",
    "cpu_seconds",
    "resident_mib",
    "nodes",
    "dollars_per_hour",
    "start_seconds",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pods", default="5,500,2000", help="sizes of the Deployment")
    parser.add_argument("--runs", type=int, default=5, help="runs of each controller and size")
    parser.add_argument("--only", choices=sorted(CONTESTANTS), help="run this controller alone")
    asked = parser.parse_args()
    names = [asked.only] if asked.only else sorted(CONTESTANTS)
    contestants = [CONTESTANTS[name]() for name in names]
    sizes = [int(size) for size in asked.pods.split(",")]
    runs = []
    for pods, contestant in turns(contestants, sizes, asked.runs):
        runs.append(run(contestant, pods))
        print(msgspec.json.encode(runs[-1]).decode(), flush=True)  # noqa: T201
    sys.stdout.write(table(runs))


def turns(
    contestants: Sequence[Contestant], sizes: Sequence[int], runs: int
) -> Sequence[tuple[int, Contestant]]:
    """Return what to run, in order: close runs differ by the controller alone."""
    order = list(contestants)
    found = []
    for turn in range(runs):
        for pods in sizes:
            found += [(pods, contestant) for contestant in (order if turn % 2 == 0 else order[::-1])]
    return found


def table(runs: Sequence[Run]) -> str:
    """Return the medians by size and controller, as a table for people."""
    lines = [["pods", "controller", "runs", *(figure.replace("_", " ") for figure in FIGURES)]]
    for pods, name in sorted({(r.pods, r.controller) for r in runs}):
        own = [r for r in runs if (r.pods, r.controller) == (pods, name)]
        medians = [statistics.median(getattr(r, figure) for r in own) for figure in FIGURES]
        lines.append([str(pods), name, str(len(own)), *(f"{m:g}" for m in medians)])
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


if __name__ == "__main__":
    main()
