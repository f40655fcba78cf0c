"""The cluster model: facts of the watches, joined, with the promises on top."""

from __future__ import annotations

from datetime import datetime, timedelta

from treenail.domain.cluster.changes import Changes, PodBound
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ClusterObject,
    DaemonSet,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    kind_of,
    says_the_same,
)
from treenail.domain.cluster.first_sight import FirstSight
from treenail.domain.cluster.promises import Promise
from treenail.domain.cluster.refused_pods import Help
from treenail.domain.cluster.standings import Standings
from treenail.domain.cluster.storage_book import Affected
from treenail.domain.model.claims import DECISION, promised_pods
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import total
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass


class ClusterModel(Standings):
    """One consistent view of pods, nodes, claims, pools and promises. Mutable, owned by one actor.

    `revision` grows with each change. A claim that was committed though not yet seen in the API counts
    as there (its resource version is 0).
    """

    def __init__(self, *, promise_lasts: timedelta) -> None:
        super().__init__()
        self._promise_lasts = promise_lasts
        # Places that were promised before a restart, as the claims say themselves: pod uid -> claim.
        self._restorable: dict[str, str] = {}
        self._changes = Changes()
        self._sight = FirstSight()

    # --- facts

    def learn(self, fact: ClusterFact, now: datetime) -> None:
        """Take in a fact. Repeated and outdated ones change nothing."""
        match fact:
            case ObjectSeen():
                self._understood(kind_of(fact.object), key_of(fact.object), fact.object.resource_version)
                self._see(fact.object, now, listed=False)
            case ObjectSetAside():
                self._set_aside(fact, now, listed=False)
            case ObjectGone():
                self._understood(fact.kind, fact.key)
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
        if fact.unreadable != self.storage.unreadable:
            self.storage.unreadable = fact.unreadable
            self._changes.retry_refused.add(Help.STORAGE)
        there = {(kind_of(thing), key_of(thing)) for thing in fact.objects}
        aside = {(one.kind, one.key) for one in fact.set_aside}
        there |= aside
        for kind, key in [at for at in self.aside if at not in aside]:
            self._understood(kind, key)
        for thing in fact.objects:
            self._see(thing, now, listed=True)
        for one in fact.set_aside:
            self._set_aside(one, now, listed=True)
        self._sight.complete(now)
        for kind in Kind:
            for key, known in sorted(self.store(kind).items()):
                unseen = known.resource_version == 0 or known.resource_version > fact.revision
                if (kind, key) not in there and not unseen:
                    self._lose(kind, key, now)

    def _set_aside(self, fact: ObjectSetAside, now: datetime, *, listed: bool) -> None:
        """Take in what can be read of an object, if any; else what was last understood of it stays in use."""
        at = fact.kind, fact.key
        known = self.aside.get(at)
        self.aside[at] = fact
        if known is None or known.problem != fact.problem:
            self._storage_changed(self.storage.unclear(*at))
        if fact.partly is not None:
            self._see(fact.partly, now, listed=listed)

    def _understood(self, kind: Kind, key: str, version: int | None = None) -> None:
        aside = self.aside.get((kind, key))
        if aside is not None and (version is None or version >= aside.resource_version):
            del self.aside[kind, key]
            self._storage_changed(self.storage.unclear(kind, key))

    def _see(self, thing: ClusterObject, now: datetime, *, listed: bool) -> None:
        known = self.known(thing)
        outdated = known is not None and thing.resource_version <= known.resource_version
        if outdated or self.ended(thing):
            return
        match thing:
            case Pod():
                self._see_pod(self._sight.date(thing, known, now, listed=listed), now)
            case Node():
                self._see_node(self._sight.date(thing, known, now, listed=listed), now)
            case NodeClaim():
                self._see_claim(self._sight.date(thing, known, now, listed=listed), now)
            case NodePool():
                before = self.pools.get(thing.name)
                self.pools[thing.name] = thing
                if before is None or before.static != thing.static:
                    self._touch_nodes_of(thing.name)
                self._limits.pop(thing.name, None)
                self._changes.pools |= not says_the_same(thing, known)
            case NodeClass():
                self.node_classes[str(thing.ref)] = thing
                self._changes.pools |= not says_the_same(thing, known)
            case DaemonSet():
                self._see_daemon_set(thing)
            case Namespace():
                self.namespaces[thing.name] = thing
                if not says_the_same(thing, known):
                    self._changes.retry_refused.add(Help.COMPANY)
            case PodDisruptionBudget():
                self.pod_budgets.put(thing)
            case PersistentVolumeClaim() | PersistentVolume() | StorageClass() | CSINode():
                self._storage_changed(self.storage.put(thing))

    def _lose(self, kind: Kind, key: str, now: datetime) -> None:
        lost = self.store(kind).get(key)
        if isinstance(lost, Pod | Node | NodeClaim):
            self._sight.forget(lost.uid)
        match kind:
            case Kind.POD:
                self._lose_pod(key, now)
            case Kind.NODE:
                self._lose_node(key)
            case Kind.NODE_CLAIM:
                self.drop_claim(key)
            case Kind.NODE_POOL:
                if self.pools.pop(key, None) is not None:
                    self._changes.pools = True
                    self._touch_nodes_of(key)
                self._limits.pop(key, None)
            case Kind.NODE_CLASS:
                self._changes.pools |= self.node_classes.pop(key, None) is not None
            case Kind.DAEMON_SET:
                self._daemon_sizes.forget(key)
                if self.daemons.pop(key, None) is not None:
                    self._daemons_changed()
            case Kind.NAMESPACE:
                self.namespaces.pop(key, None)
            case Kind.POD_DISRUPTION_BUDGET:
                self.pod_budgets.remove(key)
            case _:
                self._storage_changed(self.storage.remove(kind, key))

    def _see_daemon_set(self, daemons: DaemonSet) -> None:
        known = self.daemons.get(daemons.uid)
        self.daemons[daemons.uid] = daemons
        self._sized_daemons = None
        if known is not None and known.spec != daemons.spec:
            # Its pods were made of another template.
            self._daemon_sizes.forget(daemons.uid)
        if not says_the_same(daemons, known):
            self._daemons_changed()

    def _measure_daemon(self, pod: Pod) -> None:
        """Take in what a daemon that has a node requests, where new nodes need more room because of it."""
        before = self.sized_daemons()
        if self._daemon_sizes.note(pod) in self.daemons:
            self._sized_daemons = None
            if self.sized_daemons() != before:
                self._daemons_changed()

    def _daemons_changed(self) -> None:
        self._sized_daemons = None
        self._existing_nodes.clear()
        self._changes.pools = True

    def _storage_changed(self, affected: Affected) -> None:
        """Measure anew what hangs on it, and let the pods hope that wait for it."""
        if affected.anybody:
            self._existing_nodes.clear()
            self._changes.retry_refused.add(Help.STORAGE)
        if affected.node:
            self._existing_nodes.pop(self.view_name(affected.node), None)
        for uid in self.storage.users(affected.claim):
            pod, promise = self.pods[uid], self.promises.of(uid)
            if pod.bound:
                self._existing_nodes.pop(self.view_name(pod.node_name), None)
            if promise is not None:
                self._existing_nodes.pop(promise.target, None)
            if self.waiting(uid):
                self._changes.retry_refused.add(Help.STORAGE)

    # --- pods

    def _see_pod(self, pod: Pod, now: datetime) -> None:
        before = self.pods.get(pod.uid)
        self._changes.pods[pod.uid] = None
        for node in self.put_pod(pod):
            self._touch_node(node)
        promise = self.promises.of(pod.uid)
        if promise is not None:
            # As a resident to be it may be another now.
            self._existing_nodes.pop(promise.target, None)
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
        if not claim.initialized and not view.holder and not self.going(view):
            decision = claim.annotations.get(DECISION, "")
            self.keep(Promise(like=pod, target=claim.name, decision=decision))
            self._check_promises(claim.name)

    def _bound(self, pod: Pod, *, news: bool) -> None:
        if pod.daemon:
            self._measure_daemon(pod)
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
        free = view.promised_room.minus(total(p.spec.requests for p in self.pods_on(name)))
        own = promised_pods(view.claim) if view.claim is not None else ()
        for promise in self.promises.withdraw_overdrawn(name, free):
            self._note_promise(promise)
            if promise.pod in own:
                self._changes.crowded_out.append(promise.pod)
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
            self._note_promise(promise)
        return promise

    # --- nodes and claims

    def _see_node(self, node: Node, now: datetime) -> None:
        before = self.view_name(node.name) if node.name in self.nodes else ""
        self.put_node(node)
        if before and before != self.view_name(node.name):
            self._node_left(before)
        self._view_changed(self.view_name(node.name), now)
        for rival in self.claimants(node.provider_id)[1:]:
            self._touch(rival)

    def _lose_node(self, name: str) -> None:
        view = self.view_name(name)
        if self.remove_node(name) is not None:
            self._node_left(view)

    def _node_left(self, view: str) -> None:
        (self._touch if view in self.claims else self._view_gone)(view)

    def _see_claim(self, claim: NodeClaim, now: datetime) -> None:
        before = self.claims.get(claim.name)
        unknown = before is None
        alone = self.put_claim(claim)
        if before is not None and before.provider_id not in ("", claim.provider_id):
            for one in self.named(before.provider_id):
                self._touch(one)
        for one in alone:
            self._view_gone(one)
        for rival in self.claimants(claim.provider_id):
            # Who has the machine may be another one by this.
            self._touch(rival)
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
        for one in (*alone, *self.claimants(claim.provider_id)):
            self._touch(one)

    def _view_gone(self, name: str) -> None:
        self._end_promises_at(name)
        self.condemned.pop(name, None)
        self.doomed.pop(name, None)
        self._void.pop(name, None)
        self._existing_nodes.pop(name, None)
        self._changes.views[name] = None

    def _view_changed(self, name: str, now: datetime) -> None:
        view = self.view(name)
        if view is not None and view.leaving:
            self._end_promises_at(name)
        elif view is not None and view.initialized:
            self._came_ready(name, now)
        self._check_promises(name)
        self._touch(name)

    def _came_ready(self, name: str, now: datetime) -> None:
        """Let promises expire on a node that is ready, and tell those whose pods wait for it."""
        for promise in self.promises.at(name):
            if promise.expires_at is None:
                self._touch_old_place(promise)
        self.promises.limit(name, expires_at=now + self._promise_lasts, but=self._kept_places(name))

    def _kept_places(self, name: str) -> frozenset[str]:
        there = (self.pods.get(promise.pod) for promise in self.promises.at(name))
        return frozenset(pod.uid for pod in there if pod is not None and self.loses_its_node(pod))

    def _end_promises_at(self, name: str) -> None:
        for promise in self.promises.end_all(name):
            self._note_promise(promise)

    def _note_promise(self, promise: Promise) -> None:
        """Note whom it concerns that a promise was made or ended: also the node that the pod is to leave."""
        self._changes.pods[promise.pod] = None
        self._touch(promise.target)
        self._touch_old_place(promise)

    def _touch_old_place(self, promise: Promise) -> None:
        pod = self.pods.get(promise.pod)
        if pod is not None and pod.bound:
            self._touch_node(pod.node_name)

    def _touch_node(self, node: str) -> None:
        self._touch(self.view_name(node))

    def _touch_nodes_of(self, pool: str) -> None:
        for claim in self.claims.values():
            if claim.pool == pool:
                self._touch(claim.name)

    def _touch(self, name: str) -> None:
        self._existing_nodes.pop(name, None)
        self._changes.views[name] = None

    # --- decisions

    def condemn(self, name: str) -> None:
        """Send no more pods to a view, and find other places for those on it."""
        self.condemned[name] = None
        self._end_promises_at(name)
        self._touch(name)

    def doom(self, name: str) -> bool:
        """Note that EC2 takes a view's machine, so all its pods need other places; tell if it is news."""
        news = name not in self.doomed
        self.doomed[name] = None
        return news

    def void(self, name: str) -> None:
        """Note that a claim never got, and never will get, an instance: it counts for nothing from now on."""
        claim = self.claims.get(name)
        if claim is None or claim.resource_version == 0:
            self.drop_claim(name)
            return
        self._void[name] = None
        self._limits.pop(claim.pool, None)
        self.condemn(name)

    def ready(self, name: str) -> bool:
        """Return whether pods that are sent to a view can start there."""
        view = self.view(name)
        return view is not None and view.initialized

    def spare(self, name: str) -> None:
        """Take back that a view is to go: its pods need no other places."""
        if name in self.condemned:
            del self.condemned[name]
            for pod in self.pods_on(name):
                self._end_promise(pod.uid)
            self._touch(name)

    def keep(self, promise: Promise) -> None:
        """Make a promise, known to fit."""
        self.promises.make(promise)
        self._note_promise(promise)

    def expire_promises(self, now: datetime) -> None:
        """End the promises whose time is over.

        Where one is over of a pod that asks about others, those of all such pods that the scheduler has not
        bound yet end with it: each may be where it is for another's sake, and they are decided on together.
        """
        expired = self.promises.expire(now)
        for promise in expired:
            self._note_promise(promise)
        if any(_asks_about_others(promise.spec) for promise in expired):
            for promise in self.promises.lapsing():
                if promise.pod in self._provisionable and _asks_about_others(promise.spec):
                    self._end_promise(promise.pod)

    def add_claim(self, claim: NodeClaim) -> None:
        """Count a claim as there that is only about to be written."""
        self.claims[claim.name] = claim
        self._limits.pop(claim.pool, None)
        self._touch(claim.name)


def _asks_about_others(spec: PodSpec) -> bool:
    return bool(spec.spread or spec.pod_affinity)
