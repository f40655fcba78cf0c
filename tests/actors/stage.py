"""Where actors under test act: virtual time, a process to host them, and what they log and trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.probes import PlainDice
from treenail.actors.runtime.base import DomainActor, Runtime, Wired
from treenail.actors.runtime.world import Process, World
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.domain.model.runtime import Ref, TaskKey

LATENCY = 0.1


class Stage:
    """A world with one process. Every call takes 0.1 s to its server, and its answer as long back."""

    def __init__(self, *, seed: int = 0) -> None:
        self.world = World(seed)
        self.telemetry = RecordingTelemetry()
        self.process = Process(self.world, latency=self.latency)
        self.slow: dict[TaskKey, float] = {}

    def latency(self, key: TaskKey) -> tuple[float, float]:
        """Return the seconds a call takes there and back; `slow` has those of keys that take longer."""
        return self.slow.get(key, LATENCY), LATENCY

    def host(self, make: Callable[[Runtime], DomainActor[Any]]) -> Wired[Any]:
        """Host the actor that `make` makes of a runtime; return where to reach it."""
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=PlainDice(),
            telemetry=self.telemetry,
            failed=_fail,
        )
        return self.process.host(make, runtime)

    def kill(self) -> None:
        """Kill the process; what is hosted from now on is hosted by another."""
        self.process.kill()
        self.process = Process(self.world, latency=self.latency)

    def run(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.world.run(until=self.world.monotonic() + seconds)

    def at(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` so many seconds from now."""

        def then() -> None:
            call()

        self.world.call_at(self.world.monotonic() + seconds, then)

    def send(self, seconds: float, to: Ref[Any], message: object) -> None:
        """Tell `to` a message so many seconds from now."""
        self.at(seconds, lambda: to.tell(message))

    def now(self) -> datetime:
        return self.world.now()

    @property
    def seconds(self) -> float:
        return self.world.monotonic()

    def logged(self, text: str) -> list[dict[str, Any]]:
        """Return the fields of every log line of this text."""
        return [line.fields for line in self.telemetry.logs if line.message == text]

    def spans(self, name: str) -> list[Any]:
        """Return the spans of one name."""
        return [span for span in self.telemetry.spans() if span.name == name]


def _fail(error: BaseException) -> None:
    raise error
