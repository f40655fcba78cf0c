"""Untried pods: the scheduler has not reached them yet, and found no node for others like them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.promises import PromiseBook
from treenail.domain.model.pods import Pod, PodSpec

# For so long a shortage is believed in when the last pod that told of it has a node, and at most so long
# while the scheduler is behind: then pods wait so long for their first try.
_LASTS, _LASTS_MOST = timedelta(seconds=30), timedelta(minutes=5)
_BEHIND: Final = timedelta(seconds=5)


@dataclass(slots=True)
class _Shortage:
    """The pods of one spec that wait now, and when the last one was seen to."""

    waiting: dict[str, None] = field(default_factory=dict)
    seen_at: datetime | None = None


class UntriedPods:
    """The pods that the scheduler has not tried yet, by workload, and whether they lack nodes. Mutable.

    A pod lacks a node where the scheduler found none for another pod that is no harder to place: of the same
    scheduler, of at least the same priority, with requirements on nodes that this one has too, and with
    requests that are no larger. That finding counts while the other pod waits and for 30 s after, and up to 5
    min while the scheduler has not tried pods that are 5 s old. For a pod with preferences it counts only
    while the other pod waits: to meet one a plan may buy a node though another has room.
    """

    def __init__(self, objects: Inventory, promises: PromiseBook, *, spread_by_default: bool) -> None:
        """Start with no pod untried. With `spread_by_default`, pods without a spread have the scheduler's."""
        self._objects = objects
        self._promises = promises
        self._spread_by_default = spread_by_default
        self._untried: dict[str, dict[str, None]] = {}
        self._shortages: dict[PodSpec, _Shortage] = {}

    # --- facts

    def pod(self, before: Pod | None, after: Pod | None, now: datetime) -> None:
        """Take in a pod as it was and as it is, None where it is not there."""
        for pod in (before, after):
            if pod is not None and pod.owner is not None:
                self._note_untried(pod.uid, pod.owner.uid, untried=pod is after and pod.untried)
        if before is not None and self._tells(before):
            shortage = self._shortages[before.spec]
            del shortage.waiting[before.uid]
            shortage.seen_at = now
        if after is not None and self._tells(after):
            self._shortages.setdefault(after.spec, _Shortage()).waiting[after.uid] = None

    def _note_untried(self, uid: str, owner: str, *, untried: bool) -> None:
        if untried:
            self._untried.setdefault(owner, {})[uid] = None
        elif owner in self._untried:
            self._untried[owner].pop(uid, None)
            if not self._untried[owner]:
                del self._untried[owner]

    # --- questions

    def lacks(self, pod: Pod, now: datetime) -> bool:
        """Return whether a pod that is there is untried, has no place and lacks a node."""
        return pod.untried and self._lacks(pod, now)

    def uids(self) -> tuple[str, ...]:
        """Return the untried pods, those of the workload with the first one first."""
        return tuple(uid for uids in self._untried.values() for uid in uids)

    def short(self, owner: str, now: datetime) -> bool:
        """Return whether a workload has untried pods that have no place and lack nodes."""
        return any(self._lacks(self._objects.pods[uid], now) for uid in self._untried.get(owner, ()))

    def owners(self, now: datetime) -> tuple[str, ...]:
        """Return the workloads that have such pods, the one with the first pod first."""
        return tuple(owner for owner in self._untried if self.short(owner, now))

    def pods(self, now: datetime) -> tuple[Pod, ...]:
        """Return those pods."""
        untried = (self._objects.pods[uid] for uids in self._untried.values() for uid in uids)
        return tuple(pod for pod in untried if self._lacks(pod, now))

    def _lacks(self, pod: Pod, now: datetime) -> bool:
        if self._promises.of(pod.uid) is not None:
            return False
        self._forget(now)
        prefers = self._prefers(pod.spec)
        return any(
            (shortage.waiting or not prefers) and _asks_no_more(spec, pod.spec)
            for spec, shortage in self._shortages.items()
        )

    def _forget(self, now: datetime) -> None:
        quiet = [(spec, known) for spec, known in self._shortages.items() if not known.waiting]
        for spec in [spec for spec, known in quiet if self._is_over(spec, known, now)]:
            del self._shortages[spec]

    def _is_over(self, spec: PodSpec, shortage: _Shortage, now: datetime) -> bool:
        since = now - shortage.seen_at if shortage.seen_at is not None else _LASTS_MOST
        return since >= _LASTS_MOST or (since >= _LASTS and not self._behind(spec.scheduler_name, now))

    def _behind(self, scheduler: str, now: datetime) -> bool:
        """Return whether a scheduler has not tried pods that were made a while ago."""
        untried = (self._objects.pods[uid] for uids in self._untried.values() for uid in uids)
        return any(p.spec.scheduler_name == scheduler and now - p.created_at >= _BEHIND for p in untried)

    def _tells(self, pod: Pod) -> bool:
        """Return whether a pod waits, and for nothing but a node with room that it may go to."""
        spec = pod.spec
        apart = any(s.hard for s in spec.spread) or any(t.weight is None for t in spec.pod_affinity)
        apart = apart or (self._spread_by_default and not spec.spread)
        return pod.provisionable and not (apart or spec.host_ports or spec.volumes or spec.resource_claims)

    def _prefers(self, spec: PodSpec) -> bool:
        prefers = spec.node_affinity.preferred or spec.spread or spec.pod_affinity
        return self._spread_by_default or bool(prefers)


def _asks_no_more(one: PodSpec, other: PodSpec) -> bool:
    """Return whether `one` finds a node wherever `other` would find one."""
    required = one.node_affinity.required
    return (
        one.scheduler_name == other.scheduler_name
        and one.priority >= other.priority
        and set(one.node_selector) <= set(other.node_selector)
        and (not required or required == other.node_affinity.required)
        and set(other.tolerations) <= set(one.tolerations)
        and one.requests.fits(other.requests)
    )
