"""The circuit breaker of launches: while all launches of a node class fail, one is tried for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from treenail.domain.launch.launch_steps import CallFleet
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.node_classes import NodeClassRef

# So often in a row calls may fail before they are held back.
_AT_ONCE: Final = 3
# When EC2 answers again, that is noticed within 30 s.
_PROBES: Final = Backoff(first=2.0, longest=30.0, jitter=0.25)


@dataclass(slots=True)
class _Held:
    """The number of failures in a row of a class's calls, those that wait, and how often one was let go."""

    failures: int = 0
    probes: int = 0
    waiting: dict[str, CallFleet] = field(default_factory=dict)
    armed: bool = False


class CircuitBreaker:
    """The calls that wait, by node class. A class that calls came to something of has none. Mutable."""

    def __init__(self) -> None:
        self._classes: dict[NodeClassRef, _Held] = {}

    def holds(self, node_class: NodeClassRef, call: CallFleet) -> bool:
        """Return whether a call is to wait; then it does."""
        held = self._classes.get(node_class)
        if held is None or held.failures <= _AT_ONCE:
            return False
        held.waiting[call.token] = call
        return True

    def failed(self, node_class: NodeClassRef) -> None:
        """Take in that a call got no answer, or was throttled."""
        self._classes.setdefault(node_class, _Held()).failures += 1

    def answered(self, node_class: NodeClassRef) -> tuple[CallFleet, ...]:
        """Take in that a call was answered, and return those that waited: all may be made."""
        held = self._classes.pop(node_class, None)
        return () if held is None else tuple(held.waiting.values())

    def pause(self, node_class: NodeClassRef, chance: float) -> float | None:
        """Return in how many seconds one of those that wait is to be tried; None where that is known.

        None too where none waits. It doubles up to half a minute, less up to a quarter by `chance` (from 0
        to 1).
        """
        held = self._classes.get(node_class)
        if held is None or held.armed or not held.waiting:
            return None
        held.armed = True
        held.probes += 1
        return _PROBES.after(held.probes, chance)

    def probe(self, node_class: NodeClassRef, *, wanted: Callable[[str], bool]) -> CallFleet | None:
        """Return the call that has waited longest, to be made now for all; None where none does.

        Those whose token is not `wanted` any more are dropped.
        """
        held = self._classes.get(node_class)
        if held is None:
            return None
        held.armed = False
        for token in tuple(held.waiting):
            call = held.waiting.pop(token)
            if wanted(token):
                return call
        return None
