"""Retries of refused pods: when something changed that could help, or after a while."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.domain.cluster.changes import Changes, TryAgain
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanCommitted, Snapshot
from treenail.domain.cluster.refused_pods import Help, LimitsWatch, MoreToBuy, RefusedPods
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Ref

# What changes within this time is looked at together.
_GATHERED_SECONDS: Final = 0.5


class RefusedPodRetries:
    """Retries of refused pods: which pods were refused, and when each is decided on again.

    Owns the changes since the last look at them. Sends the pod watcher `TryAgain`.
    """

    def __init__(self, model: ClusterModel, pod_watcher: Ref[TryAgain]) -> None:
        self._model = model
        self._pod_watcher = pod_watcher
        self._refused = RefusedPods()
        self._limits = LimitsWatch()
        self._kinds: set[Help] = set()
        # What changed since the snapshot of the decision that is being made: that knows nothing of it.
        self._missed: set[Help] = set()
        self._news_at: float | None = None
        self._next: float | None = None

    def __len__(self) -> int:
        return len(self._refused)

    def apply(self, changes: Changes, now: float) -> None:
        """Note what changed."""
        for uid in changes.crowded_out:
            pod = self._model.objects.pods.get(uid)
            if pod is not None and self._model.waiting(uid):
                self._refused.crowd_out(pod, now)
                self._next = self._refused.next_due()
        kinds = set(changes.retry_refused)
        if changes.pools:
            kinds.add(Help.POOLS)
        gone = any(self._model.objects.view(name) is None for name in changes.views)
        # All are asked, as asking also updates what is known of the refused pods among them.
        others = [uid for uid in changes.pods if self._came_or_went(uid)]
        if gone or others or changes.bound:
            kinds.add(Help.COMPANY)
        self._add(kinds, now, anything=bool(changes.views))

    def _came_or_went(self, uid: str) -> bool:
        """Take in a pod that changed; return whether it is another than those refused, and came or left."""
        pod = self._model.objects.pods.get(uid)
        if pod is None or pod.bound or pod.terminal:
            self._refused.forget(uid)
            return pod is None or pod.terminal
        known, waiting = self._refused.changed(pod), self._model.waiting(uid)
        if not waiting:
            self._refused.place(uid)
        return waiting and not known

    def buy(self, more: MoreToBuy, now: float) -> None:
        """Take in that there may be more to buy than before."""
        self._add({Help.OFFERINGS if more.again else Help.CATALOGUE}, now)

    def _add(self, kinds: set[Help], now: float, *, anything: bool = False) -> None:
        self._kinds |= kinds
        self._missed |= kinds
        if self._news_at is None and (kinds or anything):
            self._news_at = now + _GATHERED_SECONDS

    def forget(self, uid: str) -> None:
        """Forget what was refused: it is not asked for any more, or asks for something else."""
        self._refused.forget(uid)
        self._next = self._refused.next_due()

    def held(self, uid: str, now: float) -> bool:
        """Return whether a pod was refused and is not to be tried now."""
        return self._refused.held(uid, now)

    def held_back(self, snapshot: Snapshot, now: float) -> tuple[Pod, ...]:
        """Return the pods that wait and are not in a snapshot: those refused and not to be tried now."""
        there = {pod.uid for pod in snapshot.pods}
        pods = (
            self._model.objects.pods[uid] for uid in self._model.objects.provisionable if uid not in there
        )
        return tuple(pod for pod in pods if self._refused.held(pod.uid, now))

    def without_refused(self, snapshot: Snapshot, now: float) -> Snapshot:
        """Return a snapshot without the pods that were refused, for a question that is not about them."""
        pods = tuple(pod for pod in snapshot.pods if pod.bound or not self._refused.held(pod.uid, now))
        return snapshot if len(pods) == len(snapshot.pods) else replace(snapshot, pods=pods)

    def part_of(self, snapshot: Snapshot, now: float) -> Snapshot:
        """Return a snapshot without the pods that were refused and are not to be tried now."""
        self._missed = set()
        return self.without_refused(snapshot, now)

    def note(self, committed: PlanCommitted, now: float, chance: float) -> None:
        """Take in what became of a decision; what changed while it was made is still to be looked at."""
        for pod, _ in committed.places:
            self._refused.place(pod.uid)
        if not self._refused:
            self._kinds, self._news_at = set(), None
        for pod, group in committed.refused:
            self._refused.refuse(pod, group, now, chance)
        if committed.refused:
            self._limits.refused(self._left())
        self._next = self._refused.next_due()
        self._add(self._missed, now)

    @property
    def look_at(self) -> float | None:
        """The time of the next look, None if no pod is held back."""
        if not self._refused:
            return None
        return min((at for at in (self._news_at, self._next) if at is not None), default=None)

    def look(self, now: float) -> None:
        """Have those asked for that are to be tried now."""
        kinds, self._kinds, self._news_at = self._kinds, set(), None
        if self._limits.grew(self._left()):
            kinds.add(Help.LIMITS)
            self._missed.add(Help.LIMITS)
        self._refused.retry_refused(kinds)
        due = self._refused.take_due(now)
        self._next = self._refused.next_due()
        if due:
            self._pod_watcher.tell(TryAgain(uids=due, afresh=Help.POOLS in kinds))

    def _left(self) -> dict[str, Resources]:
        pools = self._model.objects.pools.values()
        return {
            pool.name: left for pool in pools if (left := self._model.capacity.limit_left(pool)) is not None
        }
