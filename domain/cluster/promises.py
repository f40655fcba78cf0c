"""Promises: which pod was promised which place, so that no place is given twice."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from treenail.domain.model.capacity_buffers import of_buffer
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import NOTHING, Resources

# Pods that an owner makes are alike, mostly.
_LOOKED_AT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A place kept for a pod, `like` which it was then. `target` names a node view: a claim, or a bare node.

    `heir` is set for a pod that still stands on a leaving node and will come back with another uid:
    the uid of the owner that makes its successor. `expected` says that the pod is still to be made: then its
    owner is the heir from the start. Where the owner is a capacity buffer nobody inherits: the place is kept
    free, and whoever needs the room gets it. `expires_at` is None while the target is on its way.
    """

    like: Pod
    target: str
    decision: str
    heir: str = ""
    expected: bool = False
    expires_at: datetime | None = None

    @property
    def pod(self) -> str:
        """The uid of the pod."""
        return self.like.uid

    @property
    def of_buffer(self) -> bool:
        """True if a capacity buffer keeps the place."""
        return self.expected and of_buffer(self.heir)

    @property
    def spec(self) -> PodSpec:
        """The spec of the pod: all it asks of a node."""
        return self.like.spec

    @property
    def requests(self) -> Resources:
        """The resources that the promise keeps free."""
        return self.like.spec.requests


class PromiseBook:
    """All promises there are. A pod has at most one."""

    def __init__(self) -> None:
        self._by_pod: dict[str, Promise] = {}
        self._by_target: dict[str, dict[str, Promise]] = {}
        self._reserved: dict[str, Resources] = {}
        # Promises whose pod is gone and whose owner is to make a successor, by that owner.
        self._heirless: dict[str, list[str]] = {}
        # Promises to pods that are still to be made, by the owner that is to make them.
        self._expected: dict[str, dict[str, None]] = {}
        # Those of them that are buffers.
        self._buffers: dict[str, None] = {}
        # Promises to pods that are there and wait, by their owner.
        self._waiting: dict[str, dict[str, None]] = {}
        # By expiry. An entry is out of date when its promise has ended or has got another one.
        self._expiries: list[tuple[datetime, str]] = []
        self._hears: Callable[[Promise, int], None] = _nobody_hears

    def listen(self, hears: Callable[[Promise, int], None]) -> None:
        """Have `hears` called with each promise to a pod that a workload is to make: 1, or -1 at its end."""
        self._hears = hears

    def __len__(self) -> int:
        return len(self._by_pod)

    def of(self, pod: str) -> Promise | None:
        """Return the promise made to a pod, if any."""
        return self._by_pod.get(pod)

    def at(self, target: str) -> tuple[Promise, ...]:
        """Return the promises of places on `target`, in the order made."""
        return tuple(self._by_target.get(target, {}).values())

    def any_at(self, target: str) -> bool:
        """Return whether there are promises of places on `target`."""
        return target in self._by_target

    def targets(self) -> tuple[str, ...]:
        """Return every target with a promise, in the order of their first."""
        return tuple(self._by_target)

    def at_for_pods(self, target: str) -> tuple[Promise, ...]:
        """Return the promises of places on `target` less those that buffers keep, in the order made."""
        there = self.at(target)
        return tuple(promise for promise in there if not promise.of_buffer) if self._buffers else there

    def at_for_buffers(self, target: str) -> tuple[Promise, ...]:
        """Return the places on `target` that buffers keep, in the order made."""
        return tuple(promise for promise in self.at(target) if promise.of_buffer) if self._buffers else ()

    def reserved(self, target: str) -> Resources:
        """Return what the promises on `target` add up to, with the places that buffers keep.

        What none of them asks for any more may be named, as 0.
        """
        return self._reserved.get(target, NOTHING)

    def make(self, promise: Promise) -> None:
        """Keep `promise`.

        Raises:
            ValueError: the pod has a promise already.
        """
        if promise.pod in self._by_pod:
            raise ValueError(f"pod {promise.pod} is promised a place on {self._by_pod[promise.pod].target}")
        self._put(promise)

    def expected(self, owner: str) -> tuple[Promise, ...]:
        """Return the promises to pods that an owner is still to make, in the order made."""
        return tuple(self._by_pod[pod] for pod in self._expected.get(owner, ()))

    def owners_to_come(self, namespace: str) -> tuple[str, ...]:
        """Return the workloads of a namespace that are to make pods with promises, the latest first."""
        firsts = ((owner, next(iter(pods))) for owner, pods in reversed(self._expected.items()))
        there = ((owner, self._by_pod[pod]) for owner, pod in firsts)
        return tuple(o for o, one in there if one.like.namespace == namespace and not one.of_buffer)

    def buffers(self) -> tuple[str, ...]:
        """Return the buffers that places are kept for, as owners."""
        return tuple(self._buffers)

    def to_come(self, owner: str) -> int:
        """Return how many promises there are to pods that an owner is still to make."""
        return len(self._expected.get(owner, ()))

    def waiting(self, owner: str) -> int:
        """Return how many pods of an owner that are there wait for the place they were promised."""
        return len(self._waiting.get(owner, ()))

    def heirless(self, owner: str) -> int:
        """Return how many promises wait for a pod that an owner makes."""
        return len(self._heirless.get(owner, ())) + len(self._expected.get(owner, ()))

    def _put(self, promise: Promise) -> None:
        if promise.pod not in self._by_pod:  # else it is the same place, on other terms
            self._reserved[promise.target] = self.reserved(promise.target).plus(promise.requests)
            self._tell(promise, 1)
        self._by_pod[promise.pod] = promise
        self._by_target.setdefault(promise.target, {})[promise.pod] = promise
        if promise.expected:
            self._expected.setdefault(promise.heir, {})[promise.pod] = None
            if promise.of_buffer:
                self._buffers[promise.heir] = None
        elif not promise.heir:
            self._waiting.setdefault(_owner(promise), {})[promise.pod] = None
        if promise.expires_at is not None:
            heapq.heappush(self._expiries, (promise.expires_at, promise.pod))

    def end(self, pod: str) -> Promise | None:
        """End the promise made to `pod` and return it, if there was one."""
        promise = self._by_pod.pop(pod, None)
        if promise is None:
            return None
        self._tell(promise, -1)
        places = self._by_target[promise.target]
        del places[pod]
        self._reserved[promise.target] = self._reserved[promise.target].minus(promise.requests)
        if not places:
            del self._by_target[promise.target], self._reserved[promise.target]
        waiting = self._waiting.get(_owner(promise))
        if waiting is not None and pod in waiting:
            del waiting[pod]
            if not waiting:
                del self._waiting[_owner(promise)]
        expected = self._expected.get(promise.heir)
        if expected is not None and promise.expected:
            del expected[pod]
            if not expected:
                del self._expected[promise.heir]
                self._buffers.pop(promise.heir, None)
        heirless = self._heirless.get(promise.heir)
        if heirless and pod in heirless:
            heirless.remove(pod)
            if not heirless:
                del self._heirless[promise.heir]
        return promise

    def _tell(self, promise: Promise, times: int) -> None:
        if promise.expected and not promise.of_buffer:
            self._hears(promise, times)

    def end_all(self, target: str) -> tuple[Promise, ...]:
        """End every promise on `target` and return them."""
        ended = self.at(target)
        for promise in ended:
            self.end(promise.pod)
        return ended

    def expire(self, now: datetime) -> tuple[Promise, ...]:
        """End the promises whose time is over, and return them in the order of their expiry."""
        over: list[Promise] = []
        while (at := self.next_expiry()) is not None and at <= now:
            _, pod = heapq.heappop(self._expiries)
            over.append(self._by_pod[pod])
            self.end(pod)
        return tuple(over)

    def next_expiry(self) -> datetime | None:
        """Return when the next promise expires, if any does."""
        while self._expiries:
            at, pod = self._expiries[0]
            promise = self._by_pod.get(pod)
            if promise is not None and promise.expires_at == at:
                return at
            heapq.heappop(self._expiries)
        return None

    def lapsing(self) -> tuple[Promise, ...]:
        """Return the promises that expire some time, in the order made."""
        return tuple(promise for promise in self._by_pod.values() if promise.expires_at is not None)

    def orphan(self, pod: str, *, expires_at: datetime) -> Promise | None:
        """Note that `pod` goes. Its promise ends, unless its owner makes a successor to take it over.

        Return the promise that ended, if one did.
        """
        promise = self._by_pod.get(pod)
        if promise is None:
            return None
        if not promise.heir:
            return self.end(pod)
        heirless = self._heirless.setdefault(promise.heir, [])
        if pod not in heirless:
            heirless.append(pod)
            self._put(replace(promise, expires_at=min(promise.expires_at or expires_at, expires_at)))
        return None

    def inherit(self, pod: Pod) -> Promise | None:
        """Let a new pod take over a promise to one its owner made before, or was to make; return it."""
        owner = pod.owner
        if owner is None or pod.uid in self._by_pod:
            return None
        for old in (
            *self._heirless.get(owner.uid, ()),
            *islice(self._expected.get(owner.uid, ()), _LOOKED_AT),
        ):
            promise = self._by_pod[old]
            if promise.spec == pod.spec:
                self.end(old)
                taken = replace(promise, like=pod, heir="", expected=False)
                self._put(taken)
                return taken
        return None

    def renew(self, promise: Promise, *, expires_at: datetime | None) -> None:
        """Let `promise` hold until `expires_at` (None: while its target is on its way)."""
        self._put(replace(promise, expires_at=expires_at))

    def withdraw_overdrawn(self, target: str, free: Resources) -> tuple[Promise, ...]:
        """End the latest promises on `target` until the rest fits into `free` (before any promise).

        Promises of buffers end first, then those to pods that do not exist yet.

        The scheduler may put a pod into the room promised to another: then the promise cannot hold.
        """
        if self.reserved(target).fits(free):
            return ()
        withdrawn: list[Promise] = []
        for promise in self._most_dispensable_first(target):
            if self.reserved(target).fits(free):
                break
            self.end(promise.pod)
            withdrawn.append(promise)
        return tuple(withdrawn)

    def _most_dispensable_first(self, target: str) -> Iterator[Promise]:
        # Mostly the first is all that is asked for, of some hundred, and that for each pod that is bound.
        latest_first = self.at(target)[::-1]
        yield from self.at_for_buffers(target)[::-1]
        yield from (p for p in latest_first if p.expected and not p.of_buffer)
        yield from (p for p in latest_first if not p.expected)

    def all(self) -> Iterable[Promise]:
        """Return every promise, in the order made."""
        return self._by_pod.values()


def _nobody_hears(_promise: Promise, _times: int) -> None:
    pass


def _owner(promise: Promise) -> str:
    return promise.like.owner.uid if promise.like.owner is not None else ""
