"""Expected pods: those that workloads are still to make, planned before they are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.namespace_quotas import Drawn, NamespaceQuotas, QuotaRoom
from treenail.domain.cluster.promises import PromiseBook
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.capacity_buffers import keeps_room_for_buffer
from treenail.domain.model.pods import Phase, Pod

# So many are planned in one decision at most. The next ones are when EC2 has granted what they are to get.
MOST: Final = 5_000
_PATIENCE_LEAST, _PATIENCE_MOST = timedelta(seconds=30), timedelta(minutes=5)
# Pods are waited for this many times as long as they took to come one after the other at the slowest.
_PATIENCE: Final = 3
_PACE_FADES: Final = 0.9
# How long nobody asks again for pods that did not come, or for nodes that were not to be had.
AGAIN: Final = Backoff(first=60.0, longest=1800.0)
# Labels that tell one pod of a workload from another.
_OWN_LABELS: Final = (
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "statefulset.kubernetes.io/pod-name",
)
# No API server gives out uids with a slash.
_EXPECTED: Final = "expected/"
_REVISION: Final = "controller-revision-hash"


@dataclass(slots=True)
class _Wish:
    """The knowledge of one workload's pods. `left` are those that ceased to be active since its last news.

    `unbound` are the active ones without a node.
    `refused` says that the last plan with pods to come had no places for them. `failed` is how many failed,
    and `paused_at` when that was heard, None where a pod was made since.
    """

    active: dict[str, None] = field(default_factory=dict)
    unbound: dict[str, None] = field(default_factory=dict)
    left: int = 0
    came_at: datetime | None = None
    # Since when more are waited for, None where nobody does; and what became of waiting before.
    waited_since: datetime | None = None
    given_up: int = 0
    not_before: datetime | None = None
    news: bool = True
    refused: bool = False
    failed: int = 0
    paused_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The pods of a workload that are not expected as a quota has no room for them: their `number`.

    `quota` is its namespace/name, `workload` that of the workload, as "shop/Deployment/web".
    """

    quota: str
    workload: str
    number: int

    def __str__(self) -> str:
        return f"{self.quota}: {self.workload} {self.number}"


class ExpectedPods:
    """The pods that workloads are still to make, as far as they are expected. Mutable.

    A workload makes `wanted` pods, less those that are active. One that ceased to be active counts until
    there is news of its workload: a Job says how many are done. Where pods of a Job failed, none are expected
    until one was made after that: its controller makes a pause, and then all that are missing (manageJob in
    Kubernetes' pkg/controller/job). The shape of an expected pod is that of the latest pod of its workload,
    as admission left it. It has a uid and a promise, and is in no store of objects; a pod that its workload
    makes takes the promise over. No more are expected than the quotas of their namespace let be made.

    Pods are waited for three times as long as pods took to come one after the other, 30 s at least. Then
    no more are expected until there is news of their workload, and not before a pause, which grows.
    """

    def __init__(self, objects: Inventory, promises: PromiseBook, quotas: NamespaceQuotas) -> None:
        self._objects = objects
        self._promises = promises
        self._quotas = quotas
        self._wishes: dict[str, _Wish] = {}
        self._numbered = 0
        self._slowest = timedelta(0)
        # The workloads whose pods are waited for.
        self._waited: dict[str, None] = {}
        # The expected pods of the last decision, by uid.
        self.offered: dict[str, Pod] = {}
        # What quotas kept from being expected in the last decision.
        self.held_back: tuple[HeldBack, ...] = ()

    # --- facts

    def pod(self, before: Pod | None, after: Pod | None, now: datetime) -> str:
        """Take in a pod as it was and as it is, None where it is not there; return its owner's uid or ""."""
        pod = after or before
        owner = pod.owner if pod is not None else None
        if pod is None or owner is None or owner.kind not in ("ReplicaSet", "Job", "StatefulSet"):
            return ""
        wish = self._wishes.setdefault(owner.uid, _Wish())
        if after is not None and after.active:
            if pod.uid not in wish.active:
                wish.active[pod.uid] = None
                self._came(wish, pod, now)
        elif pod.uid in wish.active:
            del wish.active[pod.uid]
            wish.left += 1
        if after is not None and after.active and not after.node_name:
            wish.unbound[pod.uid] = None
        else:
            wish.unbound.pop(pod.uid, None)
        self._tidy(owner.uid)
        return owner.uid

    def _came(self, wish: _Wish, pod: Pod, now: datetime) -> None:
        if wish.waited_since is not None:
            since = max(wish.waited_since, wish.came_at or wish.waited_since)
            self._slowest = max(now - since, self._slowest * _PACE_FADES)
        wish.came_at, wish.news = now, True
        if wish.left and pod.owner is not None and pod.owner.kind != "Job":
            # The successor of one that left comes before its controller writes what it has now. A pod of a
            # Job may have left as it succeeded, and has no successor then.
            wish.left -= 1
        if wish.paused_at is not None and pod.created_at >= wish.paused_at:
            wish.paused_at = None

    def workload(self, uid: str, now: datetime, *, changed: bool) -> None:
        """Take in news of a workload, which says other things than before if it `changed`."""
        wish = self._wishes.setdefault(uid, _Wish())
        wish.left = 0
        wish.news = wish.news or changed
        workload = self._objects.workload(uid)
        if workload is not None and workload.failed > wish.failed:
            wish.failed, wish.paused_at = workload.failed, now
        self._tidy(uid)

    def _tidy(self, uid: str) -> None:
        if not self._wishes[uid].active and self._objects.workload(uid) is None:
            del self._wishes[uid]
            self._waited.pop(uid, None)

    # --- questions

    def to_come(self, owner: str, now: datetime | None = None) -> int:
        """Return how many pods a workload is to make that are expected, promised places included.

        With `now`, also whether it was given up lately is asked. Quotas may let fewer be made.
        """
        workload, wish = self._objects.workload(owner), self._wishes.get(owner)
        if workload is None or wish is None or not self._expects(owner, now):
            return 0
        return max(0, workload.wanted - len(wish.active) - wish.left)

    def wished_with(self, pod: Pod, now: datetime) -> int:
        """Return how many pods of its workload are planned with a pod, it included.

        Those to come, and those there without a node, less those of both that have a place. 0 where nobody
        knows what the workload wants, where it has more than that and is still to delete some, or where the
        last plan had no places for pods to come.
        """
        owner = pod.owner.uid if pod.owner is not None else ""
        wish = self._wishes.get(owner)
        if wish is None or wish.refused or _given_up(wish, now):
            return 0
        if not self.keeps_all(owner) or self.like(owner) is None:
            return 0
        # A pod of a StatefulSet that is being deleted keeps its promise for its successor.
        return self.unpromised(owner, now) + max(1, len(wish.unbound) - self._promises.waiting(owner))

    def unpromised(self, owner: str, now: datetime | None = None, drawn: Drawn | None = None) -> int:
        """Return how many of the pods to come have no promise, as far as quotas let them be made.

        What was `drawn` in a decision before is taken.
        """
        lacking = self._lacking(owner, now)
        room = self._room(owner, drawn) if lacking else None
        return lacking if room is None else min(lacking, room.number)

    def _lacking(self, owner: str, now: datetime | None) -> int:
        """Return how many of the pods that a workload is to make have no promise, whatever quotas say."""
        return max(0, self.to_come(owner, now) - self._promises.to_come(owner) - self._inherited(owner))

    def _room(self, owner: str, drawn: Drawn | None) -> QuotaRoom | None:
        """Return for how many pods without a promise quotas have room, None for any number.

        Successors of pods that are gone come first.
        """
        workload = self._objects.workload(owner) if self._quotas else None
        if workload is None or not self._quotas.limit(workload.namespace):
            return None
        like = self.like(owner)
        room = self._quotas.room(like, drawn or {}) if like is not None else None
        if room is None:
            return None
        return QuotaRoom(max(0, room.number - self._inherited(owner)), room.quota)

    def keeps_all(self, owner: str) -> bool:
        """Return whether a workload may make pods, and wants as many as it has or more."""
        workload, wish = self._objects.workload(owner), self._wishes.get(owner)
        if workload is None or wish is None or not self._expects(owner, None):
            return False
        return len(wish.active) <= workload.wanted

    def surplus(self, owner: str) -> int:
        """Return how many of the promises to pods to come are for more pods than will come."""
        promised = self._promises.to_come(owner)
        if not promised:
            return 0
        unwanted = max(0, promised - max(0, self.to_come(owner) - self._inherited(owner)))
        return max(unwanted, min(promised, self._beyond_quota(owner)))

    def _beyond_quota(self, owner: str) -> int:
        """Return how many of the promises to pods to come are for pods that quotas do not let be made."""
        workload = self._objects.workload(owner)
        if workload is None or not self._quotas.overdrawn(workload.namespace):
            return 0
        return self._quotas.beyond(self._promises.expected(owner)[-1].like)

    def _inherited(self, owner: str) -> int:
        """Return how many of the pods to come have the place of a pod that is gone.

        Successors of pods that left are not among those to come before there is news of their workload.
        """
        left = self._wishes[owner].left if owner in self._wishes else 0
        return max(0, self._promises.heirless(owner) - self._promises.to_come(owner) - left)

    def beside(
        self, pods: Iterable[Pod], held: Iterable[Pod], due: Iterable[str], now: datetime
    ) -> tuple[Pod, ...]:
        """Return the pods to plan with `pods` that wait: those expected of their workloads and those `due`.

        None where other pods of theirs were refused, and are `held` back. They are the last of their kind.
        Where workloads share a quota, the one whose pod waits first comes first.
        """
        without = {pod.owner.uid for pod in held if pod.owner is not None}
        waiting = {p.uid: p.owner.uid for p in pods if p.owner is not None and p.provisionable}
        found: list[Pod] = []
        drawn: Drawn = {}
        held_back: list[HeldBack] = []
        for owner in dict.fromkeys((*waiting.values(), *due)):
            if owner not in without and self._expects(owner, now):
                new = sum(pod.uid not in waiting for pod in self.without_place(owner))
                to_come = self.unpromised(owner, now, drawn)
                held_back += self._held_back(owner, to_come, now, drawn)
                made = self.made_up(owner, min(to_come + new, MOST - len(found)), now)
                if made:
                    self._quotas.draw(made[0], min(to_come, len(made)), drawn)
                found += made
        self.offered = {pod.uid: pod for pod in found}
        self.held_back = tuple(held_back)
        return tuple(found)

    def _held_back(self, owner: str, to_come: int, now: datetime, drawn: Drawn) -> tuple[HeldBack, ...]:
        lacking, workload = self._lacking(owner, now), self._objects.workload(owner)
        room = self._room(owner, drawn) if lacking > to_come else None
        if room is None or workload is None:
            return ()
        return (HeldBack(room.quota, f"{workload.namespace}/{workload.told_as}", lacking - to_come),)

    def _expects(self, owner: str, now: datetime | None) -> bool:
        workload, wish = self._objects.workload(owner), self._wishes.get(owner)
        if workload is None or wish is None or wish.paused_at is not None or not _makes_pods(workload):
            return False
        return now is None or not _given_up(wish, now)

    def made_up(self, owner: str, number: int, now: datetime) -> tuple[Pod, ...]:
        """Return so many pods as the next ones of a workload will be, none where that is not known."""
        like = self.like(owner) if number > 0 else None
        return tuple(self._made_up(like, owner, now) for _ in range(number)) if like is not None else ()

    def like(self, owner: str, made_before: datetime | None = None) -> Pod | None:
        """Return the last pod that the next ones of a workload will be like, None where there is none.

        With `made_before`, the last of those: the one that they would have been like then.
        """
        workload, wish = self._objects.workload(owner), self._wishes.get(owner)
        uids = reversed(wish.active) if wish is not None else ()
        pods = (pod for uid in uids if (pod := self._objects.pods.get(uid)) is not None)
        revision = workload.revision if workload is not None else ""
        pods = (p for p in pods if made_before is None or p.created_at <= made_before)
        latest = next((p for p in pods if not revision or p.labels.get(_REVISION) == revision), None)
        if latest is None or latest.unread or latest.spec.scheduling_gates or latest.spec.resource_claims:
            return None
        # Claims on storage by template are named after each pod, and what zone they will be in is not known.
        own_volumes = latest.stateful and any(volume.claim_name for volume in latest.spec.volumes)
        return None if own_volumes else latest

    def _made_up(self, like: Pod, owner: str, now: datetime) -> Pod:
        self._numbered += 1
        return replace(
            like,
            uid=made_up_uid(owner, self._numbered),
            name=f"{like.name}-expected-{self._numbered}",
            resource_version=0,
            labels={key: value for key, value in like.labels.items() if key not in _OWN_LABELS},
            created_at=now,
            phase=Phase.PENDING,
            node_name="",
            nominated_node="",
            unschedulable_since=now,
            scheduled_at=None,
            started_at=None,
            ready=False,
        )

    def without_place(self, owner: str) -> tuple[Pod, ...]:
        """Return the pods of a workload that have neither node nor promise, the first first.

        Also those that the scheduler has not looked at yet: others like them found no node.
        """
        uids = self._wishes[owner].active if owner in self._wishes else ()
        there = (self._objects.pods[uid] for uid in uids if self._promises.of(uid) is None)
        pods = (p for p in there if p.provisionable or p.untried)
        return tuple(sorted(pods, key=lambda p: (p.created_at, p.uid)))

    # --- patience

    def planned(self, owner: str, *, places: bool) -> None:
        """Take in whether the last plan had places for the pods of a workload that are to come."""
        wish = self._wishes.get(owner)
        if wish is not None:
            wish.refused = not places

    def wait(self, owner: str, now: datetime) -> None:
        """Take in that places were promised to pods of a workload that are to come."""
        wish = self._wishes.get(owner)
        if wish is not None:
            wish.waited_since = wish.waited_since or now
            self._waited[owner] = None

    def due(self) -> datetime | None:
        """Return when the first workload is to be given up, if its next pod does not come."""
        return min((self._until(self._wishes[owner]) for owner in self._waited), default=None)

    def _until(self, wish: _Wish) -> datetime:
        patience = min(max(self._slowest * _PATIENCE, _PATIENCE_LEAST), _PATIENCE_MOST)
        return max(at for at in (wish.waited_since, wish.came_at) if at is not None) + patience

    def give_up(self, now: datetime) -> tuple[str, ...]:
        """Return the workloads whose pods did not come in time: of those no more are expected."""
        over: list[str] = []
        for owner in tuple(self._waited):
            wish = self._wishes[owner]
            if not self._promises.to_come(owner):
                del self._waited[owner]
                wish.waited_since, wish.not_before, wish.given_up = None, None, 0
            elif self._until(wish) <= now:
                del self._waited[owner]
                wish.waited_since, wish.news = None, False
                wish.given_up += 1
                wish.not_before = now + timedelta(seconds=AGAIN.after(wish.given_up))
                over.append(owner)
        return tuple(over)


def made_up_uid(owner: str, number: int) -> str:
    """Return the uid of a pod that is not there, and that `is_expected` knows by it."""
    return f"{_EXPECTED}{owner}/{number}"


def is_expected(pod: Pod) -> bool:
    """Return whether a pod stands for one that is still to be made, or for a place that a buffer keeps."""
    return pod.uid.startswith(_EXPECTED)


def is_to_come(pod: Pod) -> bool:
    """Return whether a pod stands for one that is still to be made."""
    return is_expected(pod) and not keeps_room_for_buffer(pod)


def _given_up(wish: _Wish, now: datetime) -> bool:
    return wish.not_before is not None and (now < wish.not_before or not wish.news)


def _makes_pods(workload: Workload) -> bool:
    return not (workload.held or workload.in_turn or workload.for_pods_only)
