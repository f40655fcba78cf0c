from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.domain.packing.problems import asking, pods, problem
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.solver.process import SolverLostError, WorkerLimits, WorkerSolver
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.packing.decide import decide
from treenail.domain.packing.problem import Problem

SMALL = problem(pods("web", 3))
SECONDS = 30.0


class Endless:
    """In the packer's process, a sequence in search of whose first item one computes for ever."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("(none for none in iter(int, 1) if none)",)


def endless() -> Problem:
    """A problem that keeps the packer busy until its process is ended."""
    return replace(SMALL, daemons=cast("tuple[PodSpec, ...]", Endless()))


class Deaf:
    """In the packer's process, a sequence in search of whose first item no signal is heard."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("(none for none in (0,) if sum(iter(int, 1)))",)


def deaf() -> Problem:
    """A problem that keeps the packer busy where it heeds no signal."""
    return replace(SMALL, daemons=cast("tuple[PodSpec, ...]", Deaf()))


class Slow:
    """Pods without end, of which the second hundred is waited for."""

    def __init__(self, pods: tuple[Pod, ...]) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.sent = 0
        self._pods = pods

    def __iter__(self) -> Iterator[Pod]:
        while self.sent < 100_000:
            if self.sent == 150:
                self.begun.set()
                self.go_on.wait(SECONDS)
            self.sent += 1
            yield self._pods[0]


class Bench:
    """A solver, and what it reports."""

    def __init__(self, limits: WorkerLimits | None = None) -> None:
        self.failures: list[BaseException] = []
        self.losses: list[str] = []
        self.solver = WorkerSolver(
            SystemClock(), failed=self.failures.append, lost=self.losses.append, limits=limits
        )

    @property
    def pid(self) -> int:
        assert self.solver.pid is not None
        return self.solver.pid

    def solve_meanwhile(self, one: Problem) -> Meanwhile:
        return Meanwhile(self.solver, one)


class Meanwhile:
    """A solve on another thread."""

    def __init__(self, solver: WorkerSolver, one: Problem) -> None:
        self.error: BaseException | None = None
        self._solver, self._problem = solver, one
        self._thread = threading.Thread(target=self._solve)
        self._thread.start()

    def _solve(self) -> None:
        try:
            self._solver.solve(self._problem)
        except UnavailableError as error:
            self.error = error

    def wait_until_it_computes(self, pid: int) -> None:
        """Wait until the worker has used a fifth of a second of the processor on it."""
        wait_until_it_computes(pid)

    @property
    def waits(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> str:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return str(self.error)


def processor_seconds(pid: int) -> float:
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(int(ticks) for ticks in spent) / os.sysconf("SC_CLK_TCK")


def wait_until_it_computes(pid: int) -> None:
    before = processor_seconds(pid)
    deadline = time.monotonic() + SECONDS
    while processor_seconds(pid) < before + 0.2:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(pid: int) -> bool:
    """Wait for the end of a process."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def bench() -> Iterator[Bench]:
    # A busy machine is no reason to end a process.
    bench = Bench(WorkerLimits(cancel_seconds=SECONDS))
    yield bench
    bench.solver.stop()


def test_the_plan_is_that_of_the_packer(bench: Bench) -> None:
    one = problem(pods("web", 30), pods("huge", 1, asking(900)))

    assert bench.solver.solve(one) == decide(one)
    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.losses == []
    assert bench.failures == []


def test_the_process_waits_without_work_and_ends_with_the_solver(bench: Bench) -> None:
    bench.solver.start()
    bench.solver.start()
    bench.solver.solve(SMALL)
    pid, spent = bench.pid, processor_seconds(bench.pid)
    time.sleep(0.2)
    assert processor_seconds(pid) == spent

    bench.solver.stop()

    assert ended(pid)
    assert bench.solver.pid is None
    with pytest.raises(UnavailableError, match="not running"):
        bench.solver.solve(SMALL)


def test_a_process_that_is_lost_in_a_solve_is_replaced_at_once(bench: Bench) -> None:
    bench.solver.start()
    pid = bench.pid
    solve = bench.solve_meanwhile(endless())
    solve.wait_until_it_computes(pid)

    os.kill(pid, signal.SIGKILL)

    assert solve.end() == "the packer's process was lost: it ended with code -9"
    assert bench.losses == ["it ended with code -9"]
    assert bench.pid != pid
    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.failures == []


def test_a_process_that_is_lost_without_work_is_replaced_when_it_is_needed(bench: Bench) -> None:
    bench.solver.start()
    os.kill(bench.pid, signal.SIGKILL)

    with pytest.raises(UnavailableError):
        bench.solver.solve(SMALL)

    assert bench.solver.solve(SMALL) == decide(SMALL)


def test_after_too_many_losses_in_a_row_it_is_given_up(bench: Bench) -> None:
    for _ in range(3):
        bench.solver.start()
        os.kill(bench.pid, signal.SIGKILL)
        with pytest.raises(UnavailableError):
            bench.solver.solve(SMALL)

    assert [type(error) for error in bench.failures] == [SolverLostError]
    assert "3 times in 60 s" in str(bench.failures[0])
    with pytest.raises(UnavailableError):
        bench.solver.solve(SMALL)
    assert bench.solver.pid is None


def test_a_solve_that_takes_too_long_is_ended() -> None:
    bench = Bench(WorkerLimits(solve_seconds=0.5))
    with pytest.raises(UnavailableError, match="took too long"):
        bench.solver.solve(endless())

    assert bench.losses == ["it took too long"]
    bench.solver.stop()


def test_a_solve_can_be_cancelled_and_the_process_goes_on_to_the_next(bench: Bench) -> None:
    bench.solver.solve(SMALL)
    pid = bench.pid
    for _ in range(3):
        problem = endless()
        solve = bench.solve_meanwhile(problem)
        solve.wait_until_it_computes(pid)
        bench.solver.cancel(problem)
        bench.solver.cancel(problem)
        assert solve.end() == "it was cancelled"
        assert bench.solver.solve(SMALL) == decide(SMALL)

    bench.solver.cancel(endless())
    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.pid == pid
    assert (bench.losses, bench.failures) == ([], [])


def test_a_problem_that_is_cancelled_while_it_is_sent_is_sent_no_further(bench: Bench) -> None:
    bench.solver.solve(SMALL)
    pid, slow = bench.pid, Slow(SMALL.pods)
    problem = replace(SMALL, pods=cast("tuple[Pod, ...]", slow))
    solve = bench.solve_meanwhile(problem)
    assert slow.begun.wait(SECONDS)

    bench.solver.cancel(problem)
    slow.go_on.set()

    assert solve.end() == "it was cancelled"
    assert slow.sent < 1_000
    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.pid == pid
    assert bench.losses == []


def test_a_process_that_does_not_give_up_in_time_is_ended_and_that_is_no_failure() -> None:
    bench = Bench(WorkerLimits(cancel_seconds=0.2))
    for _ in range(3):
        # A process that has answered once is past its start, in which it would still hear the signal.
        bench.solver.solve(SMALL)
        pid, problem = bench.pid, deaf()
        solve = bench.solve_meanwhile(problem)
        solve.wait_until_it_computes(pid)
        bench.solver.cancel(problem)
        assert solve.end() == "the packer's process was lost: it was cancelled"
        assert ended(pid)

    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.failures == []
    bench.solver.stop()


def test_a_process_that_is_only_just_started_may_be_asked_to_give_up(bench: Bench) -> None:
    problem = endless()
    bench.solver.start()
    solve = bench.solve_meanwhile(problem)
    while solve.waits:
        bench.solver.cancel(problem)

    assert solve.end().endswith("it was cancelled") or solve.end().endswith("before it was begun")
    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert bench.failures == []


def test_what_was_cancelled_before_it_began_is_never_begun(bench: Bench) -> None:
    unwanted = endless()
    bench.solver.cancel(unwanted)

    with pytest.raises(UnavailableError, match="cancelled before it was begun"):
        bench.solver.solve(unwanted)

    assert bench.solver.solve(SMALL) == decide(SMALL)
    assert (bench.losses, bench.failures) == ([], [])


def test_of_several_that_were_cancelled_before_they_began_none_is_begun(bench: Bench) -> None:
    several = [endless(), endless(), endless()]
    for unwanted in (*several, *several):
        bench.solver.cancel(unwanted)

    for unwanted in several:
        with pytest.raises(UnavailableError, match="cancelled before it was begun"):
            bench.solver.solve(unwanted)


def test_the_process_ends_with_the_one_that_started_it_even_in_a_solve(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import threading\n"
        "from tests.adapters.solver.test_process import Bench, endless\n"
        "bench = Bench()\n"
        "bench.solver.start()\n"
        "print(bench.pid, flush=True)\n"
        "bench.solve_meanwhile(endless())\n"
    )
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(  # noqa: S603
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_until_it_computes(pid)
        parent.kill()

    assert ended(pid)


def test_the_process_that_asks_loads_no_arrays() -> None:
    code = (
        "import sys; import treenail.adapters.solver.process, treenail.actors.system; "
        "print([name for name in ('numpy', 'boto3', 'kubernetes', 'typer') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_the_process_knows_no_keys_of_ours(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    bench.solver.solve(SMALL)

    environment = Path(f"/proc/{bench.pid}/environ").read_text()

    assert "hidden" not in environment
    assert "OPENBLAS_NUM_THREADS=1" in environment
