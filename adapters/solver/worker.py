"""The packer's process: it reads problems, packs, and writes plans, until its input ends.

Run as `python -m treenail.adapters.solver.worker`. Problems come on stdin and plans go to stdout; whatever
else is printed goes to stderr.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread
from traceback import format_exc
from types import FrameType
from typing import IO

from treenail.adapters.solver.garbage import uncollected
from treenail.adapters.solver.wire import (
    GIVE_UP,
    Answer,
    ProblemReader,
    Question,
    SolverFailure,
    SolverGaveUp,
    write_plan,
)
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.decide import decide


def main() -> None:
    """Answer problems until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    desk = _Desk()
    signal.signal(GIVE_UP, desk.give_up)
    plans = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    problems: SimpleQueue[Question | None] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, problems), daemon=True).start()
    while True:
        try:
            write_plan(desk.answer(problems.get()), plans)
        except BrokenPipeError:
            os._exit(0)


def _read(stream: IO[bytes], problems: SimpleQueue[Question | None]) -> None:
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


class _GaveUp(BaseException):
    """Ends a solve that is not wanted any more. No error: what fails on a single pod is caught elsewhere."""


class _Desk:
    """Solves problem after problem. A signal cancels the present one, even if it has not begun yet."""

    def __init__(self) -> None:
        self._solving = False
        self._unwanted = False

    def give_up(self, _signal: int, _frame: FrameType | None) -> None:
        """Heed a signal to give up the solve. The sender gets exactly one answer to its problem."""
        if self._solving:
            self._solving = False
            raise _GaveUp
        self._unwanted = True

    def answer(self, problem: Question | None) -> Answer:
        """Return the answer to a problem; of one that was given up on its way (None), that it was."""
        if problem is None:
            return SolverGaveUp()
        try:
            self._solving = True
            answer = SolverGaveUp() if self._unwanted else _solved(problem)
            self._solving = self._unwanted = False
        except _GaveUp:
            # The signal may have come while garbage collection was off.
            gc.enable()
            return SolverGaveUp()
        return answer


def _solved(problem: Question) -> Answer:
    try:
        with uncollected():
            return repack(problem) if isinstance(problem, ConsolidationProblem) else decide(problem)
    except Exception:  # noqa: BLE001 (the other process ends by it)
        return SolverFailure(format_exc())


if __name__ == "__main__":
    main()
