"""Count devices in random scenes, and have kube-scheduler's own allocator allocate them.

    python -m tests.fuzz.devices 1-3000

Prints how often both, one or neither says that a pod's claims fit on a node, and why those were not counted
that the allocator allocates. Exit code 1: claims are said to fit that the allocator cannot allocate. Needs
Go.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.fuzz.__main__ import seeds
from tests.fuzz.devices.contest import NotBuiltError, allocated, allocator, counted
from tests.fuzz.devices.scenes import scene


def main() -> int:
    """Compare, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=seeds, help="such as 7, 1-3000 or 3,8,20-30")
    asked = parser.parse_args()
    try:
        program = allocator(build=True)
    except NotBuiltError as error:
        parser.error(str(error))
    scenes = [scene(seed) for seed in asked.seeds]
    words: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong: list[int] = []
    for seed, one, said in zip(asked.seeds, scenes, allocated(program, scenes), strict=True):
        fits, why = counted(one)
        word = {(True, True): "both", (True, False): "treenail alone", (False, True): "allocator alone"}
        words[word.get((fits, said["fits"]), "neither")] += 1
        if fits and not said["fits"]:
            wrong.append(seed)
        elif said["fits"] and not fits:
            reasons[why.rpartition(": ")[2] or "a device is tainted, or a selector fails on one"] += 1
    sys.stdout.write(f"fit, as said by: {dict(words)}; wrong in seeds {wrong}\n")
    sys.stdout.writelines(f"{count:6}  {why}\n" for why, count in reasons.most_common())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
