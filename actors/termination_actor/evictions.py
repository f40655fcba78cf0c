"""Evictions and deletions of pods, with backoff where a PodDisruptionBudget refuses them (429)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from cachetools import TTLCache

from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.domain.model.errors import ConflictError, InvalidError, NotFoundError, TooManyRequestsError
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Failed, Outcome
from treenail.domain.termination.eviction_order import MoveOut

# The seconds of grace are those of a deletion, None of an eviction.
Move: TypeAlias = "tuple[Pod, int | None, Callable[[], None]]"

# Pods that may not leave are asked again after a second, or as long as it takes to ask so many a second: what
# that costs the API server is the same for fifty nodes that wait as for five hundred. Each refusal of a pod
# makes its pause longer: some budgets allow nothing for days.
_FIRST_SECONDS: Final = 1.0
_LONGER_SECONDS: Final = 0.1
_LONGEST_OF_ONE_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 60.0
_ASKED_PER_SECOND: Final = 5.0
_MOST: Final = 100_000
# Pods are asked to leave together where the smallest is at least this share of the largest.
_ALIKE: Final = 0.75
# Within this time it is heard that a pod which was evicted is on its way out; until then it looks as before.
_HEARD_SECONDS: Final = 5.0
# What fails now and then is not worth a word.
_WORTH_TELLING: Final = 5


class Evictions:
    """Knows which pods are being asked to leave: each is asked once at a time, and not again too soon."""

    def __init__(self, calls: DrainCalls, monotonic: Callable[[], float]) -> None:
        self._calls = calls
        self._monotonic = monotonic
        self._asked: dict[str, None] = {}
        self._leaving: TTLCache[str, None] = TTLCache(_MOST, _HEARD_SECONDS, timer=monotonic)
        # Pods that the API server answered for, also with the news that they are gone.
        self._answered: TTLCache[str, None] = TTLCache(_MOST, 2 * _LONGEST_SECONDS, timer=monotonic)
        # Pods whose eviction was refused, by uid: the time of the last refusal, and the number of them.
        self._refused: TTLCache[str, tuple[float, int]] = TTLCache(
            _MOST, 2 * _LONGEST_SECONDS, timer=monotonic
        )

    def begin(self, step: MoveOut) -> tuple[Move, ...]:
        """Return the calls that a step takes, less those under way or made lately. Each must be ended.

        Smaller pods wait until the API server has answered for larger ones, whatever it answered.
        """
        may = sorted(filter(self._may, step.evict), key=lambda pod: -step.sizes.get(pod.uid, 0.0))
        unanswered = (step.sizes.get(pod.uid, 0.0) for pod in may if pod.uid not in self._answered)
        least = _ALIKE * max(unanswered, default=0.0)
        turn = (pod for pod in may if step.sizes.get(pod.uid, 0.0) >= least)
        moves: list[Move] = [(pod, None, self._calls.evict(pod)) for pod in turn]
        moves += [(pod, grace, self._calls.delete(pod, grace)) for pod, grace in step.delete]
        begun = tuple(move for move in moves if move[0].uid not in self._asked)
        self._asked |= dict.fromkeys(pod.uid for pod, _, _ in begun)
        return begun

    def _may(self, pod: Pod) -> bool:
        if pod.uid in self._leaving:
            return False
        at, times = self._refused.get(pod.uid, (float("-inf"), 0))
        own = min(_LONGEST_OF_ONE_SECONDS, times * _LONGER_SECONDS)
        pause = min(_LONGEST_SECONDS, max(_FIRST_SECONDS, own, len(self._refused) / _ASKED_PER_SECOND))
        return self._monotonic() - at >= pause

    def end(self, uid: str, outcome: Outcome[None]) -> Exception | None:
        """Take in that a pod was asked, or could not be; return why not, where people should know."""
        self._asked.pop(uid, None)
        self._answered[uid] = None
        before = self._refused.pop(uid, (0.0, 0))
        if not isinstance(outcome, Failed):
            self._leaving[uid] = None
        if not isinstance(outcome, Failed) or isinstance(outcome.error, NotFoundError | ConflictError):
            return None
        times = before[1] + 1
        self._refused[uid] = self._monotonic(), times
        told = isinstance(outcome.error, TooManyRequestsError | InvalidError) or times >= _WORTH_TELLING
        return outcome.error if told else None
