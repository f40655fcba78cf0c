"""The trials that were made of a cluster, by the state it was in."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from treenail.domain.packing.consolidation.trial import Removal, Trial


class TrialMemory:
    """A memory of trials, so that none is made twice: from an equal state, in any order, a trial is the same.

    `state` is a number, 0 at first; equal steps in equal order lead to an equal number, and equal numbers to
    equal trials. Mutable.
    """

    def __init__(self) -> None:
        self.state = 0
        self._after: dict[tuple[int, Hashable], int] = {}
        self._trials: dict[tuple[int, Removal], Trial] = {}

    def go_on(self, step: Hashable) -> None:
        """Go on to the state that `step` leads to from the present one."""
        self.state = self._after.setdefault((self.state, step), len(self._after) + 1)

    def begin_anew(self) -> None:
        """Go back to the state at first."""
        self.state = 0

    def trial(self, removal: Removal, make: Callable[[Removal], Trial]) -> Trial:
        """Return what comes of a removal in the present state; it is made where it was not yet."""
        key = self.state, removal
        known = self._trials.get(key)
        if known is None:
            known = self._trials[key] = make(removal)
        return known
