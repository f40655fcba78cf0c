"""The cluster model: facts of the watches, joined, with the promises on top."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from treenail.domain.cluster.buffers import BufferBook
from treenail.domain.cluster.capacity import Capacity
from treenail.domain.cluster.change_recorder import ChangeRecorder
from treenail.domain.cluster.changes import Changes, PodBound
from treenail.domain.cluster.cluster_facts import (
    OF_BUFFERS,
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
from treenail.domain.cluster.emptiness import PodEvents, is_empty
from treenail.domain.cluster.expected_pods import ExpectedPods
from treenail.domain.cluster.first_sight import FirstSight
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.marked_nodes import MarkedNodes
from treenail.domain.cluster.namespace_quotas import NamespaceQuotas
from treenail.domain.cluster.node_loads import NodeLoads
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.cluster.promise_upkeep import PromiseUpkeep
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.cluster.recent_changes import RecentChanges
from treenail.domain.cluster.refused_pods import Help
from treenail.domain.cluster.storage_book import Affected
from treenail.domain.cluster.untried_pods import UntriedPods
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import CapacityBuffer, of_buffer
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota


class ClusterModel:
    """One consistent view of pods, nodes, claims, pools and promises. Mutable, owned by one actor.

    `objects` are the objects as the API server last told of them, `promises` the places promised to pods,
    `marks` what was decided of nodes, `loads` what the pods on nodes mean for giving them up, and `capacity`
    what is free by the first three. Facts come in by `learn`. `revision` grows with each change. A claim that
    was committed though not yet seen in the API counts as there (its resource version is 0).
    """

    def __init__(
        self,
        *,
        promise_lasts: timedelta,
        static_capacity: bool = False,
        resource_claims: bool = False,
        spread_by_default: bool = False,
    ) -> None:
        self.revision = 0
        self.objects = Inventory(static_capacity=static_capacity, resource_claims=resource_claims)
        self.promises = PromiseBook()
        self.marks = MarkedNodes(self.objects)
        self.loads = NodeLoads(self.objects)
        self.capacity = Capacity(self.objects, self.promises, self.marks)
        self._recorder = ChangeRecorder(self.objects, self.capacity)
        self._upkeep = PromiseUpkeep(
            self.promises, self.objects, self.marks, self._recorder, lasts=promise_lasts
        )
        self.quotas = NamespaceQuotas(self.objects, self.promises)
        self.expected = ExpectedPods(self.objects, self.promises, self.quotas)
        self.untried = UntriedPods(self.objects, self.promises, spread_by_default=spread_by_default)
        self.buffers = BufferBook(self.objects, self.promises)
        self._sight = FirstSight()
        self.recent = RecentChanges()
        # By their ids: the zones in which nothing is given up of our own will.
        self.shifted_zones = frozenset[str]()
        self.pod_events = PodEvents()

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

    @property
    def version(self) -> object:
        """A version, equal at two times only where nothing that consolidation looks at changed between them.

        None while changes are still to be taken.
        """
        if self._recorder.changes:
            return None
        # Budgets of pods change by no revision, but by a stamp.
        return self.revision, self.recent.stamp, self.shifted_zones

    def take_changes(self) -> Changes:
        """Return what has changed since this was last asked."""
        changes = self._recorder.take()
        if changes:
            self.revision += 1
        return changes

    def _resync(self, fact: Resynced, now: datetime) -> None:
        if fact.unreadable != self.objects.storage.unreadable:
            self.objects.storage.unreadable = fact.unreadable
            self._recorder.changes.retry_refused |= {Help.STORAGE, Help.DEVICES}
        there = {(kind_of(thing), key_of(thing)) for thing in fact.objects}
        aside = {(one.kind, one.key) for one in fact.set_aside}
        there |= aside
        for kind, key in [at for at in self.objects.aside if at not in aside]:
            self._understood(kind, key)
        for thing in fact.objects:
            self._see(thing, now, listed=True)
        for one in fact.set_aside:
            self._set_aside(one, now, listed=True)
        self._sight.complete(now)
        for kind in Kind:
            if kind in (*OF_BUFFERS, Kind.RESOURCE_QUOTA) and kind in fact.unreadable:
                continue  # those that were there may be there still
            for key, known in sorted(self.objects.store(kind).items()):
                unseen = known.resource_version == 0 or known.resource_version > fact.revision
                if (kind, key) not in there and not unseen:
                    self._lose(kind, key, now)
        self._tend_buffers()

    def _set_aside(self, fact: ObjectSetAside, now: datetime, *, listed: bool) -> None:
        """Take in what can be read of an object, if any; else what was last understood of it stays in use."""
        at = fact.kind, fact.key
        known = self.objects.aside.get(at)
        self.objects.aside[at] = fact
        if known is None or known.problem != fact.problem:
            self._storage_changed(self.objects.storage.unclear(*at))
        if fact.partly is not None:
            self._see(fact.partly, now, listed=listed)

    def _understood(self, kind: Kind, key: str, version: int | None = None) -> None:
        aside = self.objects.aside.get((kind, key))
        if aside is not None and (version is None or version >= aside.resource_version):
            del self.objects.aside[kind, key]
            self._storage_changed(self.objects.storage.unclear(kind, key))

    def _see(self, thing: ClusterObject, now: datetime, *, listed: bool) -> None:
        known = self.objects.known(thing)
        outdated = known is not None and thing.resource_version <= known.resource_version
        if outdated or self.objects.ended(thing):
            return
        self.recent.thing(thing, known)
        match thing:
            case Pod():
                self._see_pod(self._sight.date(thing, known, now, listed=listed), now)
            case Node():
                self._see_node(self._sight.date(thing, known, now, listed=listed), now)
            case NodeClaim():
                self._see_claim(self._sight.date(thing, known, now, listed=listed), now)
            case NodePool():
                self._see_pool(thing)
            case NodeClass():
                self.objects.node_classes[str(thing.ref)] = thing
                if known is None:
                    self._recorder.waiting_for(str(thing.ref))
                self._recorder.pools(changed=not says_the_same(thing, known))
            case NodeOverlay():
                self.objects.put_overlay(thing)
                self._recorder.pools(changed=not says_the_same(thing, known))
            case DaemonSet():
                self._see_daemon_set(thing)
            case Namespace() | ResourceQuota() | Workload() | CapacityBuffer() | StoredPodTemplate():
                self._see_company(thing, now, changed=not says_the_same(thing, known))
            case PodDisruptionBudget():
                self.objects.pod_budgets.put(thing)
            case _:
                self._storage_changed(self.objects.storage.put(thing))
        self._tend_buffers_of(thing, known, listed=listed)

    def _lose(self, kind: Kind, key: str, now: datetime) -> None:
        lost = self.objects.store(kind).get(key)
        if isinstance(lost, Pod | Node | NodeClaim):
            self._sight.forget(lost.uid)
        self.recent.thing_gone(lost)
        match kind:
            case Kind.POD:
                self._lose_pod(key, now)
            case Kind.NODE:
                self._lose_node(key)
            case Kind.NODE_CLAIM:
                self.drop_claim(key)
            case Kind.NODE_POOL:
                self._lose_pool(key)
            case Kind.NODE_CLASS:
                self._recorder.pools(changed=self.objects.node_classes.pop(key, None) is not None)
                self._recorder.waiting_for(key)
            case Kind.NODE_OVERLAY:
                self._recorder.pools(changed=self.objects.remove_overlay(key) is not None)
            case Kind.DAEMON_SET:
                self._lose_daemon_set(key)
            case Kind.NAMESPACE | Kind.DEPLOYMENT | Kind.CAPACITY_BUFFER | Kind.POD_TEMPLATE:
                self.objects.drop(kind, key)
            case Kind.POD_DISRUPTION_BUDGET:
                self.objects.pod_budgets.remove(key)
            case Kind.RESOURCE_QUOTA | Kind.REPLICA_SET | Kind.JOB | Kind.STATEFUL_SET:
                self._lose_company(kind, key, now)
            case _:
                self._storage_changed(self.objects.storage.remove(kind, key))
        self._tend_buffers_of(None, lost)

    def _tend_buffers_of(
        self, thing: ClusterObject | None, before: ClusterObject | None, *, listed: bool = False
    ) -> None:
        news = not listed and (thing is None or not says_the_same(thing, before))
        if news and self.buffers.concerned(thing or before):
            self._tend_buffers()

    def _tend_buffers(self) -> None:
        """Find anew what buffers ask for, and end the places that none of them wants."""
        if not self.buffers and not self.promises.buffers():
            return
        self.buffers.forget()
        for promise in self.buffers.surplus(self._launched):
            self._upkeep.end(promise.pod)
        self._recorder.changes.buffers = True

    def _lose_daemon_set(self, uid: str) -> None:
        self.capacity.forget_daemon_pods(uid)
        if self.objects.daemons.pop(uid, None) is not None:
            self._daemons_changed()

    def _lose_company(self, kind: Kind, key: str, now: datetime) -> None:
        if kind is Kind.RESOURCE_QUOTA:
            self.quotas.remove(key)
        elif self.objects.workloads[kind].pop(key, None) is not None:
            self.expected.workload(key, now, changed=True)
            self._withdraw_surplus(key)

    def _see_pool(self, pool: NodePool) -> None:
        known = self.objects.pools.get(pool.name)
        pool = self.objects.put_pool(pool)
        if known is None or known.static != pool.static:
            self._recorder.nodes_of(pool.name)
        self.capacity.forget_limit(pool.name)
        self._recorder.pools(changed=not says_the_same(pool, known))

    def _lose_pool(self, name: str) -> None:
        if self.objects.pools.pop(name, None) is not None:
            self._recorder.pools()
            self._recorder.nodes_of(name)
        self.capacity.forget_limit(name)

    def _see_company(
        self,
        thing: Namespace | ResourceQuota | Workload | CapacityBuffer | StoredPodTemplate,
        now: datetime,
        *,
        changed: bool,
    ) -> None:
        """Take in an object on which depends what other pods there are, or will be."""
        if isinstance(thing, CapacityBuffer | StoredPodTemplate):
            self.objects.put_by_name(thing)
        elif isinstance(thing, Workload) and thing.kind == Kind.DEPLOYMENT:
            self.objects.deployments[thing.uid] = thing
        elif isinstance(thing, Workload):
            self.objects.workloads[kind_of(thing)][thing.uid] = thing
            self.expected.workload(thing.uid, now, changed=changed)
            self._withdraw_surplus(thing.uid)
        elif isinstance(thing, ResourceQuota):
            self.quotas.put(thing)
            self._withdraw_beyond_quota(thing.namespace)
        else:
            self.objects.namespaces[thing.name] = thing
            if changed:
                self._recorder.changes.retry_refused.add(Help.COMPANY)

    def _see_daemon_set(self, daemons: DaemonSet) -> None:
        known = self.objects.daemons.get(daemons.uid)
        self.objects.daemons[daemons.uid] = daemons
        if known is not None and known.spec != daemons.spec:
            # Its pods were made of another template.
            self.capacity.forget_daemon_pods(daemons.uid)
        if not says_the_same(daemons, known):
            self._daemons_changed()

    def _daemons_changed(self) -> None:
        self.capacity.forget_daemon_sets()
        self._recorder.pools()

    def _storage_changed(self, affected: Affected) -> None:
        """Measure anew what depends on changed storage or devices, and retry refused pods that need it."""
        if affected.anybody:
            self.capacity.forget_all_nodes()
            self._recorder.changes.retry_refused.add(Help.STORAGE)
        if affected.resource_claim:
            self._devices_changed(affected.resource_claim)
        if affected.devices and self._devices_wanted():
            self._recorder.changes.retry_refused.add(Help.DEVICES)
        for node in affected.device_nodes:
            self.objects.devices_changed()
            self._recorder.node(node)
        if affected.node:
            self.capacity.forget_node(self.objects.view_name(affected.node))
        for uid in self.objects.storage.users(affected.claim):
            pod, promise = self.objects.pods[uid], self.promises.of(uid)
            if pod.bound:
                self.capacity.forget_node(self.objects.view_name(pod.node_name))
            if promise is not None:
                self.capacity.forget_node(promise.target)
            if self.waiting(uid):
                self._recorder.changes.retry_refused.add(Help.STORAGE)

    def _devices_changed(self, claim: str) -> None:
        """Retry refused pods that wait for a resource claim. No node has other room because of it."""
        if any(self.waiting(uid) for uid in self.objects.storage.device_users(claim)):
            self._recorder.changes.retry_refused.add(Help.DEVICES)

    def _devices_wanted(self) -> bool:
        """Return whether some pod with claims on devices waits."""
        waiting = (self.objects.pods[uid] for uid in self.objects.provisionable)
        return any(pod.spec.resource_claims for pod in waiting)

    # --- pods

    def _see_pod(self, pod: Pod, now: datetime) -> None:
        before = self.objects.pods.get(pod.uid)
        self.recent.pod(self.revision, before, pod)
        self._recorder.changes.pods[pod.uid] = None
        self.quotas.pod(before, pod)
        for node in self.objects.put_pod(pod):
            self._recorder.node(node)
        promise = self.promises.of(pod.uid)
        if promise is not None:
            # Its labels may have changed, so the target's topology counts are stale.
            self.capacity.forget_node(promise.target)
        owner = self.expected.pod(before, pod, now)
        self.untried.pod(before, pod, now)
        if before is None:
            self._upkeep.inherit(pod, now)
        elif pod.deleting_since is not None and before.deleting_since is None and not pod.stateful:
            # Its successor is made while it still stops.
            self._upkeep.orphan(pod.uid, now)
        if pod.provisionable or pod.untried:
            self._upkeep.restore(pod)
        if pod.bound and (before is None or not before.bound):
            self._bound(pod, news=before is not None)
        elif pod.terminal:
            self._upkeep.end(pod.uid)
        self._withdraw_surplus(owner)
        self._withdraw_beyond_quota(pod.namespace)

    def _withdraw_beyond_quota(self, namespace: str) -> None:
        """End promises to pods that quotas do not let be made, those of the latest workloads first."""
        if self.quotas.overdrawn(namespace):
            for owner in self.promises.owners_to_come(namespace):
                self._withdraw_surplus(owner)

    def _withdraw_surplus(self, owner: str) -> None:
        """End promises to pods that a workload makes no more, those on nodes not bought yet first."""
        surplus = self.expected.surplus(owner) if owner else 0
        if not surplus:
            return
        latest_first = self.promises.expected(owner)[::-1]
        for promise in sorted(latest_first, key=lambda p: self._launched(p.target))[:surplus]:
            self._upkeep.end(promise.pod)

    def _launched(self, name: str) -> bool:
        view = self.objects.view(name)
        return view is not None and view.launched

    def _bound(self, pod: Pod, *, news: bool) -> None:
        if pod.daemon and self.capacity.measure_daemon(pod):
            self._daemons_changed()
        name = self.objects.view_name(pod.node_name)
        promise = self._upkeep.end(pod.uid)
        view = self.objects.view(name)
        if view is None:
            return
        if not pod.daemon and not pod.mirror:
            self._recorder.changes.bound.append(PodBound(pod=pod, view=view, promise=promise, news=news))
        moved = self._upkeep.check(name, promise)
        if pod.spec.resource_claims:  # no such pod is planned before it is made: none has moved yet
            moved = self._upkeep.withdraw(name, self.capacity.crowded_out(name), promise)
        if moved is not None:
            self.recent.promise(self.revision, moved)

    def _lose_pod(self, uid: str, now: datetime) -> None:
        pod = self.objects.remove_pod(uid)
        if pod is None:
            return
        self.quotas.pod(pod, None)
        self.recent.pod(self.revision, pod, None)
        self._recorder.changes.pods[uid] = None
        if pod.bound:
            self._recorder.node(pod.node_name)
        self.expected.pod(pod, None, now)
        self.untried.pod(pod, None, now)
        promise = self.promises.of(uid)
        self._upkeep.orphan(uid, now)
        if promise is not None:
            self._recorder.view(promise.target)

    # --- nodes and claims

    def _see_node(self, node: Node, now: datetime) -> None:
        self.recent.node(self.revision, self.objects.nodes.get(node.name), node)
        before = self.objects.view_name(node.name) if node.name in self.objects.nodes else ""
        self.objects.put_node(node)
        if before and before != self.objects.view_name(node.name):
            self._node_left(before)
        self._view_changed(self.objects.view_name(node.name), now)
        for rival in self.objects.claimants(node.provider_id)[1:]:
            self._recorder.view(rival)

    def _lose_node(self, name: str) -> None:
        view = self.objects.view_name(name)
        self.recent.node(self.revision, self.objects.nodes.get(name), None)
        if self.objects.remove_node(name) is not None:
            self._node_left(view)

    def _node_left(self, view: str) -> None:
        (self._recorder.view if view in self.objects.claims else self._view_gone)(view)

    def _see_claim(self, claim: NodeClaim, now: datetime) -> None:
        before = self.objects.claims.get(claim.name)
        unknown = before is None
        alone = self.objects.put_claim(claim)
        if before is not None and before.provider_id not in ("", claim.provider_id):
            for one in self.objects.named(before.provider_id):
                self._recorder.view(one)
        for one in alone:
            self._view_gone(one)
        for rival in self.objects.claimants(claim.provider_id):
            # Who has the machine may be another one by this.
            self._recorder.view(rival)
        if unknown and not claim.initialized and not claim.leaving:
            self._upkeep.restore_all(claim)
        self.capacity.forget_limit(claim.pool)
        self._view_changed(claim.name, now)

    def drop_claim(self, name: str) -> None:
        """Forget a claim that is gone, or was never written; its promises end."""
        claim, alone = self.objects.remove_claim(name)
        if claim is None:
            return
        self._upkeep.restore_none(claim)
        self.capacity.forget_limit(claim.pool)
        self._view_gone(name)
        for one in (*alone, *self.objects.claimants(claim.provider_id)):
            self._recorder.view(one)

    def _view_gone(self, name: str) -> None:
        self._upkeep.end_at(name)
        self.marks.forget(name)
        self.pod_events.forget(name)
        self.capacity.forget_node(name)
        self._recorder.changes.views[name] = None

    def _view_changed(self, name: str, now: datetime) -> None:
        view = self.objects.view(name)
        if view is not None and view.leaving:
            self._upkeep.end_at(name)
        elif view is not None and view.initialized:
            self._upkeep.came_ready(name, now)
        self._upkeep.check(name)
        kept = view is not None and view.launched and self.promises.at_for_buffers(name)
        if kept and self.capacity.existing_node(name) is None:  # nobody else is to go there either
            self.end_places_of_buffers(name)
        self._recorder.view(name)

    # --- decisions

    def mark_for_disruption(self, name: str) -> None:
        """Send no more pods to a view, and find other places for those on it."""
        self.marks.for_disruption[name] = None
        self._upkeep.end_at(name)
        self._recorder.view(name)

    def end_places_of_buffers(self, name: str) -> None:
        """End the places that buffers keep on a view."""
        for promise in self.promises.at_for_buffers(name):
            self._upkeep.end(promise.pod)

    def note_view(self, name: str) -> None:
        """Have a view told of again, as what is told of it depends on more than itself."""
        self._recorder.view(name)

    def mark_instance_ending(self, name: str) -> bool:
        """Note that EC2 ends a view's instance: all its pods need other places. Return whether it is news."""
        news = name not in self.marks.instance_ending
        self.marks.instance_ending[name] = None
        return news

    def mark_launch_failed(self, name: str) -> None:
        """Note that a claim never got, and never will get, an instance: it counts for nothing from now on."""
        claim = self.objects.claims.get(name)
        if claim is None or claim.resource_version == 0:
            self.drop_claim(name)
            return
        self.marks.launch_failed[name] = None
        self.capacity.forget_limit(claim.pool)
        self.mark_for_disruption(name)

    def unmark(self, name: str) -> None:
        """Take back that a view is to be disrupted: its pods need no other places."""
        if name in self.marks.for_disruption:
            del self.marks.for_disruption[name]
            for pod in self.objects.pods_on(name):
                self._upkeep.end(pod.uid)
            self._recorder.view(name)

    def keep(self, promise: Promise) -> None:
        """Make a promise, known to fit."""
        self.recent.promise(self.revision, promise)
        self._upkeep.keep(promise)
        if promise.expected and not promise.of_buffer:
            self.expected.wait(promise.heir, promise.like.created_at)

    def expire_promises(self, now: datetime) -> tuple[tuple[str, int], ...]:
        """End the promises whose time is over, and those to pods that did not come.

        Return whose pods did not come, as "Deployment/web", and how many of them had places.
        """
        self._upkeep.expire(now)
        over: list[tuple[str, int]] = []
        for owner in self.expected.give_up(now):
            workload, promises = self.objects.workload(owner), self.promises.expected(owner)
            for promise in promises:
                self._upkeep.end(promise.pod)
            over.append((workload.told_as if workload is not None else owner, len(promises)))
        return tuple(over)

    def next_expiry(self) -> datetime | None:
        """Return when `expire_promises` has something to do next, if it will."""
        times = (self.promises.next_expiry(), self.expected.due())
        return min((at for at in times if at is not None), default=None)

    def add_claim(self, claim: NodeClaim) -> None:
        """Count a claim as there that is only about to be written."""
        self.objects.put_claim(claim)
        self.capacity.forget_limit(claim.pool)
        self._recorder.view(claim.name)

    # --- questions

    def waiting(self, uid: str) -> bool:
        """Return whether a pod waits for a place and has no promise of one."""
        return uid in self.objects.provisionable and self.promises.of(uid) is None

    def empty(self, name: str) -> bool:
        """Return whether nothing that keeps it runs on a view, and nothing is promised a place there."""
        if self.promises.any_at(name):
            return False
        return is_empty(self.objects.pods_on(name), self.objects.claims.get(name))

    def unpromised(self, owner: str, now: datetime | None = None) -> int:
        """Return how many pods to come, or places of a buffer, of an owner have no promise."""
        return self.buffers.lacking(owner) if of_buffer(owner) else self.expected.unpromised(owner, now)

    def made_up(self, owner: str, number: int, now: datetime) -> tuple[Pod, ...]:
        """Return so many pods as stand for those to come, or the places of a buffer, of an owner."""
        source = self.buffers if of_buffer(owner) else self.expected
        return source.made_up(owner, number, now)

    def snapshot(
        self,
        now: datetime,
        leaving: Collection[str] = (),
        movable: Collection[str] = (),
        *,
        beside_buffers: bool = False,
    ) -> Snapshot:
        """Return all that planning may look at, at this revision, as if the views `leaving` were gone.

        Those views take no pods, and the pods on them that must move are to be placed. The pods of the views
        `movable` are to be placed too, but these views stay open. Room that buffers keep is free, unless the
        plan is to be made `beside_buffers`.
        """
        return self.capacity.snapshot(self.revision, now, leaving, movable, beside_buffers=beside_buffers)
