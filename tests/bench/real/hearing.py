"""The controller, which reads all lists anew every few seconds, and notes how late it hears of pods.

    HEARD=FILE python -m tests.bench.real.hearing controller ...

A pod whose label `bench/stamp` is a time (seconds since 1970) adds a line to the file: that time, how many
seconds later ClusterState dealt with it. `list` and `resync` lines say when all of a resource was read anew,
and when all there is was told anew, and how many seconds that took.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from treenail.actors.cluster_state.cluster_state import ClusterState
from treenail.adapters.cli.main import main
from treenail.adapters.kubernetes import reader
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.watcher import Watcher
from treenail.domain.cluster.cluster_facts import ObjectSeen, Resynced
from treenail.domain.model.pods import Pod

STAMP: Final = "bench/stamp"
RELIST: Final = (8.0, 12.0)
RESYNC: Final = (30.0, 40.0)


def hear(file: Path) -> None:
    """Have the controller of this process note what it hears."""
    lines = file.open("a", buffering=1)
    learn, relist = ClusterState._learn, Watcher.relist

    def noted(self: ClusterState, fact: Any, now: Any) -> None:
        begun = time.time()
        learn(self, fact, now)
        if isinstance(fact, ObjectSeen) and isinstance(fact.object, Pod) and STAMP in fact.object.labels:
            stamp = float(fact.object.labels[STAMP])
            lines.write(f"heard {stamp} {time.time() - stamp:.3f}\n")
        if isinstance(fact, Resynced):
            lines.write(f"resync {begun} {time.time() - begun:.3f}\n")

    def timed(self: Watcher) -> float:
        begun = time.time()
        pause = relist(self)
        lines.write(f"list {begun} {time.time() - begun:.3f} {self._resource}\n")
        return pause

    ClusterState._learn = noted  # type: ignore[method-assign]
    Watcher.relist = timed  # type: ignore[method-assign]
    vars(reader)["Pace"] = partial(Pace, relist=RELIST, resync=RESYNC)


if __name__ == "__main__":
    hear(Path(os.environ["HEARD"]))
    main()
