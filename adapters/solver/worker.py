"""The packer's process: it reads problems, packs, and writes plans, until nobody is left to ask.

Run as `python -m treenail.adapters.solver.worker`. Problems come on stdin and plans go to stdout; whatever
else is printed goes to stderr.
"""

from __future__ import annotations

import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread
from traceback import format_exc
from typing import IO

from treenail.adapters.solver.wire import ProblemReader, SolverFailure, write_plan
from treenail.domain.packing.decide import decide
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem


def main() -> None:
    """Answer problems until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    plans = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    problems: SimpleQueue[Problem] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, problems), daemon=True).start()
    while True:
        try:
            write_plan(_answer(problems.get()), plans)
        except BrokenPipeError:
            os._exit(0)


def _read(stream: IO[bytes], problems: SimpleQueue[Problem]) -> None:
    """Read problems also while one is being solved: so the end of the other process ends this one at once."""
    reader = ProblemReader(stream)
    try:
        while True:
            problems.put(reader.read())
    except EOFError:
        os._exit(0)
    except BaseException:  # noqa: BLE001 (whatever it is, nothing more can be read)
        sys.stderr.write(format_exc())
        sys.stderr.flush()
        os._exit(1)


def _answer(problem: Problem) -> PackingPlan | SolverFailure:
    try:
        return decide(problem)
    except Exception:  # noqa: BLE001 (the other process ends by it)
        return SolverFailure(format_exc())


if __name__ == "__main__":
    main()
