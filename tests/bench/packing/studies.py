"""What is to be shown of packing, each as one table.

    python -m tests.bench.packing speed|growth|cost|whole|spot [--pods 500,2000] [--workloads generic,diverse]
        [--catalogues fake400,kwok] [--seeds 201-210] [--lines FILE] [--chart FILE]

speed: pods a second beside Karpenter's. growth: processor time over pods, drawn into --chart. cost: beside
Karpenter's and the bound, over seeds that nothing was tuned on. spot: types a claim offers, and what launches
come to. whole: what nodes cost in all beside Karpenter's, at real prices too, and how many there are.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from tests.bench.packing.catalogues import CATALOGUES, catalogue
from tests.bench.packing.chart import lines_of, svg
from tests.bench.packing.contest import Case, Contest, Measurement, Variant
from tests.bench.packing.peer import PeerNotBuiltError
from tests.bench.packing.ranges import numbers
from tests.bench.packing.spot import Launches
from tests.bench.packing.study_tables import costs, growths, launches, speeds, wholes
from treenail.adapters.kwok.catalogue import read_catalogue

_CHART: Final = Path(__file__).parents[3] / "docs/packing-growth.svg"
_OURS: Final = Variant(name="treenail")
_PRICES_ALONE: Final = Variant(name="treenail by prices alone", settings=("node_overhead_cost=0",))
_FIRST_FIT: Final = Variant(name="first-fit", settings=("packing=first-fit-descending",))
# With more pods than this, Karpenter decides once and ours three times.
_MANY: Final = 5_000


@dataclass(frozen=True, kw_only=True)
class Study:
    """Cases, and the table of what came of them; `runs` is how often ours decides after its first.

    `few` are the workloads that are measured with many pods too, where Karpenter takes part.
    """

    table: Callable[[Sequence[Measurement]], str]
    workloads: tuple[str, ...] = ("generic", "replicas", "diverse", "preference")
    few: tuple[str, ...] = ("generic", "replicas", "diverse")
    pods: tuple[int, ...]
    seeds: tuple[int, ...] = (42,)
    runs: int = 5
    beside: bool = True
    catalogues: tuple[str, ...] = tuple(CATALOGUES)
    variants: tuple[Variant, ...] = (_OURS,)


STUDIES: Final[Mapping[str, Study]] = {
    "speed": Study(table=speeds, pods=(100, 500, 2_000, 20_000)),
    "growth": Study(table=growths, pods=(500, 1_000, 2_000, 5_000, 10_000, 20_000), runs=3, beside=False),
    "cost": Study(
        table=costs,
        workloads=("generic", "replicas", "diverse"),
        pods=(100, 300, 1_000, 2_000, 10_000),
        seeds=tuple(range(201, 211)),
        runs=2,
        variants=(_OURS, _PRICES_ALONE),
    ),
    "whole": Study(
        table=wholes,
        workloads=("generic", "replicas", "diverse", "preference"),
        few=("generic", "replicas", "diverse", "preference"),
        pods=(200, 500, 1_000, 2_000),
        seeds=tuple(range(201, 204)),
        runs=0,
        catalogues=("kwok", "ec2"),
        variants=(_OURS, _FIRST_FIT),
    ),
    "spot": Study(table=launches, pods=(500,), seeds=tuple(range(201, 221)), runs=2),
}


def main(arguments: Sequence[str]) -> None:
    """Make the study named first and print its table; its measurements go to --lines, as lines of JSON."""
    asked = _parser().parse_args(arguments)
    study = STUDIES[asked.study]
    measurements: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for contest, case in _contests(study, asked, Path(folder)):
                sys.stderr.write(f"{case}\n")
                measurements += contest.measure(case)
        except PeerNotBuiltError as error:
            sys.exit(str(error))
    if asked.lines:
        asked.lines.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in measurements))
    sys.stdout.write(study.table(measurements))
    if asked.study == "growth":
        asked.chart.write_text(svg(lines_of(measurements, processor=True)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.packing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--workloads", type=_names, help="instead of the study's own")
    parser.add_argument("--pods", type=numbers, help="instead of the study's own")
    parser.add_argument("--seeds", type=numbers, help="instead of the study's own")
    parser.add_argument("--catalogues", type=_names, help="instead of the study's own")
    parser.add_argument("--lines", type=Path, help="write what was measured into this file")
    parser.add_argument("--chart", type=Path, default=_CHART, help="where growth is drawn")
    return parser


def _names(written: str) -> tuple[str, ...]:
    return tuple(written.split(","))


def _contests(study: Study, asked: argparse.Namespace, folder: Path) -> Iterator[tuple[Contest, Case]]:
    """Yield the cases with the contests they are for, the small ones first."""
    found = functools.cache(lambda name: catalogue(name, folder))
    launched = functools.cache(lambda name: Launches(read_catalogue(found(name))))
    workloads = asked.workloads or study.workloads
    for pods, workload, types, seed in itertools.product(
        asked.pods or study.pods,
        workloads,
        asked.catalogues or study.catalogues,
        asked.seeds or study.seeds,
    ):
        many = pods > _MANY
        if many and study.beside and workload not in study.few:
            continue
        contest = Contest(
            folder=folder,
            catalogue=found,
            launches=launched,
            variants=study.variants,
            runs=min(study.runs, 3) if many else study.runs,
            karpenter_runs=1 if many else study.runs + 1,
            with_karpenter=study.beside,
        )
        yield contest, Case(workload=workload, pods=pods, catalogue=types, seed=seed)
