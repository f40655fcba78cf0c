"""The model of the cluster: what the watches told, joined, and what was promised on top of it."""

from __future__ import annotations

from datetime import datetime, timedelta

from treenail.domain.changes import Changes
from treenail.domain.claims import DECISION, promised_pods
from treenail.domain.cluster_facts import (
    ClusterObject,
    DaemonSet,
    Kind,
    ObjectGone,
    ObjectSeen,
    Resynced,
    key_of,
    kind_of,
    says_the_same,
)
from treenail.domain.inventory import Inventory
from treenail.domain.node_classes import NodeClass
from treenail.domain.node_pools import NodePool, heaviest_first
from treenail.domain.nodes import Node, NodeClaim, NodeView
from treenail.domain.packing.problem import Room
from treenail.domain.planning import Snapshot
from treenail.domain.pods import Pod
from treenail.domain.promises import Promise, PromiseBook
from treenail.domain.resources import Resources, total
from treenail.domain.rooms import room_on
from treenail.domain.usage import limits_left
from treenail.domain.watching import PodBound


class ClusterModel(Inventory):
    """One consistent view of pods, nodes, claims, pools and promises. Mutable, owned by one actor.

    `revision` grows with each change. A claim that was committed though not yet seen in the API counts
    as there (its resource version is 0).
    """

    def __init__(self, *, promise_lasts: timedelta) -> None:
        super().__init__()
        self.revision = 0
        self.promises = PromiseBook()
        self.condemned: dict[str, None] = {}
        self._promise_lasts = promise_lasts
        self._provisionable: dict[str, None] = {}
        self._void: dict[str, None] = {}
        # Places that were promised before a restart, as the claims say themselves: pod uid -> claim.
        self._restorable: dict[str, str] = {}
        self._rooms: dict[str, Room | None] = {}
        self._limits: dict[str, Resources | None] = {}
        self._changes = Changes()

    # --- facts

    def learn(self, fact: ObjectSeen | ObjectGone | Resynced, now: datetime) -> None:
        """Take in a fact. Repeated and outdated ones change nothing."""
        match fact:
            case ObjectSeen():
                self._see(fact.object, now)
            case ObjectGone():
                self._lose(fact.kind, fact.key, now)
            case Resynced():
                self._resync(fact, now)

    def take_changes(self) -> Changes:
        """Return what has changed since this was last asked."""
        changes, self._changes = self._changes, Changes()
        if changes:
            self.revision += 1
        return changes

    def _resync(self, fact: Resynced, now: datetime) -> None:
        there = {(kind_of(thing), key_of(thing)) for thing in fact.objects}
        there |= {(aside.kind, aside.key) for aside in fact.set_aside}
        for thing in fact.objects:
            self._see(thing, now)
        for kind in Kind:
            for key, known in sorted(self.store(kind).items()):
                unseen = known.resource_version == 0 or known.resource_version > fact.revision
                if (kind, key) not in there and not unseen:
                    self._lose(kind, key, now)

    def _see(self, thing: ClusterObject, now: datetime) -> None:
        known = self.known(thing)
        outdated = known is not None and thing.resource_version <= known.resource_version
        if outdated or self.ended(thing):
            return
        match thing:
            case Pod():
                self._see_pod(thing, now)
            case Node():
                self._see_node(thing, now)
            case NodeClaim():
                self._see_claim(thing, now)
            case NodePool():
                self.pools[thing.name] = thing
                self._limits.pop(thing.name, None)
                self._changes.pools |= not says_the_same(thing, known)
            case NodeClass():
                self.node_classes[str(thing.ref)] = thing
                self._changes.pools |= not says_the_same(thing, known)
            case DaemonSet():
                self.daemons[thing.uid] = thing
                self._daemons_changed()

    def _lose(self, kind: Kind, key: str, now: datetime) -> None:
        match kind:
            case Kind.POD:
                self._lose_pod(key, now)
            case Kind.NODE:
                self._lose_node(key)
            case Kind.NODE_CLAIM:
                self.drop_claim(key)
            case Kind.NODE_POOL:
                self._changes.pools |= self.pools.pop(key, None) is not None
                self._limits.pop(key, None)
            case Kind.NODE_CLASS:
                self._changes.pools |= self.node_classes.pop(key, None) is not None
            case Kind.DAEMON_SET:
                if self.daemons.pop(key, None) is not None:
                    self._daemons_changed()

    def _daemons_changed(self) -> None:
        self._rooms.clear()
        self._changes.pools = True

    # --- pods

    def _see_pod(self, pod: Pod, now: datetime) -> None:
        before = self.pods.get(pod.uid)
        self._changes.pods[pod.uid] = None
        for node in self.put_pod(pod):
            self._touch_node(node)
        if before is None:
            self._inherit(pod, now)
        elif pod.deleting_since is not None and before.deleting_since is None and not pod.stateful:
            # Its successor is made while it still stops.
            self.promises.orphan(pod.uid, expires_at=now + self._promise_lasts)
        if pod.provisionable:
            self._provisionable[pod.uid] = None
            self._restore(pod)
        else:
            self._provisionable.pop(pod.uid, None)
        if pod.bound and (before is None or not before.bound):
            self._bound(pod, news=before is not None)
        elif pod.terminal:
            self._end_promise(pod.uid)

    def _inherit(self, pod: Pod, now: datetime) -> None:
        promise = self.promises.inherit(pod)
        view = self.view(promise.target) if promise is not None else None
        if promise is not None and view is not None:
            lasts = now + self._promise_lasts if view.initialized else None
            self.promises.renew(promise, expires_at=lasts)

    def _restore(self, pod: Pod) -> None:
        """Promise a pod anew what was promised it before a restart, while that is still on its way."""
        claim = self.claims.get(self._restorable.pop(pod.uid, ""))
        view = self.view(claim.name) if claim is not None else None
        if claim is None or view is None or self.promises.of(pod.uid) is not None:
            return
        if not claim.initialized and not self.going(view):
            decision = claim.annotations.get(DECISION, "")
            self.keep(Promise(like=pod, target=claim.name, decision=decision))
            self._check_promises(claim.name)

    def _bound(self, pod: Pod, *, news: bool) -> None:
        name = self.view_name(pod.node_name)
        promise = self._end_promise(pod.uid)
        view = self.view(name)
        if view is None:
            return
        if not pod.daemon and not pod.mirror:
            self._changes.bound.append(PodBound(pod=pod, view=view, promise=promise, news=news))
        self._check_promises(name)

    def _check_promises(self, name: str) -> None:
        """Withdraw promises that the scheduler's own choices left no room for."""
        view = self.view(name)
        if view is None or not self.promises.at(name) or not view.launched:
            return
        free = view.allocatable.minus(total(p.spec.requests for p in self.pods_on(name)))
        for promise in self.promises.withdraw_overdrawn(name, free):
            self._changes.pods[promise.pod] = None
        self._touch(name)

    def _lose_pod(self, uid: str, now: datetime) -> None:
        pod = self.remove_pod(uid)
        if pod is None:
            return
        self._provisionable.pop(uid, None)
        self._changes.pods[uid] = None
        if pod.bound:
            self._touch_node(pod.node_name)
        promise = self.promises.of(uid)
        self.promises.orphan(uid, expires_at=now + self._promise_lasts)
        if promise is not None:
            self._touch(promise.target)

    def _end_promise(self, uid: str) -> Promise | None:
        promise = self.promises.end(uid)
        if promise is not None:
            self._changes.pods[uid] = None
            self._touch(promise.target)
        return promise

    # --- nodes and claims

    def _see_node(self, node: Node, now: datetime) -> None:
        before = self.view_name(node.name) if node.name in self.nodes else ""
        self.put_node(node)
        if before and before != self.view_name(node.name):
            self._node_left(before)
        self._view_changed(self.view_name(node.name), now)

    def _lose_node(self, name: str) -> None:
        view = self.view_name(name)
        if self.remove_node(name) is not None:
            self._node_left(view)

    def _node_left(self, view: str) -> None:
        (self._touch if view in self.claims else self._view_gone)(view)

    def _see_claim(self, claim: NodeClaim, now: datetime) -> None:
        unknown = claim.name not in self.claims
        alone = self.put_claim(claim)
        if alone is not None:
            self._view_gone(alone)
        if unknown and not claim.initialized and not claim.leaving:
            self._restore_all(claim)
        self._limits.pop(claim.pool, None)
        self._view_changed(claim.name, now)

    def _restore_all(self, claim: NodeClaim) -> None:
        for uid in promised_pods(claim):
            self._restorable[uid] = claim.name
            pod = self.pods.get(uid)
            if pod is not None and pod.provisionable:
                self._restore(pod)

    def drop_claim(self, name: str) -> None:
        """Forget a claim that is gone, or was never written; its promises end."""
        claim, alone = self.remove_claim(name)
        if claim is None:
            return
        for uid in promised_pods(claim):
            self._restorable.pop(uid, None)
        self._limits.pop(claim.pool, None)
        self._view_gone(name)
        if alone is not None:
            self._touch(alone)

    def _view_gone(self, name: str) -> None:
        self._end_promises_at(name)
        self.condemned.pop(name, None)
        self._void.pop(name, None)
        self._rooms.pop(name, None)
        self._changes.views[name] = None

    def _view_changed(self, name: str, now: datetime) -> None:
        view = self.view(name)
        if view is not None and view.leaving:
            self._end_promises_at(name)
        elif view is not None and view.initialized:
            self.promises.limit(name, expires_at=now + self._promise_lasts)
        self._check_promises(name)
        self._touch(name)

    def _end_promises_at(self, name: str) -> None:
        for promise in self.promises.end_all(name):
            self._changes.pods[promise.pod] = None

    def _touch_node(self, node: str) -> None:
        self._touch(self.view_name(node))

    def _touch(self, name: str) -> None:
        self._rooms.pop(name, None)
        self._changes.views[name] = None

    # --- what is there

    def going(self, view: NodeView) -> bool:
        """Tell whether a view is on its way out, decided to be, or cordoned."""
        return view.leaving or view.name in self.condemned

    def ending(self, view: NodeView) -> bool:
        """Tell whether a view goes for good, or is decided to, so that its pods need other places."""
        return view.ending or view.name in self.condemned

    def condemn(self, name: str) -> None:
        """Send no more pods to a view, and find other places for those on it."""
        self.condemned[name] = None
        self._end_promises_at(name)
        self._touch(name)

    def void(self, name: str) -> None:
        """Note that a claim never got, and never will get, an instance: it counts for nothing from now on."""
        claim = self.claims.get(name)
        if claim is None or claim.resource_version == 0:
            self.drop_claim(name)
            return
        self._void[name] = None
        self._limits.pop(claim.pool, None)
        self.condemn(name)

    def spare(self, name: str) -> None:
        """Take back that a view is to go."""
        if name in self.condemned:
            del self.condemned[name]
            self._touch(name)

    def keep(self, promise: Promise) -> None:
        """Make a promise, known to fit."""
        self.promises.make(promise)
        self._changes.pods[promise.pod] = None
        self._touch(promise.target)
        pod = self.pods.get(promise.pod)
        if pod is not None and pod.bound:
            self._touch_node(pod.node_name)

    def expire_promises(self, now: datetime) -> None:
        """End the promises whose time is over."""
        for promise in self.promises.expire(now):
            self._changes.pods[promise.pod] = None
            self._touch(promise.target)

    def add_claim(self, claim: NodeClaim) -> None:
        """Count a claim as there that is only about to be written."""
        self.claims[claim.name] = claim
        self._limits.pop(claim.pool, None)
        self._touch(claim.name)

    def empty(self, name: str) -> bool:
        """Tell whether nothing but daemons stands on a view, and nothing is promised a place there."""
        return not self.promises.at(name) and all(p.daemon or p.mirror for p in self.pods_on(name))

    def room(self, name: str) -> Room | None:
        """Return what is free on a view; None where no pod should be sent there."""
        if name not in self._rooms:
            self._rooms[name] = self._measure(name)
        return self._rooms[name]

    def _measure(self, name: str) -> Room | None:
        view = self.view(name)
        if view is None or self.going(view) or not view.launched:
            return None
        daemons = (d.spec for d in self.daemons.values())
        return room_on(view, self.pods_on(name), daemons, self.promises.reserved(name))

    def waiting(self, uid: str) -> bool:
        """Tell whether a pod waits for a place and has no promise of one."""
        return uid in self._provisionable and self.promises.of(uid) is None

    def limit_left(self, pool: NodePool) -> Resources | None:
        """Return what a pool may still buy of each limited resource; None without limits."""
        if pool.name not in self._limits:
            claims = (c for c in self.claims.values() if c.pool == pool.name and c.name not in self._void)
            self._limits[pool.name] = limits_left(pool, claims)
        return self._limits[pool.name]

    def snapshot(self, now: datetime) -> Snapshot:
        """Return all that planning may look at, at this revision."""
        pools = heaviest_first(self.pools.values())
        rooms = [room for view in self.views() if (room := self.room(view.name)) is not None]
        rooms.sort(key=lambda r: (not r.initialized, r.name))
        limits = {p.name: left for p in pools if (left := self.limit_left(p)) is not None}
        return Snapshot(
            revision=self.revision,
            taken_at=now,
            pods=self._to_place(now),
            rooms=tuple(rooms),
            pools=pools,
            node_classes=dict(self.node_classes),
            daemons=tuple(self.daemons[uid] for uid in sorted(self.daemons)),
            limits_left=limits,
        )

    def _to_place(self, now: datetime) -> tuple[Pod, ...]:
        waiting = [self.pods[uid] for uid in self._provisionable if self.promises.of(uid) is None]
        for view in self.views():
            # A cordon alone keeps pods off and moves none.
            if self.ending(view):
                waiting += (
                    p
                    for p in self.pods_on(view.name)
                    if p.reschedulable and not p.protected(now) and self.promises.of(p.uid) is None
                )
        return tuple(sorted(waiting, key=lambda p: (p.created_at, p.uid)))
