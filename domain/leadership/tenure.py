"""Tenure: until when this process may change anything outside of itself."""

from __future__ import annotations

import math
from collections.abc import Callable

from treenail.domain.model.errors import NotLeadingError


class Tenure:
    """The local deadline of the lease: each call that changes something asks `check` first, from any thread.

    `clock` gives seconds that go on while the process is stopped and while the machine sleeps. No other
    machine's clock matters.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = -math.inf
        self._ended = False

    def now(self) -> float:
        """Return the seconds that deadlines are told in."""
        return self._clock()

    @property
    def held(self) -> bool:
        """True if a call that changes something may begin now."""
        return not self._ended and self._clock() < self._until

    @property
    def ended(self) -> bool:
        """True if no call will ever begin any more."""
        return self._ended

    def check(self) -> None:
        """Return if a call that changes something may begin now.

        Raises:
            NotLeadingError: it may not.
        """
        if not self.held:
            raise NotLeadingError("this replica does not hold the lease: nothing was sent")

    def extend(self, until: float) -> None:
        """Let calls begin before second `until`."""
        self._until = until

    def end(self) -> None:
        """Let no call begin any more, whatever is said later."""
        self._ended = True
