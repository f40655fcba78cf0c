"""The runtime of actors as ports: references, clock, timers, tasks and dice."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeAlias, TypeVar

from treenail.domain.model.purposes import BY_DEFAULT, Purpose

M_contra = TypeVar("M_contra", contravariant=True)
M = TypeVar("M")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Ref(Protocol[M_contra]):
    """The address to which messages of one protocol are sent."""

    def tell(self, message: M_contra, /) -> None:
        """Put `message` in the inbox and return at once."""


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the time of day, aware UTC: for facts."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back: for timers."""
        ...


TimerKey: TypeAlias = Hashable


class Timers(Clock, Protocol):
    """Messages to be sent later."""

    def arm(self, key: TimerKey, to: Ref[M], message: M, *, at: float) -> None:
        """Send `message` to `to` at monotonic second `at`, in place of what was armed under (to, key)."""

    def cancel(self, key: TimerKey, to: Ref[M]) -> None:
        """Send nothing of what was armed under (to, key)."""


@dataclass(frozen=True, slots=True)
class Done(Generic[R_co]):
    """A call returned `value`."""

    value: R_co


@dataclass(frozen=True, slots=True)
class Failed:
    """A call raised `error`, which is one the port documents."""

    error: Exception


Outcome: TypeAlias = Done[R_co] | Failed

# What a call is about. The first item names the port it goes to ("kubernetes", "ec2", "solver"...).
TaskKey: TypeAlias = tuple[str, ...]


class Tasks(Protocol):
    """Calls that may block, run elsewhere."""

    def run(
        self,
        key: TaskKey,
        call: Callable[[], R],
        to: Ref[M],
        then: Callable[[Outcome[R]], M],
        *,
        purpose: Purpose = BY_DEFAULT,
    ) -> None:
        """Run `call` elsewhere and tell `to` what `then` makes of its outcome.

        Calls with equal keys run one after the other, in order; others in parallel, the more urgent
        `purpose` first where not all can run at once. An error that is no `PortError` is not an outcome but
        a defect: it ends the system.
        """

    def mention(self, key: TaskKey, what: Hashable, call: Callable[[int], object]) -> None:
        """Run `call` elsewhere when nothing else is to be done. Its outcome is reported to nobody.

        Its argument says how often `what` was mentioned under `key` since it was last called: while one call
        waits, more are only counted. Where too many wait, it is dropped.
        """


class Log(Protocol):
    """Writes a log line: `Telemetry.log`, or an actor's own `log`."""

    def __call__(self, message: str, /, **fields: object) -> None: ...


class Dice(Protocol):
    """The only source of chance. Seeded in tests, so that luck repeats."""

    def uniform(self, low: float, high: float) -> float: ...

    def token(self) -> str:
        """Return ten lower-case hexadecimal digits, unlike those drawn before."""
        ...


class Agenda(Clock, Protocol):
    """The agenda of a simulated outside world: the time, and things to do later."""

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        """Call `call` at monotonic second `at`, after what was due before it."""
