"""Pods that are asked to leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from treenail.actors.drain_calls import DrainCalls
from treenail.domain.moving_out import MoveOut
from treenail.domain.pods import Pod

# The seconds of grace are those of a deletion, None of an eviction.
Move: TypeAlias = "tuple[Pod, int | None, Callable[[], None]]"


class PodMover:
    """Knows which pods are being asked to leave: each is asked once at a time."""

    def __init__(self, calls: DrainCalls) -> None:
        self._calls = calls
        self._asked: dict[str, None] = {}

    def begin(self, step: MoveOut) -> tuple[Move, ...]:
        """Return the calls that a step takes, less those under way. Each must be ended."""
        moves: list[Move] = [(pod, None, self._calls.evict(pod)) for pod in step.evict]
        moves += [(pod, grace, self._calls.delete(pod, grace)) for pod, grace in step.delete]
        begun = tuple(move for move in moves if move[0].uid not in self._asked)
        self._asked |= dict.fromkeys(pod.uid for pod, _, _ in begun)
        return begun

    def end(self, uid: str) -> None:
        """Take in that a pod was asked, or could not be."""
        self._asked.pop(uid, None)
