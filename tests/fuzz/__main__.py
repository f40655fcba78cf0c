"""Decide on random scenarios, check every decision, and compare with Karpenter.

    python -m tests.fuzz 1-500 [--extended] [--against karpenter] [--repeat 3]
    python -m tests.fuzz 1-300 --consolidation [--against karpenter]

Prints one line of JSON a seed, then a summary. Exit code 1: a decision of Treenail's has faults,
or it misses pods that Karpenter places without breaking a rule. With --consolidation: a step breaks a rule,
or Karpenter would still delete nodes when Treenail is at rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.catalogue import catalogue
from tests.fuzz.consolidation.clusters import cluster
from tests.fuzz.consolidation.contest import Match as Consolidated
from tests.fuzz.consolidation.contest import play as consolidate
from tests.fuzz.consolidation.karpenter import KarpenterConsolidation
from tests.fuzz.consolidation.ours import planned
from tests.fuzz.consolidation.summary import summary as consolidation_summary
from tests.fuzz.contest import Match, misses, play
from tests.fuzz.karpenter import Karpenter
from tests.fuzz.ours import Treenail
from tests.fuzz.scenarios import GENERATORS
from tests.fuzz.summary import summary


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", help="such as 7, 1-500 or 3,8,20-30")
    parser.add_argument("--extended", action="store_true", help="scenarios with every constraint there is")
    parser.add_argument("--consolidation", action="store_true", help="consolidate random clusters instead")
    parser.add_argument("--against", choices=["karpenter"], help="decide with it too, and compare")
    parser.add_argument("--repeat", type=int, default=1, help="decide so often, and take the median time")
    asked = parser.parse_args()
    sys.exit(_consolidate(asked) if asked.consolidation else _decide(asked))


def _decide(asked: argparse.Namespace) -> bool:
    """Decide on scenarios; return whether anything is wrong."""
    generate = GENERATORS["extended" if asked.extended else "plain"]
    matches: list[Match] = []
    with ExitStack() as stack:
        folder, types = _types(stack)
        theirs = stack.enter_context(Karpenter(folder, types)) if asked.against else None
        for seed in seeds(asked.seeds):
            matches.append(play(seed, generate(seed), Treenail(types), theirs, repeat=asked.repeat))
            print(json.dumps(asdict(matches[-1])), flush=True)  # noqa: T201
    sys.stderr.write(summary(matches))
    return any(match.treenail.faults or misses(match) for match in matches)


def _consolidate(asked: argparse.Namespace) -> bool:
    """Consolidate clusters; return whether anything is wrong."""
    matches: list[Consolidated] = []
    with ExitStack() as stack:
        folder, types = _types(stack)
        theirs = stack.enter_context(KarpenterConsolidation(folder, types)) if asked.against else None
        for seed in seeds(asked.seeds):
            matches.append(consolidate(seed, cluster(seed), planned, theirs))
            print(json.dumps(asdict(matches[-1])), flush=True)  # noqa: T201
    sys.stderr.write(consolidation_summary(matches))
    return any(match.treenail.broken or match.missed for match in matches)


def _types(stack: ExitStack) -> tuple[Path, Path]:
    """Return a folder to write to, and the file of the catalogue in it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="treenail-fuzz-")))
    types = folder / "catalogue.json"
    types.write_text(json.dumps(catalogue()))
    return folder, types


def seeds(written: str) -> Sequence[int]:
    """Return the seeds that "3,8,20-30" stands for; ValueError if it is nothing of the kind."""
    return list(_seeds(written))


def _seeds(written: str) -> Iterator[int]:
    for part in written.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    main()
