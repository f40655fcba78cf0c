"""Planning for capacity buffers: when places are looked for, after all pods that wait, and how they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from treenail.actors.cluster_state.refused_pod_retries import RefusedPodRetries
from treenail.domain.cluster.batch_window import PodBecamePending, PodLeft
from treenail.domain.cluster.buffer_retreat import BufferRetreat
from treenail.domain.cluster.buffer_states import BuffersSeen, buffer_states
from treenail.domain.cluster.buffers import Resolution
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, Snapshot
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Ref, Timers
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.scheduling.launch_backoff import LaunchBackoff

# What changes within this time is told together.
GATHERED_SECONDS: Final = 1.0
# So long the machines that are being bought are waited for: buffers may have what pods leave of them.
_LAUNCHES: Final = timedelta(seconds=15)


class BufferPlanning:
    """Planning of places for capacity buffers, done when no pod waits.

    Owns the buffers that a decision was asked of the batcher for, and why others have no places. Sends the
    `reporter` the state of each buffer.
    """

    def __init__(
        self,
        model: ClusterModel,
        timers: Timers,
        retries: RefusedPodRetries,
        launch_backoff: LaunchBackoff,
        *,
        batcher: Ref[PodBecamePending | PodLeft],
        reporter: Ref[BuffersSeen],
    ) -> None:
        self._model = model
        self._timers = timers
        self._retries = retries
        self._launch_backoff = launch_backoff
        self._batcher = batcher
        self._reporter = reporter
        # What was asked of the batcher last, by owner.
        self._asked: dict[str, str] = {}
        # How many places each lacked that the present decision is about.
        self._lacked: dict[str, int] = {}
        self._refused: dict[str, tuple[Resolution, RefusedClass]] = {}
        # The decision whose nodes could not be bought last, by owner; "" where no node was to be.
        self._failed: dict[str, str] = {}
        self._retreat = BufferRetreat(model)
        self._told = BuffersSeen(states=())

    # --- decisions

    def ask(self, now: datetime) -> None:
        """Have a decision made for the buffers that lack places, and are not to wait."""
        short = self._model.buffers.short() if self._model.buffers else {}
        for owner in [owner for owner in self._asked if owner not in short]:
            self._batcher.tell(PodLeft(uid=self._asked.pop(owner)))
        for owner in [owner for owner in (*self._refused, *self._failed) if owner not in short]:
            self._settle(owner)
        if not self._model.buffers:
            return
        if self._launching(now) is not None or self._retreat.until(now) is not None:
            return
        for owner, number in short.items():
            refused = self._refused.get(owner)
            if refused is not None and refused[0] != self._model.buffers.served()[owner][1]:
                del self._refused[owner]
                self._retries.forget(owner)
            uid = f"{owner}/{number}"
            if self._asked.get(owner) != uid and not self._held(owner, now):
                self._asked[owner] = uid
                self._batcher.tell(PodBecamePending(uid=uid, since=now))

    def _settle(self, owner: str) -> None:
        """Forget what went wrong for a buffer, once all its places are on machines that are there."""
        targets = dict.fromkeys(promise.target for promise in self._model.promises.expected(owner))
        views = (self._model.objects.view(name) for name in targets)
        if all(view is not None and view.launched for view in views):
            self._failed.pop(owner, None)
            self._launch_backoff.forget(owner)
            self._refused.pop(owner, None)
            self._retries.forget(owner)

    def failed(self, kept: Iterable[Promise], now: datetime, chance: float) -> None:
        """Take in that a node with these places could not be bought, for want of capacity."""
        for promise in kept:
            if self._failed.get(promise.heir) != promise.decision:
                self._failed[promise.heir] = promise.decision
                self._launch_backoff.note((promise.heir,), now, chance)

    def _held(self, owner: str, now: datetime) -> bool:
        until = self._launch_backoff.until(owner)
        return self._retries.held(owner, self._timers.monotonic()) or (until is not None and until > now)

    def _launching(self, now: datetime) -> datetime | None:
        """Return until when machines that are being bought are waited for, None where none is."""
        objects, since = self._model.objects, now - _LAUNCHES
        young = (one for one in objects.claims.values() if not one.launched and one.created_at > since)
        views = (objects.view(claim.name) for claim in young)
        there = (view for view in views if view is not None and not self._model.marks.going(view))
        waited = (view.claim.created_at for view in there if view.claim is not None)
        last = max(waited, default=None)
        return last + _LAUNCHES if last is not None else None

    def due(self, now: datetime) -> datetime | None:
        """Return when buffers are to be asked for next that have to wait for a while."""
        short = self._model.buffers.short() if self._model.buffers else {}
        if not short:
            return None
        untils = (self._launching(now), self._retreat.until(now))
        times = (*(self._launch_backoff.until(owner) for owner in short), *untils)
        return min((at for at in times if at is not None and at > now), default=None)

    def instead_of(self, snapshot: Snapshot, now: datetime) -> Snapshot:
        """Return a snapshot without pods as one with places for buffers, which give way to no other then."""
        self._asked.clear()
        short = self._model.buffers.short() if self._retreat.until(now) is None else {}
        owners = [owner for owner in short if not self._held(owner, now)]
        pods = self._model.buffers.offer(owners, now)
        self._lacked = {owner: self._model.buffers.lacking(owner) for owner in owners}
        if not pods:
            return snapshot
        beside = self._model.snapshot(now, beside_buffers=True)
        return replace(beside, pods=pods, volumes=self._model.capacity.volume_needs(pods))

    def refused(self, decided: PlanDecided) -> Iterator[tuple[Pod, RefusedClass]]:
        """Take in a plan; yield, for each buffer it lacks places for, a pod that stands for them, and why."""
        self._asked.clear()
        offered, served = self._model.buffers.offered, self._model.buffers.served()
        refused = (
            (offered[uid], group) for group in decided.plan.refused for uid in group.pods if uid in offered
        )
        for like, group in refused:
            owner = like.owner.uid if like.owner is not None else ""
            if owner in self._lacked and owner in served:
                self._refused[owner] = served[owner][1], group
                del self._lacked[owner]
                yield replace(like, uid=owner), group

    def committed(self, committed: PlanCommitted, now: datetime, chance: float) -> tuple[str, ...]:
        """Take in that a plan was carried out: a buffer that got nothing by it waits longer.

        Return the nodes whose places ended for pods that limits left no room for.
        """
        lacked, self._lacked = self._lacked, {}
        for owner, number in lacked.items():
            if self._model.buffers.lacking(owner) >= number:
                self._failed[owner] = ""
                self._launch_backoff.note((owner,), now, chance)
        return self._retreat.consider(committed.refused, now)

    # --- telling

    def tell(self) -> None:
        """Send the reporter the state of all buffers, if it changed."""
        refused = {owner: group for owner, (_, group) in self._refused.items()}
        seen = buffer_states(self._model, refused)
        if seen != self._told:
            self._told = seen
            self._reporter.tell(seen)
