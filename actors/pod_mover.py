"""Pods that are asked to leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from treenail.actors.drain_calls import DrainCalls
from treenail.domain.disruption import Cause
from treenail.domain.moving_out import MoveOut
from treenail.domain.pods import Pod

Move: TypeAlias = "tuple[Pod, Callable[[], None]]"


class PodMover:
    """Knows which pods are being asked to leave: each is asked once at a time."""

    def __init__(self, calls: DrainCalls) -> None:
        self._calls = calls
        self._asked: dict[str, None] = {}

    def begin(self, step: MoveOut, cause: Cause) -> tuple[Move, ...]:
        """Return the calls that a step takes, less those under way. Each must be ended."""
        moves: list[Move] = [(pod, self._calls.evict(pod)) for pod in step.evict]
        moves += [(pod, self._calls.delete(pod, grace, cause)) for pod, grace in step.delete]
        begun = tuple((pod, call) for pod, call in moves if pod.uid not in self._asked)
        self._asked |= dict.fromkeys(pod.uid for pod, _ in begun)
        return begun

    def end(self, uid: str) -> None:
        """Take in that a pod was asked, or could not be."""
        self._asked.pop(uid, None)
