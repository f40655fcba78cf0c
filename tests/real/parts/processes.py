"""Programs that run beside the tests, with their logs in one folder, and that never outlive them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.real.parts import reaper

PATIENCE: Final = 90.0
GRACE: Final = 5.0
LOOK_EVERY: Final = 0.03


class PartFailedError(Exception):
    """A part ended, or did not become ready in time. The message ends with what it logged last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run. `ready` is asked again and again until it says True."""

    name: str
    command: Sequence[str | Path]
    ready: Callable[[], bool]
    env: Mapping[str, str] = field(default_factory=dict)


class Processes:
    """Runs programs in one folder: their working directory, where NAME.log holds what each one says.

    When the tests die in whatever way, a reaper kills the programs and removes the folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Without `folder`, one is made, and goes with the programs."""
        self._temporary = folder is None
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="treenail-real-"))).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._programs: dict[str, Program] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        command = [sys.executable, "-I", "-S", reaper.__file__]
        self._reaper = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
        )
        if self._temporary:
            self._order(f"folder {self.folder}")

    def start(self, program: Program) -> None:
        """Run `program`; `wait` tells when it is ready."""
        self._programs[program.name] = program
        with self.log_of(program.name).open("ab") as log:
            process = subprocess.Popen(  # noqa: S603
                [str(word) for word in program.command],
                cwd=self.folder,
                env={**os.environ, **program.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running[program.name] = process
        self._order(f"process {process.pid} {reaper.born(process.pid) or 0}")

    def start_again(self, name: str) -> None:
        """Run a stopped program as it was run before, and wait until it is ready."""
        if name in self._running:
            raise ValueError(f"{name} runs already")
        self.start(self._programs[name])
        self.wait(name)

    def wait(self, name: str, *, patience: float = PATIENCE) -> None:
        """Wait until a program is ready.

        Raises:
            PartFailedError: it ended, or is not ready after `patience` seconds.
        """
        ready, process = self._programs[name].ready, self._running[name]
        deadline = time.monotonic() + patience
        while process.poll() is None and time.monotonic() < deadline:
            if ready():
                return
            time.sleep(LOOK_EVERY)
        code = process.poll()
        what = f"was not ready in {patience:.0f} s" if code is None else f"ended with {code}"
        raise PartFailedError(f"{name} {what}; it said last:\n{self.last_lines(name)}")

    def stop(self, name: str, *, grace: float = GRACE) -> None:
        """End a program: at once where `grace` is 0, else asked first, with so many seconds to comply."""
        process = self._running.pop(name)
        # One that was paused hears nothing until it goes on.
        process.send_signal(signal.SIGCONT)
        if grace:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace)
        process.kill()
        process.wait()

    def pause(self, name: str) -> None:
        """Let a program stand still: its connections stay open and nothing answers."""
        self._running[name].send_signal(signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGCONT)

    def running(self) -> tuple[str, ...]:
        """Return the names of the programs that run, in the order they were started."""
        return tuple(name for name, process in self._running.items() if process.poll() is None)

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def last_lines(self, name: str, count: int = 20) -> str:
        lines = self.log_of(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-count:])

    def close(self) -> None:
        """Stop all programs, the last started first, and remove the folder if it was made here."""
        for name in reversed(tuple(self._running)):
            self.stop(name)
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
        with self._reaper:
            pass

    def _order(self, line: str) -> None:
        if self._reaper.stdin is not None:
            self._reaper.stdin.write(line + "\n")
            self._reaper.stdin.flush()
