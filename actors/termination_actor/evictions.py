"""Evictions and deletions of pods, with backoff where a PodDisruptionBudget refuses them (429)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
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
# Where pods leave in turn, others wait so long for a larger one that does not go, for a budget or otherwise.
# After that nobody waits for it again for a while, and the others leave in their order.
_WAITED_SECONDS: Final = 60.0
_GIVEN_UP_SECONDS: Final = 600.0
# Where pods leave in turn, smaller ones wait so long after the eviction of larger ones: by then the pods that
# are made in place of these are bound. Each ReplicaSet makes its own as it comes to it.
_REPLACED_SECONDS: Final = 1.0
# Within this time it is heard that a pod which was evicted is on its way out; until then it looks as before.
_HEARD_SECONDS: Final = 5.0
# What fails now and then is not worth a word.
_WORTH_TELLING: Final = 5


class Evictions:
    """Knows which pods are being asked to leave: each is asked once at a time, and not again too soon."""

    def __init__(self, calls: DrainCalls, monotonic: Callable[[], float]) -> None:
        self._calls = calls
        self._monotonic = monotonic
        # By uid, with their nodes and sizes.
        self._asked: dict[str, tuple[str, float]] = {}
        self._leaving: TTLCache[str, None] = TTLCache(_MOST, _HEARD_SECONDS, timer=monotonic)
        # Pods that went lately, by uid, with their nodes and sizes.
        self._went: TTLCache[str, tuple[str, float]] = TTLCache(_MOST, _REPLACED_SECONDS, timer=monotonic)
        # By node, the pods that are to leave it now, with their sizes.
        self._turns: dict[str, Mapping[str, float]] = {}
        # The nodes with pods that wait for larger ones.
        self._held: dict[str, None] = {}
        # Since when others wait for the largest pods, by uid, or for nodes that have not begun, by name.
        self._awaited: TTLCache[str, float] = TTLCache(_MOST, _GIVEN_UP_SECONDS, timer=monotonic)
        # Pods whose eviction was refused, by uid: the time of the last refusal, and the number of them.
        self._refused: TTLCache[str, tuple[float, int]] = TTLCache(
            _MOST, 2 * _LONGEST_SECONDS, timer=monotonic
        )

    def begin(self, node: str, step: MoveOut, together: Iterable[str] = ()) -> tuple[Move, ...]:
        """Return the calls that a step takes, less those under way or made lately. Each must be ended.

        Smaller pods wait until the API server has answered for larger ones. Where pods leave in turn, they
        wait until a second after the eviction of these, also of those on the nodes that go `together` with
        this one.
        """
        self._turns[node] = step.sizes
        self._awaited.pop(node, None)
        least = _ALIKE * self._largest(node, step, together)
        may = sorted(filter(self._may, step.evict), key=lambda pod: -step.sizes.get(pod.uid, 0.0))
        turn = [pod for pod in may if step.sizes.get(pod.uid, 0.0) >= least]
        self._held.pop(node, None)
        if step.in_turn and len(turn) < len(may):
            self._held[node] = None
        moves: list[Move] = [(pod, None, self._calls.evict(pod)) for pod in turn]
        moves += [(pod, grace, self._calls.delete(pod, grace)) for pod, grace in step.delete]
        begun = tuple(move for move in moves if move[0].uid not in self._asked)
        self._asked |= {pod.uid: (node, step.sizes.get(pod.uid, 0.0)) for pod, _, _ in begun}
        return begun

    def holds_back(self, node: str) -> bool:
        """Return whether pods of a node wait for larger ones."""
        return node in self._held

    def rest(self, node: str) -> None:
        """Take in that no pod is to leave a node now. Before it begins, other nodes wait for it."""
        if node in self._turns:
            self._turns[node] = {}
        self._held.pop(node, None)

    def forget(self, node: str) -> None:
        """Forget a node that is gone, or stays."""
        self._turns.pop(node, None)
        self._held.pop(node, None)

    def _largest(self, node: str, step: MoveOut, together: Iterable[str]) -> float:
        """Return the size of the largest pod that smaller ones of a step wait for, 0 for none."""
        if not step.in_turn:
            return max((size for uid, size in step.sizes.items() if not self._answered(uid)), default=0.0)
        sizes, others = dict(step.sizes), tuple(together)
        for other in others:
            sizes |= self._turns.get(other, {other: math.inf})
        awaited = {key: size for key, size in sizes.items() if self._is_awaited(key)}
        largest = max(awaited.values(), default=0.0)
        for key, size in awaited.items():
            if size >= _ALIKE * largest:
                self._awaited.setdefault(key, self._monotonic())
        went = (size for of, size in self._went.values() if of == node or of in others)
        return max((largest, *went))

    def _answered(self, uid: str) -> bool:
        return uid in self._leaving or uid in self._refused

    def _is_awaited(self, key: str) -> bool:
        since = self._awaited.get(key)
        given_up = since is not None and self._monotonic() - since >= _WAITED_SECONDS
        return key not in self._leaving and not given_up

    def _may(self, pod: Pod) -> bool:
        if pod.uid in self._leaving:
            return False
        at, times = self._refused.get(pod.uid, (float("-inf"), 0))
        own = min(_LONGEST_OF_ONE_SECONDS, times * _LONGER_SECONDS)
        pause = min(_LONGEST_SECONDS, max(_FIRST_SECONDS, own, len(self._refused) / _ASKED_PER_SECOND))
        return self._monotonic() - at >= pause

    def end(self, uid: str, outcome: Outcome[None]) -> Exception | None:
        """Take in that a pod was asked, or could not be; return why not, where people should know."""
        asked = self._asked.pop(uid, None)
        before = self._refused.pop(uid, (0.0, 0))
        if asked is not None and not isinstance(outcome, Failed):
            self._went[uid] = asked
        if not isinstance(outcome, Failed) or isinstance(outcome.error, NotFoundError | ConflictError):
            self._leaving[uid] = None
            return None
        times = before[1] + 1
        self._refused[uid] = self._monotonic(), times
        told = isinstance(outcome.error, TooManyRequestsError | InvalidError) or times >= _WORTH_TELLING
        return outcome.error if told else None
