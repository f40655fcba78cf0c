"""The budget of work. Work is counted, not timed, so that equal problems give equal plans."""

from __future__ import annotations


class Steps:
    """A budget of steps: one is a class of pods tried in one place, or one node size weighed."""

    def __init__(self, limit: int | None) -> None:
        self._left = limit

    @property
    def exhausted(self) -> bool:
        """True once all steps are spent."""
        return self._left is not None and self._left <= 0

    def spend(self, steps: int = 1) -> None:
        """Count steps of work."""
        if self._left is not None:
            self._left -= steps
