"""Many rehearsals at once: each runs in a worker process, and sends back what is wanted of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.rehearsal_run import RehearsalRun, rehearsed
from treenail.adapters.embed.rehearsal import Rehearsal

Result = TypeVar("Result")


def all_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rehearse_all(
    runs: Sequence[RehearsalRun],
    result: Callable[[Rehearsal, int], Result],
    *,
    processes: int | None = None,
) -> Iterator[Result]:
    """Yield the `result` of each run, called with its rehearsal and seed, in the order of `runs`.

    A bar on stderr shows how far all are. One process, or one run, is this process; more are started anew.
    `result` and what it returns must be picklable.
    """
    processes = min(processes or all_cores(), len(runs))
    one = partial(_result, result)
    with Waiting("rehearsing", len(runs), sys.stderr) as waiting:
        if processes <= 1:
            yield from _counted(map(one, runs), waiting)
            return
        # Nothing is inherited: a process starts in the same state as one that was started by hand.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            yield from _counted(pool.map(one, runs), waiting)


def _counted(results: Iterator[Result], waiting: Waiting) -> Iterator[Result]:
    for done, result in enumerate(results, 1):
        waiting.at(done)
        yield result


def _result(result: Callable[[Rehearsal, int], Result], run: RehearsalRun) -> Result:
    try:
        with rehearsed(run) as rehearsal:
            return result(rehearsal, run.seed)
    except Exception as error:
        error.add_note(f"with seed {run.seed}")
        raise
