"""The controller as a process of its own, as people run it: started, asked how it is, killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import urllib3
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.real.usage import Usage, usage
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import Processes, Program

NAME: Final = "treenail"
TREENAIL: Final = Path(sys.executable).with_name("treenail")
_TO_WRITE_THREADS: Final = 0.5
# Each look calls the API server and the laboratory, which take their time from what is waited for.
_LOOK_EVERY: Final = 0.1


class Controller:
    """`treenail controller` with the given environment. Use it as a context manager: it is started then."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        folder: Path | None = None,
        program: Sequence[str | Path] = (TREENAIL,),
    ) -> None:
        free = free_ports(2)
        self.metrics_port = int(env.get("METRICS_PORT", free[0]))
        self.health_port = int(env.get("HEALTH_PROBE_PORT", free[1]))
        self._processes = Processes(folder)
        state = self._processes.folder / "state"
        self._program = Program(
            name=NAME,
            command=[*program, "controller"],
            ready=self._ready,
            env={
                "METRICS_PORT": str(self.metrics_port),
                "HEALTH_PROBE_PORT": str(self.health_port),
                "STATE_DIRECTORY": str(state),
                # Definitions are shared by all tests of a control plane: who means its webhook says so.
                "DISABLE_WEBHOOK": "true",
                # It lives through outages of the API server, and leads at once after it was killed.
                "DISABLE_LEADER_ELECTION": "true",
                **env,
            },
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it knows the cluster."""
        self._processes.start(self._program)
        if wait:
            self._processes.wait(NAME)

    def wait(self) -> None:
        """Wait until it knows the cluster."""
        self._processes.wait(NAME)

    def kill(self) -> None:
        """End it as by `kill -9`."""
        self._processes.stop(NAME, grace=0)

    def freeze(self) -> None:
        """Let it stand still, as by `kill -STOP`."""
        self._processes.pause(NAME)

    def thaw(self) -> None:
        """Let it go on."""
        self._processes.go_on(NAME)

    def stop(self) -> None:
        """Ask it to end, as a kubelet does."""
        self._processes.stop(NAME, grace=15)

    @property
    def running(self) -> bool:
        return NAME in self._processes.running()

    def usage(self) -> Usage:
        """Return what it and the packer's process have used."""
        return usage(self._processes.pid(NAME))

    def _ready(self) -> bool:
        return answers(f"http://127.0.0.1:{self.health_port}/readyz")

    def metric(self, name: str) -> float:
        """Return a metric as Prometheus would read it now, over all its labels; 0 where it has none."""
        answer = urllib3.request("GET", f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10)
        samples = [
            sample
            for family in text_string_to_metric_families(answer.data.decode())
            for sample in family.samples
            if sample.name == name
        ]
        return sum(sample.value for sample in samples)

    # --- what it says

    def lines(self) -> Iterator[dict[str, Any]]:
        """Return its log lines, over all its lives; what is no JSON comes as {"event": TEXT}."""
        for line in self._processes.log_of(NAME).read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                said = None
            yield said if isinstance(said, dict) else {"event": line}

    def said(self, text: str) -> list[dict[str, Any]]:
        """Return the log lines in which `text` occurs."""
        return [line for line in self.lines() if text in json.dumps(line)]

    def last_lines(self, count: int = 30) -> str:
        return self._processes.last_lines(NAME, count)

    def log_text(self) -> str:
        return self._processes.log_of(NAME).read_text(errors="replace")

    def threads(self) -> str:
        """Return what every thread of it is at."""
        said = len(self.log_text())
        os.kill(self._processes.pid(NAME), signal.SIGUSR1)
        time.sleep(_TO_WRITE_THREADS)
        return self.log_text()[said:]


def eventually(holds: Callable[[], bool], what: str | Callable[[], str], *, within: float = 60.0) -> float:
    """Wait until something holds; return how many seconds that took.

    Raises:
        AssertionError: it did not, `within` so many seconds.
    """
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > within:
            raise AssertionError(f"not within {within:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(_LOOK_EVERY)
    return time.monotonic() - begun
