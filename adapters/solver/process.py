"""The packer in a process of its own, so that a long solve holds up nothing else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Timer
from typing import IO, Final, TypeVar

from treenail.adapters.solver.wire import (
    GIVE_UP,
    Answer,
    ProblemWriter,
    Question,
    SolverFailure,
    SolverGaveUp,
    read_plan,
)
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.runtime import Clock
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem

P = TypeVar("P", PackingPlan, ConsolidationPlan)

_MODULE: Final = "treenail.adapters.solver.worker"
_MOST_UNWANTED: Final = 4
_CANCELLED: Final = "it was cancelled"
# What a Python process needs of ours. Keys to the cloud are no business of the packer's.
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")
# The arrays are small: threads to compute with them would only take memory.
_SINGLE: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class SolverLostError(Exception):
    """The packer's process ended again and again."""


class SolverDefectError(Exception):
    """Packing failed unexpectedly. The text is the trace from the packer's process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Limits on the worker: seconds for a solve and for its cancellation, and how often it may be lost.

    The solver fails at the loss that makes `losses` within `within_seconds`.
    """

    solve_seconds: float = 240.0
    cancel_seconds: float = 1.0
    losses: int = 3
    within_seconds: float = 60.0


class WorkerSolver:
    """The port `Solver`. One problem at a time; `start` it early, for the process takes half a second.

    `lost` hears of each process that was lost, and why; a new one is started at once. `failed` hears when
    too many were lost in a row: from then on nothing is solved any more.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        failed: Callable[[BaseException], None],
        lost: Callable[[str], None] = lambda _: None,
        limits: WorkerLimits | None = None,
    ) -> None:
        self._clock = clock
        self._failed = failed
        self._lost = lost
        self._limits = limits or WorkerLimits()
        self._lock = Lock()
        self._solving = Lock()
        self._worker: _Worker | None = None
        self._current: Question | None = None
        # Problems cancelled before they were begun. There may be several: a decision and a search.
        self._unwanted: deque[Question] = deque(maxlen=_MOST_UNWANTED)
        self._losses: deque[float] = deque(maxlen=self._limits.losses)
        self._open = True

    def start(self) -> None:
        """Start the process, if there is none; it gets ready by itself."""
        with self._lock:
            if self._open and self._worker is None:
                self._worker = _Worker()

    @property
    def pid(self) -> int | None:
        """The id of the process, None where there is none."""
        worker = self._worker
        return worker.pid if worker is not None else None

    def solve(self, problem: Problem) -> PackingPlan:
        """Return the plan for `problem`.

        Raises:
            UnavailableError: the process was lost or cancelled, or took too long; nothing was decided.
            SolverDefectError: packing failed unexpectedly.
        """
        return self._ask(problem, PackingPlan)

    def consolidate(self, problem: ConsolidationProblem) -> ConsolidationPlan:
        """Return which nodes of a cluster may go, and where their pods go.

        Raises:
            UnavailableError: as `solve`; or the search failed, which is no reason to stop buying nodes.
        """
        try:
            return self._ask(problem, ConsolidationPlan)
        except SolverDefectError as error:
            raise UnavailableError(f"the search failed: {error}") from error

    def _ask(self, problem: Question, kind: type[P]) -> P:
        with self._solving:
            self.start()
            worker = self._begin(problem)
            watchdog = Timer(self._limits.solve_seconds, worker.end, ("it took too long",))
            watchdog.daemon = True
            watchdog.start()
            try:
                answer = worker.ask(problem)
            except (EOFError, OSError) as error:
                raise self._replace(worker) from error
            finally:
                with self._lock:
                    self._current = None
                cancelled = worker.settle()
                watchdog.cancel()
                watchdog.join()
            if isinstance(answer, SolverGaveUp):
                raise UnavailableError(_CANCELLED)
            if cancelled:
                # It answered before the signal reached it. When that comes, it would cancel the next problem.
                worker.end(_CANCELLED)
                raise self._replace(worker)
            if isinstance(answer, SolverFailure):
                raise SolverDefectError(answer.trace)
            if not isinstance(answer, kind):
                raise SolverDefectError(
                    f"a {kind.__name__} was asked for, and a {type(answer).__name__} came"
                )
            return answer

    def _begin(self, problem: Question) -> _Worker:
        with self._lock:
            if any(one is problem for one in self._unwanted):
                others = (one for one in self._unwanted if one is not problem)
                self._unwanted = deque(others, maxlen=_MOST_UNWANTED)
                raise UnavailableError("it was cancelled before it was begun")
            if self._worker is None:
                raise UnavailableError("the packer's process is not running")
            self._current = problem
            self._worker.begin()
            return self._worker

    def cancel(self, problem: Question) -> None:
        """Give up a problem, this very object, that is being solved or is to be.

        The process goes on to the next one; one that does not give up in time is ended.
        """
        with self._lock:
            if problem is self._current and self._worker is not None:
                self._worker.give_up(within=self._limits.cancel_seconds)
            elif all(one is not problem for one in self._unwanted):
                self._unwanted.append(problem)

    def stop(self) -> None:
        """End the process; nothing is solved any more."""
        with self._lock:
            self._open = False
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end("it was stopped")
            worker.close()

    def _replace(self, worker: _Worker) -> UnavailableError:
        """Start a new process in place of one that ended; return what to tell the caller."""
        worker.close()
        why = worker.why or f"it ended with code {worker.code}"
        with self._lock:
            if self._worker is worker:
                self._worker = None
        if not worker.why:
            self._count_loss(why)
        if self._open:
            self._lost(why)
            self.start()
        return UnavailableError(f"the packer's process was lost: {why}")

    def _count_loss(self, why: str) -> None:
        now = self._clock.monotonic()
        self._losses.append(now)
        most = self._limits
        if len(self._losses) == most.losses and now - self._losses[0] <= most.within_seconds:
            self._open = False
            text = f"the packer's process was lost {most.losses} times in {most.within_seconds:g} s: {why}"
            self._failed(SolverLostError(text))


class _Worker:
    """One process. `why` is the reason it was ended for, `code` what it ended with."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 (ourselves)
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, **_SINGLE},
        )
        self.pid = self._process.pid
        self.why = ""
        self._problems, self._plans = _pipes(self._process)
        self._writer = ProblemWriter(self._problems)
        self._lock = Lock()
        self._written = self._unwanted = False
        self._patience: Timer | None = None

    @property
    def code(self) -> int | None:
        return self._process.returncode

    def begin(self) -> None:
        """Be ready for the next problem: from now on a cancellation is about that one."""
        with self._lock:
            self._written = self._unwanted = False
            self.why = ""

    def ask(self, problem: Question) -> Answer:
        """Return the process's answer; EOFError or OSError where it has ended."""
        whole = self._writer.write(problem, lambda: not self._unwanted)
        with self._lock:
            self._written = whole
            if whole and self._unwanted:
                self._process.send_signal(GIVE_UP)
        return read_plan(self._plans)

    def give_up(self, *, within: float) -> None:
        """Have the problem at hand given up within so many seconds: written no further, or not solved."""
        with self._lock:
            if self._unwanted:
                return
            # If it is not ready for signals yet, it ends by this one.
            self._unwanted, self.why = True, _CANCELLED
            if self._written:
                self._process.send_signal(GIVE_UP)
            self._patience = Timer(within, self._lose_patience)
            self._patience.daemon = True
            self._patience.start()

    def _lose_patience(self) -> None:
        with self._lock:
            if self._unwanted:
                self.end(_CANCELLED)

    def settle(self) -> bool:
        """Note that the problem at hand is answered, or will not be; return whether it was to be given up."""
        with self._lock:
            unwanted, self._unwanted = self._unwanted, False
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None
            return unwanted

    def end(self, why: str) -> None:
        """End the process at once."""
        self.why = why
        self._process.kill()

    def close(self) -> None:
        """Wait for the end of a process that is ending."""
        # What could not be written to a process that is gone is not worth an error.
        with contextlib.suppress(OSError):
            self._problems.close()
        self._process.kill()
        self._process.wait()
        self._plans.close()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a process was started without its pipes")
    return process.stdin, process.stdout
