"""CreateFleet calls that wait while the circuit breaker of their node class is open."""

from __future__ import annotations

from collections.abc import Callable

from treenail.domain.launch.circuit_breaker import CircuitBreaker
from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_steps import CallFleet
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.runtime import Dice, Failed, Outcome


class HeldCalls:
    """Keeps calls back, and lets one of them go now and then, to see.

    `later` is to have `probe` called in so many seconds, `go` makes a call.
    """

    def __init__(
        self,
        book: LaunchBook,
        dice: Dice,
        *,
        later: Callable[[NodeClassRef, float], None],
        go: Callable[[CallFleet], None],
    ) -> None:
        self._book = book
        self._dice = dice
        self._later = later
        self._go = go
        self._brake = CircuitBreaker()

    def keep(self, call: CallFleet) -> bool:
        """Return whether a call is to wait; then it is made some time."""
        ref = self._class_of(call)
        if ref is None or not self._brake.holds(ref, call):
            return False
        self._arm(ref)
        return True

    def note(self, call: CallFleet, outcome: Outcome[object]) -> None:
        """Take in what came of a call: one that was answered lets all others go."""
        ref = self._class_of(call)
        if ref is None:
            return
        if isinstance(outcome, Failed) and isinstance(outcome.error, UnavailableError | TooManyRequestsError):
            self._brake.failed(ref)
            self._arm(ref)
            return
        for held in self._brake.answered(ref):
            self._go(held)

    def probe(self, ref: NodeClassRef) -> None:
        """Make one of the calls that wait, which is still wanted."""
        call = self._brake.probe(ref)
        while call is not None and self._book.group(call.token) is None:
            call = self._brake.probe(ref)
        if call is not None:
            self._go(call)

    def _arm(self, ref: NodeClassRef) -> None:
        seconds = self._brake.pause(ref, self._dice.uniform(0, 1))
        if seconds is not None:
            self._later(ref, seconds)

    def _class_of(self, call: CallFleet) -> NodeClassRef | None:
        group = self._book.group(call.token)
        return group.launch.request.node_class.ref if group is not None else None
