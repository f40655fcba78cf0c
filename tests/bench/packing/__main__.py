"""Compare packing with Karpenter's scheduler, both on the same input in one run.

    python -m tests.bench.packing [--workloads generic,diverse] [--pods 500,2000] [--catalogues fake400,kwok]
        [--seeds 42] [--runs 5] [--variant NAME[:bare|decoded][:SETTING=VALUE]...] [--only treenail]
        [--chart FILE]
    python -m tests.bench.packing speed|growth|cost|whole|spot ...   # what is to be shown: see studies.py
    python -m tests.bench.packing small ...                      # small scenarios: see small.py
    python -m tests.bench.packing everyday                       # everyday workloads: see everyday.py

Prints a line of JSON for every side of every case, then a table. The sides take turns; each is a process that
stays up, and only deciding is timed. README.md beside this says what is measured.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.bench.packing.catalogues import CATALOGUES, catalogue
from tests.bench.packing.chart import lines_of, svg
from tests.bench.packing.contest import KARPENTER, Case, Contest, Measurement, Variant
from tests.bench.packing.decisions import UndecidedError
from tests.bench.packing.everyday import main as everyday
from tests.bench.packing.freshness import Pods
from tests.bench.packing.peer import PeerNotBuiltError
from tests.bench.packing.ranges import numbers
from tests.bench.packing.report import table
from tests.bench.packing.small import main as small
from tests.bench.packing.spot import Launches
from tests.bench.packing.studies import STUDIES
from tests.bench.packing.studies import main as study
from tests.bench.packing.workloads import WORKLOADS
from treenail.adapters.kwok.catalogue import read_catalogue

BARE = Variant(name="treenail")
DECODED = Variant(name="treenail decoded", pods=Pods.DECODED)
PRICES_ALONE = Variant(name="treenail by prices alone", settings=("node_overhead_cost=0",))


def main() -> None:
    if sys.argv[1:2] == ["everyday"]:
        everyday()
        return
    if sys.argv[1:2] == ["small"]:
        small(sys.argv[2:])
        return
    if sys.argv[1:2] and sys.argv[1] in STUDIES:
        study(sys.argv[1:])
        return
    asked = _parser().parse_args()
    variants = [_variant(written) for written in asked.variant] or [BARE, DECODED, PRICES_ALONE]
    with tempfile.TemporaryDirectory() as folder:
        contest = _contest(asked, Path(folder), variants)
        measurements: list[Measurement] = []
        undecided: list[Case] = []
        try:
            for case in _cases(asked):
                try:
                    measured = contest.measure(case)
                except UndecidedError as error:
                    undecided.append(case)
                    sys.stderr.write(f"{case}: {error}\n")
                    continue
                for one in measured:
                    print(msgspec.json.encode(one).decode(), flush=True)  # noqa: T201
                measurements += measured
        except PeerNotBuiltError as error:
            sys.exit(str(error))
    sys.stdout.write(table(measurements))
    if asked.chart:
        asked.chart.write_text(svg(lines_of(measurements)))
    if undecided:
        sys.exit(f"{len(undecided)} cases were not decided: what went wrong stands above")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.packing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = "generic,replicas,diverse,preference"
    parser.add_argument("--workloads", default=names, help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--pods", default="500,2000", help="how many")
    parser.add_argument("--catalogues", default=",".join(CATALOGUES), help="instance types")
    parser.add_argument("--seeds", default="42", help="seeds, as 42 or 1-10")
    parser.add_argument("--runs", type=int, default=5, help="decisions of each side after its first")
    parser.add_argument(
        "--karpenter-runs", type=int, help="decisions of Karpenter in all, the first included"
    )
    parser.add_argument("--karpenter-option", action="append", default=[], help="such as -timeout=10m")
    parser.add_argument("--variant", action="append", default=[], help="a way of ours; may be repeated")
    parser.add_argument("--only", choices=["treenail"], help="leave Karpenter out")
    parser.add_argument("--chart", type=Path, help="draw time against pods into this SVG file")
    return parser


def _variant(written: str) -> Variant:
    """Read NAME[:bare|decoded][:SETTING=VALUE]..."""
    name, *parts = written.split(":")
    if name == KARPENTER:
        raise SystemExit(f"a variant of ours cannot be called {name}")
    settings = tuple(part for part in parts if "=" in part)
    given = next((Pods(part) for part in parts if "=" not in part), Pods.BARE)
    return Variant(name=name, pods=given, settings=settings)


def _contest(asked: argparse.Namespace, folder: Path, variants: Sequence[Variant]) -> Contest:
    found = functools.cache(lambda name: catalogue(name, folder))
    return Contest(
        folder=folder,
        catalogue=found,
        launches=functools.cache(lambda name: Launches(read_catalogue(found(name)))),
        variants=variants,
        runs=asked.runs,
        karpenter_runs=asked.runs + 1 if asked.karpenter_runs is None else asked.karpenter_runs,
        with_karpenter=asked.only is None,
        karpenter_options=asked.karpenter_option,
    )


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    sizes = [int(size) for size in asked.pods.split(",")]
    for workload, name, pods, seed in itertools.product(
        asked.workloads.split(","), asked.catalogues.split(","), sizes, numbers(asked.seeds)
    ):
        yield Case(workload=workload, pods=pods, catalogue=name, seed=seed)


if __name__ == "__main__":
    main()
