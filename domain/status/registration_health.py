"""The condition NodeRegistrationHealthy of pools: whether their nodes come to register."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import Condition, Status

REGISTRATION_HEALTHY: Final = "NodeRegistrationHealthy"
# Of the last four nodes two that never came are too many.
_LOOKED_AT: Final = 4
_TOO_MANY: Final = 2
_UNKNOWN: Final = Condition(
    REGISTRATION_HEALTHY, Status.UNKNOWN, "AwaitingReconciliation", "object is awaiting reconciliation"
)
_WHY: Final = {
    Cause.LAUNCH_TIMEOUT: ("LaunchFailed", "Failed to launch instance"),
    Cause.REGISTRATION_TIMEOUT: ("RegistrationFailed", "Failed to register node"),
}


class RegistrationHealth:
    """The fate of the last nodes of each pool. Mutable.

    What is not known, as after a restart, is not said. A pool that says something else, or whose node class
    does, begins anew.
    """

    def __init__(self) -> None:
        # By pool: for each of its last nodes why it never came, None where it did.
        self._ends: dict[str, deque[Cause | None]] = {}
        self._shown: dict[str, Condition] = {}

    def note(self, pool: str, failure: Cause | None) -> bool:
        """Take in that a node registered, or why it never came; return whether that is news."""
        ends = self._ends.setdefault(pool, deque(maxlen=_LOOKED_AT))
        ends.append(failure)
        was, now = self._shown.get(pool), _condition(ends)
        if now is None or now == was:
            return False
        self._shown[pool] = now
        return True

    def begin_anew(self, pool: str) -> None:
        """Take in that what is known says nothing of the nodes that come from now on."""
        self._ends.pop(pool, None)
        if pool in self._shown:
            self._shown[pool] = _UNKNOWN

    def keep(self, pools: Iterable[str]) -> None:
        """Forget all pools but these."""
        there = frozenset(pools)
        for name in self._ends.keys() | self._shown.keys():
            if name not in there:
                self._ends.pop(name, None)
                self._shown.pop(name, None)

    def condition(self, pool: NodePool) -> tuple[Condition, ...]:
        """Return what a pool is to say, if anything; a Provisioner says nothing of it."""
        shown = self._shown.get(pool.name)
        return () if shown is None or pool.generation is Generation.V1ALPHA5 else (shown,)


def _condition(ends: Iterable[Cause | None]) -> Condition | None:
    every = tuple(ends)
    failures = tuple(end for end in every if end is not None)
    if len(failures) >= _TOO_MANY:
        return Condition(REGISTRATION_HEALTHY, Status.FALSE, *_WHY.get(failures[-1], _WHY[_TIMEOUT]))
    if len(failures) < len(every):
        return Condition(REGISTRATION_HEALTHY, Status.TRUE, REGISTRATION_HEALTHY)
    return None


_TIMEOUT: Final = Cause.REGISTRATION_TIMEOUT
