"""The upkeep of promises: they are inherited, restored, checked against what is free, and ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.change_recorder import ChangeRecorder
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.marked_nodes import MarkedNodes
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.model.claims import DECISION, promised_pods
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import Pod, PodSpec

# So long pods may take to leave a node that goes before their places are decided anew.
_TO_LEAVE: Final = timedelta(minutes=10)


class PromiseUpkeep:
    """Keeps the promises true to the objects: each one that is made or ended goes through here.

    Promises on nodes that are ready expire after `lasts`, for then the scheduler can bind the pod; those
    to pods that must still leave their nodes, after ten minutes.
    """

    def __init__(
        self,
        promises: PromiseBook,
        objects: Inventory,
        marks: MarkedNodes,
        recorder: ChangeRecorder,
        *,
        lasts: timedelta,
    ) -> None:
        self._promises = promises
        self._objects = objects
        self._marks = marks
        self._recorder = recorder
        self._lasts = lasts
        # Places that were promised before a restart, as the claims say themselves: pod uid -> claim.
        self._restorable: dict[str, str] = {}

    def keep(self, promise: Promise) -> None:
        """Make a promise, known to fit, if buffers give way where they keep the room."""
        self._promises.make(promise)
        self._recorder.promise(promise)
        if not promise.of_buffer and self._promises.at_for_buffers(promise.target):
            self.check(promise.target)

    def end(self, uid: str) -> Promise | None:
        """End the promise made to a pod, if there is one, and return it."""
        promise = self._promises.end(uid)
        if promise is not None:
            self._recorder.ended(promise)
        return promise

    def end_at(self, view: str) -> None:
        """End every promise of a place on a view."""
        for promise in self._promises.end_all(view):
            self._recorder.ended(promise)

    def orphan(self, uid: str, now: datetime) -> None:
        """End the promise of a pod that goes, unless its owner makes a successor to inherit it."""
        self._promises.orphan(uid, expires_at=now + self._lasts)

    def inherit(self, pod: Pod, now: datetime) -> None:
        """Give a new pod the promise of its predecessor, if there is one."""
        owner = pod.owner.uid if pod.owner is not None else ""
        to_come = self._promises.to_come(owner)
        promise = self._promises.inherit(pod)
        if promise is not None and self._promises.to_come(owner) < to_come:
            self._recorder.changes.to_come_ended.append((promise.decision, True))
        view = self._objects.view(promise.target) if promise is not None else None
        if promise is not None and view is not None:
            expires_at = now + self._lasts if view.initialized else None
            self._promises.renew(promise, expires_at=expires_at)
            self._recorder.view(promise.target)

    def restore(self, pod: Pod) -> None:
        """Promise a pod anew what it was promised before a restart, while that is still on its way."""
        claim = self._objects.claims.get(self._restorable.pop(pod.uid, ""))
        view = self._objects.view(claim.name) if claim is not None else None
        if claim is None or view is None or self._promises.of(pod.uid) is not None:
            return
        if not claim.initialized and not view.holder and not self._marks.going(view):
            decision = claim.annotations.get(DECISION, "")
            self.keep(Promise(like=pod, target=claim.name, decision=decision))
            self.check(claim.name)

    def restore_all(self, claim: NodeClaim) -> None:
        """Promise anew the places that a claim, first seen, says it was made for; also to pods seen later."""
        for uid in promised_pods(claim):
            self._restorable[uid] = claim.name
            pod = self._objects.pods.get(uid)
            if pod is not None and (pod.provisionable or pod.untried):
                self.restore(pod)

    def restore_none(self, claim: NodeClaim) -> None:
        """Restore no promises of a claim that is gone."""
        for uid in promised_pods(claim):
            self._restorable.pop(uid, None)

    def withdraw(self, name: str, pods: Iterable[str], left: Promise | None) -> Promise | None:
        """Withdraw promises to `pods` on a view where the scheduler placed other pods in their room.

        `left` is the place that a pod bound here has left, if any: the first equal pod takes it, and its new
        promise is returned. None of `pods` is still to leave a node or to be made: no place with devices is
        promised to such a pod, and `crowded_out` names none.
        """
        moved: Promise | None = None
        view = self._objects.view(name)
        own = promised_pods(view.claim) if view is not None and view.claim is not None else ()
        for uid in pods:
            promise = self._promises.end(uid)
            if promise is None:
                continue
            if left is not None and moved is None and self._is_like(promise, left):
                moved = replace(promise, target=left.target, expires_at=left.expires_at)
                self.keep(moved)
                continue
            self._recorder.ended(promise)
            if uid in own:
                self._recorder.changes.crowded_out.append(uid)
        self._recorder.view(name)
        return moved

    def check(self, name: str, left: Promise | None = None) -> Promise | None:
        """Withdraw promises on a view that the scheduler's own choices left no room for.

        `left` is the place that a pod bound here has left, if any: an equal pod of its workload that loses
        its place by that takes it, or one that is still to be made, and its new promise is returned.
        """
        moved: Promise | None = None
        view = self._objects.view(name)
        if view is None or not self._promises.any_at(name) or not view.launched:
            return None
        free = view.promised_room.minus(self._objects.requests_on(name))
        withdrawn = self._promises.withdraw_overdrawn(name, free)
        own = promised_pods(view.claim) if withdrawn and view.claim is not None else ()
        for promise in withdrawn:
            elsewhere = left is not None and left.target != name and moved is None
            if left is not None and elsewhere and self._takes(promise, left):
                moved = self._in_place_of(left, promise)
                self.keep(moved)
                if self._heirless(promise) and promise.expires_at is not None:
                    # It still waits for a successor, and no longer than it did.
                    self._promises.orphan(promise.pod, expires_at=promise.expires_at)
                continue
            self._recorder.ended(promise)
            if promise.expected and not promise.of_buffer:
                self._recorder.changes.displaced[promise.heir] = None
            if promise.pod in own:
                self._recorder.changes.crowded_out.append(promise.pod)
        self._recorder.view(name)
        return moved

    def _in_place_of(self, left: Promise, promise: Promise) -> Promise:
        """Return the promise of a place that was left, made to the pod of another one."""
        if promise.expected:
            return replace(promise, target=left.target)
        # The heir of one that still runs elsewhere is yet to come.
        expires_at = None if promise.heir else left.expires_at
        return replace(promise, target=left.target, decision=left.decision, expires_at=expires_at)

    def _heirless(self, promise: Promise) -> bool:
        """Return whether the pod of a promise went, and its owner has not made a successor."""
        pod = self._objects.pods.get(promise.pod)
        gone = pod is None or pod.deleting_since is not None
        return bool(promise.heir) and not promise.expected and gone

    def _takes(self, promise: Promise, left: Promise) -> bool:
        """Return whether a pod that lost its place to an equal one of its workload may have that one's."""
        owner, of_other = left.like.owner, promise.like.owner
        view = self._objects.view(left.target)
        if owner is None or of_other is None or view is None or self._marks.going(view):
            return False
        return owner.uid == of_other.uid and promise.spec == left.spec

    def _is_like(self, promise: Promise, left: Promise) -> bool:
        """Return whether two pods are of one owner and alike, and may have devices and volumes anywhere."""
        view = self._objects.view(left.target)
        if view is None or left.target == promise.target or self._marks.going(view):
            return False
        own = any(claim.claim_name for claim in left.spec.resource_claims) or left.spec.volumes
        one, other = promise.like, left.like
        return not own and (one.owner, one.spec, one.labels) == (other.owner, other.spec, other.labels)

    def came_ready(self, name: str, now: datetime) -> None:
        """Let promises on a node expire, now that it is ready, and report pods whose move waits for it."""
        for promise in self._promises.at(name):
            if promise.expires_at is not None:
                continue
            self._recorder.old_place(promise)
            pod = self._objects.pods.get(promise.pod)
            if not promise.expected and (pod is None or not self._marks.keeps_its_place(pod)):
                leaves = pod is not None and self._marks.leaves(pod)
                self._promises.renew(promise, expires_at=now + (_TO_LEAVE if leaves else self._lasts))

    def expire(self, now: datetime) -> None:
        """End the promises whose time is over.

        If one is of a pod with terms about other pods, the promises of all such pods that the scheduler has
        not bound yet end too: each may be where it is for another's sake, and they are decided on together.
        """
        expired = self._promises.expire(now)
        for promise in expired:
            self._recorder.ended(promise)
            view = self._objects.view(promise.target) if promise.spec.resource_claims else None
            if view is not None and view.claim is not None and promise.pod in promised_pods(view.claim):
                # Its driver may publish other devices than are known here: more would be bought without end.
                self._recorder.changes.crowded_out.append(promise.pod)
        if any(_asks_about_others(promise.spec) for promise in expired):
            for promise in self._promises.lapsing():
                if promise.pod in self._objects.provisionable and _asks_about_others(promise.spec):
                    self.end(promise.pod)


def _asks_about_others(spec: PodSpec) -> bool:
    return bool(spec.spread or spec.pod_affinity)
