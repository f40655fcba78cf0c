"""Which pods wait for a node, since when, and when to try again for those refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.node_classes import NodeClass
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import NodeView
from treenail.domain.pods import Pod
from treenail.domain.promises import Promise

_FIRST_RETRY: Final = timedelta(seconds=10)
_LAST_RETRY: Final = timedelta(seconds=60)
# Where a pool could not buy for now, it is likely that it can before long.
_LAST_RETRY_OF_POOLS: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChanged:
    """A pod started or ceased to wait for a place. `pod` is None where it is gone.

    It is not to be asked for before `not_before`, where that is set.
    """

    uid: str
    pod: Pod | None
    waiting: bool
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChanged:
    """A node view is as it stands, or (None) gone.

    `pods` are those on it, told only of one that is going, with the `decisions` that found other places
    for them, whether these `places` are ready, and the names of their persistent `volumes`, both by uid of
    the pod; `promised` are those with a promise of a place on it, told only of one that is launched and
    not registered, to whoever binds early. `pool` and `node_class` are told only of a claim that waits for
    its launch, where they are there.
    """

    name: str
    view: NodeView | None
    going: bool = False
    pods: tuple[Pod, ...] = ()
    decisions: tuple[str, ...] = ()
    places: Mapping[str, bool] = field(default_factory=dict)
    volumes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    promised: tuple[Pod, ...] = ()
    pool: NodePool | None = None
    node_class: NodeClass | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsChanged:
    """What may be bought, or what pods wait for, has changed: those refused before may be lucky now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBound:
    """A pod has a node. `promise` is the one it had, if any.

    `news` is false where it had the node already when it was first heard of.
    """

    pod: Pod
    view: NodeView
    promise: Promise | None
    news: bool = True


@dataclass(slots=True)
class _Wait:
    since: datetime
    refused: int = 0
    retry_at: datetime | None = None


@dataclass(slots=True)
class WaitingRoom:
    """The pods that wait. Refused ones are tried again after 10 s, 20 s, 40 s, then every minute.

    Where a pool was not ready for them, it is every 15 s.
    """

    _waits: dict[str, _Wait] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waits)

    def enter(self, pod: Pod, now: datetime, not_before: datetime | None = None) -> datetime | None:
        """Note that `pod` waits. Return since when, None where that was known or it is put off."""
        if pod.uid in self._waits:
            return None
        since = pod.unschedulable_since or now
        put_off = not_before is not None and not_before > now
        self._waits[pod.uid] = _Wait(since, retry_at=not_before if put_off else None)
        return None if put_off else since

    def leave(self, uid: str) -> bool:
        """Note that a pod waits no longer; tell whether it did."""
        return self._waits.pop(uid, None) is not None

    def refuse(self, uid: str, now: datetime, *, pools_ready: bool = True) -> bool:
        """Put a pod off for a while; tell whether it is refused for the first time."""
        wait = self._waits.get(uid)
        if wait is None:
            return False
        longest = _LAST_RETRY if pools_ready else _LAST_RETRY_OF_POOLS
        wait.retry_at = now + min(_FIRST_RETRY * 2**wait.refused, longest)
        wait.refused = min(wait.refused + 1, 6)
        return wait.refused == 1

    def hope(self) -> None:
        """Let all that were refused be tried again at once."""
        for wait in self._waits.values():
            wait.refused, wait.retry_at = 0, None

    def ready(self, now: datetime) -> tuple[tuple[str, datetime], ...]:
        """Return those to be tried now, as (uid, waiting since); a time to try again is used up by it."""
        ready: list[tuple[str, datetime]] = []
        for uid, wait in self._waits.items():
            if wait.retry_at is None or wait.retry_at <= now:
                wait.retry_at = None
                ready.append((uid, wait.since))
        return tuple(ready)

    def next_retry(self) -> datetime | None:
        """Return when the next refused pod is to be tried again, if any is."""
        return min((w.retry_at for w in self._waits.values() if w.retry_at is not None), default=None)
