"""The machinery under the real parts, on programs that every machine has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.parts import binaries
from tests.real.parts.binaries import NotBuiltError, require
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import GRACE, PartFailedError, Processes, Program
from tests.real.parts.reaper import born

ROOT = Path(__file__).parents[2]
OWNER = """
import time
from tests.real.parts.processes import Processes, Program
kept = Processes()
kept.start(Program(name="sleeper", command=["sleep", "300"], ready=lambda: True))
print(kept.pid("sleeper"), kept.folder, flush=True)
time.sleep(300)
"""


def until(true: Callable[[], bool], *, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.01)


def program(name: str, script: str, *, ready: Callable[[], bool] = lambda: True) -> Program:
    return Program(name=name, command=["sh", "-c", script], ready=ready)


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.close()
    assert not made.folder.exists()


@pytest.fixture
def nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("REAL_PARTS", str(tmp_path))
    binaries.place.cache_clear()
    yield
    binaries.place.cache_clear()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_what_a_killed_test_started_does_not_outlive_it(end: signal.Signals) -> None:
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:  # noqa: S603
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        alive = born(int(pid)) is not None
        owner.send_signal(end)

    assert alive
    until(lambda: born(int(pid)) is None and not Path(folder).exists())


def test_a_program_that_ends_at_once_shows_what_it_said(processes: Processes) -> None:
    processes.start(program("broken", "echo no such luck >&2; exit 7", ready=lambda: False))

    with pytest.raises(PartFailedError, match=r"(?s)broken ended with 7.*no such luck"):
        processes.wait("broken")


def test_a_program_that_is_never_ready_is_not_waited_for_forever(processes: Processes) -> None:
    processes.start(program("lazy", "sleep 300", ready=lambda: False))

    with pytest.raises(PartFailedError, match="lazy was not ready in 0 s"):
        processes.wait("lazy", patience=0.1)


def test_a_program_that_will_not_end_is_killed(processes: Processes) -> None:
    there = processes.folder / "there"
    processes.start(
        program("stubborn", f"trap '' TERM; touch {there}; while :; do sleep 0.05; done", ready=there.exists)
    )
    processes.wait("stubborn")
    pid = processes.pid("stubborn")

    processes.stop("stubborn", grace=0.2)

    assert born(pid) is None
    assert processes.running() == ()


def test_a_program_starts_again_as_it_was_and_its_log_goes_on(processes: Processes) -> None:
    processes.start(program("counter", "echo started; sleep 300"))
    until(lambda: "started" in processes.last_lines("counter"))
    processes.stop("counter")

    processes.start_again("counter")

    until(lambda: processes.last_lines("counter") == "started\nstarted")
    with pytest.raises(ValueError, match="runs already"):
        processes.start_again("counter")


def test_a_paused_program_can_be_stopped(processes: Processes) -> None:
    processes.start(program("paused", "sleep 300"))
    pid = processes.pid("paused")

    processes.pause("paused")
    until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
    begun = time.monotonic()
    processes.stop("paused")

    assert born(pid) is None
    assert time.monotonic() - begun < GRACE


def test_a_birth_tells_a_process_from_a_later_one() -> None:
    assert born(os.getpid()) == born(os.getpid())
    assert born(os.getpid()) != born(1)
    assert born(2**22 + 1) is None


def test_ports_are_free_and_differ() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20
    assert not answers(f"http://127.0.0.1:{ports[0]}/")


@pytest.mark.usefixtures("nothing_built")
def test_what_is_not_built_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(NotBuiltError, match=r"^real parts are not built: no etcd, kwok.*make parts"):
        require("etcd", "kwok")


@pytest.mark.usefixtures("nothing_built")
def test_a_run_without_parts_ends_with_what_it_skipped_and_why() -> None:
    command = [sys.executable, "-m", "pytest", "tests/real/test_control_plane.py"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603
    closing = done.stdout.splitlines()[-4:]

    assert done.returncode == 0, done.stdout
    assert "tests on real parts were not run" in done.stdout
    assert any("real parts are not built: no etcd, kube-apiserver" in line for line in closing), closing
    assert any("  tests/real/test_control_plane.py: " in line for line in closing), closing
