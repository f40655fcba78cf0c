"""Compare Treenail with Karpenter: pods from the POST of their workloads to all ready, on nodes of KWOK.

    python -m tests.bench.real [--pods 5,500,2000,2000x20,job1000] [--runs 5] [--only treenail] [--writes 20]

Every run has a control plane of its own; the controllers take turns, each going first every other time.
With `--writes` the controller manager makes no more calls a second than that: 20 is its default. `--only` may
also name treenail-for-pods, which buys for pods that are there, and nodes-beforehand, with nodes that are.
Prints one line of JSON a run, then a table of medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from tests.bench.real.contest import Run, Shape, run
from tests.bench.real.contestants import (
    Contestant,
    karpenter,
    nodes_made_beforehand,
    treenail,
    treenail_for_pods,
)

CONTESTANTS: Final = {
    "karpenter": karpenter,
    "nodes-beforehand": nodes_made_beforehand,
    "treenail": treenail,
    "treenail-for-pods": treenail_for_pods,
}
S = TypeVar("S")
USUAL: Final = ("karpenter", "treenail")
FIGURES: Final = (
    "seconds",
    "last_node_seconds",
    "cpu_seconds",
    "parts_cpu_seconds",
    "probe_ms",
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
    parser.add_argument(
        "--pods",
        default="5,500,2000",
        help="as 500, 2000x20 (Deployments), 60x6@0.5 (each 0.5 s) or job1000",
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each controller and size")
    parser.add_argument("--only", help="run these contestants alone, of " + ", ".join(CONTESTANTS))
    parser.add_argument("--writes", type=int, help="calls a second of the controller manager")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else USUAL
    contestants = [CONTESTANTS[name]() for name in names]
    shapes = [Shape.read(text) for text in asked.pods.split(",")]
    runs = []
    for shape, contestant in turns(contestants, shapes, asked.runs):
        runs.append(run(contestant, shape, asked.writes))
        print(msgspec.json.encode(runs[-1]).decode(), flush=True)  # noqa: T201
    sys.stdout.write(table(runs))


def turns(contestants: Sequence[Contestant], sizes: Sequence[S], runs: int) -> Sequence[tuple[S, Contestant]]:
    """Return what to run, in order: close runs differ by the controller alone."""
    order = list(contestants)
    found = []
    for turn in range(runs):
        for size in sizes:
            found += [(size, contestant) for contestant in (order if turn % 2 == 0 else order[::-1])]
    return found


def table(runs: Sequence[Run]) -> str:
    """Return the medians by size and controller, as a table for people."""
    lines = [["pods", "controller", "runs", *(figure.replace("_", " ") for figure in FIGURES)]]
    for pods, shape, name in sorted({(r.pods, r.shape, r.controller) for r in runs}):
        own = [r for r in runs if (r.pods, r.shape, r.controller) == (pods, shape, name)]
        medians = [statistics.median(getattr(r, figure) for r in own) for figure in FIGURES]
        lines.append([shape or str(pods), name, str(len(own)), *(f"{m:g}" for m in medians)])
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


if __name__ == "__main__":
    main()
