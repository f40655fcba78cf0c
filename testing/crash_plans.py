"""Crashes at a message or a step, planned before they happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treenail.actors.runtime.world import World


@dataclass(slots=True, kw_only=True)
class CrashPlan:
    """A crash when the `nth` message of a kind from now on is sent, or so many steps were made, then `crash`.

    It happens once the handler that sent the message is through, and before anybody handles the message.
    """

    message: type | None
    nth: int
    step: int | None
    crash: Callable[[], None]
    seen: int = 0
    happened: bool = False

    def note(self, _actor: str, message: object) -> None:
        """Take in that a message was sent."""
        if self.message is not None and isinstance(message, self.message):
            self.seen += 1

    def look(self, world: World) -> None:
        """Crash, if it is time; to be called after every step."""
        due = world.steps >= self.step if self.step is not None else self.seen >= self.nth
        if due and not self.happened:
            self.happened = True
            self.crash()

    @property
    def missing(self) -> str:
        """The sentence that says what of it has not happened yet; "" if all has."""
        if self.happened:
            return ""
        if self.message is None:
            return f"crash_at(step={self.step}): the world did not come that far"
        times = "was never sent" if not self.seen else f"was sent {self.seen} times, not {self.nth}"
        return f"crash_at({self.message.__name__}): it {times}"
