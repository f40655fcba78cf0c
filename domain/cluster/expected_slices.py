"""Slices of large wishes: one decision plans so many pods, the next one more, when EC2 granted those."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.batch_window import PodBecamePending
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.expected_pods import AGAIN, is_expected
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, Snapshot
from treenail.domain.model.claims import expected_pods
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod

# Pods that the scheduler has not tried yet, and that lose their places, are left to it for so long.
_LEFT: Final = timedelta(seconds=5)
# After pods to come lost places, so long is waited for further losses: the scheduler binds pods in bursts.
_GATHERED: Final = timedelta(seconds=1)


class ExpectedSlices:
    """The share that EC2 granted of what was planned for pods to come, by their workload. Mutable.

    Where a workload is to make more pods than were planned, the next slice is due when all claims made for
    the last one are launched. Where one of them is not to be had, or no place was found for all, it is due
    after a pause of 1 min, 2... 30 min; a pod that waits asks for more at any time.

    It is also due 1 s after the scheduler put other pods where pods to come had places, once all claims are
    launched: what those left may be free until the next pod waits, and its node be given back as empty. In a
    pause it is due when that ends: whatever was not to be had is not asked for again as often as pods move.

    The first slice of a workload is also planned where its pods lack nodes and the scheduler has not tried
    them: the batch window waits for these as for pods that wait.
    """

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        # The claims of the last slice that are not launched yet, by workload.
        self._asked: dict[str, dict[str, None]] = {}
        self._refused: dict[str, int] = {}
        self._due: dict[str, datetime] = {}
        # When a slice is due of workloads as others took the room of their pods to come.
        self._displaced: dict[str, datetime] = {}
        # Those of them that were when the decision under way began, which is on them, too.
        self._displaced_before: dict[str, None] = {}
        # The workloads for whose untried pods the batch window was opened.
        self._asked_for: dict[str, None] = {}
        self._planned_at: dict[str, datetime] = {}

    def planned(self, decided: PlanDecided, committed: PlanCommitted, now: datetime) -> None:
        """Take in a decision with pods to come in it."""
        self._planned_at = {owner: at for owner, at in self._planned_at.items() if now - at < _LEFT}
        expected = [pod for pod in decided.snapshot.pods if is_expected(pod)]
        refused = {uid for group in decided.plan.refused for uid in group.pods}
        without_place = {pod.owner.uid for pod in expected if pod.owner is not None and pod.uid in refused}
        for owner in dict.fromkeys(pod.owner.uid for pod in expected if pod.owner is not None):
            self._asked.pop(owner, None)
            self._due.pop(owner, None)
            if owner in self._displaced_before:
                self._displaced.pop(owner, None)
            self._planned_at[owner] = now
            self._model.expected.planned(owner, places=owner not in without_place)
            claims = [claim.name for claim in committed.claims if owner in expected_pods(claim)]
            if not self._more(owner, now):
                self._refused.pop(owner, None)
            elif owner in without_place or (not claims and owner not in self._displaced):
                self._refuse(owner, now)
            elif claims:
                self._asked[owner] = dict.fromkeys(claims)

    def ask(self, pods: Iterable[str], now: datetime) -> tuple[PodBecamePending, ...]:
        """Return the workloads of those of these pods that are untried and lack nodes, for the batch window.

        They are not returned again until the next decision begins. So they do not go by the uid of a pod: the
        window would be given up where that one gets a node before it closes.
        """
        asking: list[PodBecamePending] = []
        for uid in pods:
            pod = self._model.objects.pods.get(uid)
            owner = pod.owner.uid if pod is not None and pod.owner is not None else ""
            if pod is not None and self._asks(owner, now) and self._model.untried.lacks(pod, now):
                self._asked_for[owner] = None
                wished = self._model.expected.wished_with(pod, now)
                named = f"untried/{owner}"
                asking.append(PodBecamePending(uid=named, since=now, owner=owner, wished=wished))
        return tuple(asking)

    def _asks(self, owner: str, now: datetime) -> bool:
        at = self._planned_at.get(owner)
        lately = at is not None and now - at < _LEFT
        known = lately or owner in self._asked_for or owner in self._due or owner in self._asked
        return not known and self._model.expected.keeps_all(owner)

    def begin(self) -> None:
        """Take in that a decision begins: it is on all that was asked for, or what is left asks again."""
        self._asked_for = {}
        self._displaced_before = dict.fromkeys(self._displaced)

    def displaced(self, owners: Iterable[str], now: datetime) -> None:
        """Take in that other pods took the room of pods to come of these workloads."""
        for owner in owners:
            self._displaced_before.pop(owner, None)
            if owner not in self._asked and owner not in self._due:
                self._displaced.setdefault(owner, now + _GATHERED)

    def _ready(self, now: datetime) -> tuple[str, ...]:
        """Return the workloads of which a slice is due.

        Displaced pods wait while a claim is not launched: its room is for its own pods, which may leave it.
        Claims that go, or whose machine another one holds, are not waited for.
        """
        displaced = [owner for owner, at in self._displaced.items() if at <= now]
        if displaced and any(self._launches(view) for view in self._model.objects.views()):
            self._displaced |= dict.fromkeys(displaced, now + _GATHERED)
            displaced = []
        return (*(owner for owner, at in self._due.items() if at <= now), *displaced)

    def _launches(self, view: NodeView) -> bool:
        return not (view.launched or view.holder or self._model.marks.going(view))

    def set_back(self, now: datetime) -> None:
        """Take in that a decision is made again without its pods to come: they get no places now."""
        offered = self._model.expected.offered.values()
        for owner in dict.fromkeys(pod.owner.uid for pod in offered if pod.owner is not None):
            self._model.expected.planned(owner, places=False)
            if self._model.untried.short(owner, now):
                self._refuse(owner, now)

    def follow(self, changed: Collection[str], now: datetime) -> None:
        """Take in that these views changed."""
        for owner, claims in tuple(self._asked.items()):
            for name in [name for name in claims if name in changed]:
                view = self._model.objects.view(name)
                if view is None or self._model.marks.going(view):
                    self._refuse(owner, now)
                    break
                if view.launched:
                    del claims[name]
            if not claims:
                del self._asked[owner]
                self._refused.pop(owner, None)
                self._due[owner] = now

    def _refuse(self, owner: str, now: datetime) -> None:
        self._asked.pop(owner, None)
        self._refused[owner] = self._refused.get(owner, 0) + 1
        self._due[owner] = now + timedelta(seconds=AGAIN.after(self._refused[owner]))

    def next_due(self) -> datetime | None:
        """Return when the next slice is to be planned, if one is."""
        return min((*self._due.values(), *self._displaced.values()), default=None)

    def due_since(self, now: datetime) -> datetime | None:
        """Return since when a slice is due, None where none is, and forget those nobody needs any more."""
        for owner in self._ready(now):
            if not self._more(owner, now):
                self._forget(owner)
        at = self.next_due()
        return at if at is not None and at <= now else None

    def _forget(self, owner: str) -> None:
        self._undue(owner)
        self._refused.pop(owner, None)

    def _undue(self, owner: str) -> None:
        self._due.pop(owner, None)
        self._displaced.pop(owner, None)

    def take(self, now: datetime) -> tuple[str, ...]:
        """Return the workloads whose next slice is due, and take it as planned.

        And those with untried pods that lack nodes, unless it is too soon to ask again.
        """
        due = self._ready(now)
        more = [owner for owner in due if self._more(owner, now)]
        for owner in due:
            if owner in more:
                self._undue(owner)
            else:
                self._forget(owner)
        return (*more, *self._untried(now))

    def _untried(self, now: datetime) -> tuple[str, ...]:
        owners = self._model.untried.owners(now)
        return tuple(one for one in owners if one not in self._due and self._model.expected.keeps_all(one))

    def _more(self, owner: str, now: datetime) -> bool:
        expected = self._model.expected
        more = expected.unpromised(owner, now) > 0 or self._model.untried.short(owner, now)
        return more and expected.like(owner) is not None


def with_expected(
    model: ClusterModel, snapshot: Snapshot, held: Iterable[Pod], due: Iterable[str], now: datetime
) -> Snapshot:
    """Return a snapshot with the pods expected of workloads whose pods wait in it, or whose slice is `due`.

    None of those of which pods were refused, and are `held` back.
    """
    expected = model.expected.beside(snapshot.pods, held, due, now)
    held_back = model.expected.held_back
    if not expected and not held_back:
        return snapshot
    volumes = {**snapshot.volumes, **model.capacity.volume_needs(expected)}
    return replace(snapshot, pods=(*snapshot.pods, *expected), volumes=volumes, held_back=held_back)
