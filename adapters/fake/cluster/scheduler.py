"""The scheduler: binds pods to nodes, or says why there is none for a pod."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import Final, TypeAlias

from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount
from treenail.adapters.fake.cluster.budgets import Budgets
from treenail.adapters.fake.cluster.census import Census
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.event_log import SCHEDULER
from treenail.adapters.fake.cluster.objects import Change, address
from treenail.adapters.fake.cluster.placement import Profile
from treenail.adapters.fake.cluster.preemption import Preemption
from treenail.adapters.fake.cluster.storage import KINDS, Hindrance, Storage
from treenail.adapters.fake.cluster.topology import NO_NEEDS, Topology, TopologyNeeds, topology_needs
from treenail.adapters.fake.luck import draw
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Pod, PodSpec

_NAME: Final = "default-scheduler"
_MOST_IDLE_PROFILES: Final = 1_000
# A scheduler that takes its time does so much of its work at once.
_PASS_SECONDS: Final = 0.1

# Of the objects that are a pod's spec and labels, and its namespace.
_Identity: TypeAlias = tuple[int, int, str]


class Scheduler:
    """The scheduler: binds waiting pods, by priority, then by the time they have waited.

    A pod without room waits until a node changes for the better, or until other pods change, if its topology
    terms count them.
    """

    def __init__(
        self, plane: ControlPlane, accounts: Accounts, storage: Storage, census: Census, budgets: Budgets
    ) -> None:
        self._plane = plane
        self._preemption = Preemption(plane, accounts, budgets)
        self._storage = storage
        self._census = census
        self._dice = plane.fork()
        self._accounts = accounts
        self._profiles: dict[tuple[PodSpec, TopologyNeeds], Profile] = {}
        # The same by identity: the pods of one template share spec and labels, and hashing them is slow.
        self._known: dict[_Identity, tuple[Pod, Profile]] = {}
        self._profile_of: dict[str, Profile] = {}
        # Of pods with volumes or resource claims, which are each pod's own: by uid.
        self._singles: dict[str, Profile] = {}
        # The number of waiting pods whose placement depends on other pods.
        self._choosy = 0
        self._most_profiles = _MOST_IDLE_PROFILES
        self._arrivals = count()
        self._due = False
        plane.store.listen(self._pod_changed, "Pod")
        plane.store.listen(self._storage_changed, *KINDS)
        accounts.improved.append(self._node_improved)
        census.changed.append(self._pods_moved)
        census.opposed.append(self._regroup)

    def _storage_changed(self, change: Change) -> None:
        del change
        if self._singles:
            self._wake()

    def _pod_changed(self, change: Change) -> None:
        pod = change.after
        if isinstance(pod, Pod) and _wants_a_node(pod):
            if pod.uid not in self._profile_of:
                self._enqueue(pod, next(self._arrivals))
                self._profile_of[pod.uid].fresh[pod.uid] = None
                self._wake()
            elif isinstance(change.before, Pod) and change.before.labels != pod.labels:
                self._regroup()
        elif isinstance(change.before, Pod):
            self._dequeue(change.before.uid)

    def _node_improved(self, account: NodeAccount) -> None:
        del account
        if self._profile_of:
            self._wake()

    def _pods_moved(self) -> None:
        if self._choosy:
            self._wake()

    def _enqueue(self, pod: Pod, arrival: int) -> None:
        single = pod.spec.volumes or pod.spec.resource_claims
        profile = self._single(pod) if single else self._profile(pod)
        self._profile_of[pod.uid] = profile
        profile.waiting[pod.uid] = arrival
        self._choosy += profile.choosy

    def _dequeue(self, uid: str) -> None:
        profile = self._profile_of.pop(uid, None)
        if profile is not None:
            self._singles.pop(uid, None)
            del profile.waiting[uid]
            profile.fresh.pop(uid, None)
            self._choosy -= profile.choosy

    def _regroup(self) -> None:
        """Put those that wait with their likes again: what is asked of them may have changed."""
        self._known.clear()
        waiting = sorted((p.waiting[uid], uid, uid in p.fresh) for uid, p in self._profile_of.items())
        for _, uid, _ in waiting:
            self._dequeue(uid)
        for arrival, uid, fresh in waiting:
            pod = self._plane.store.by_uid(uid)
            if isinstance(pod, Pod) and _wants_a_node(pod):
                self._enqueue(pod, arrival)
                if fresh:
                    self._profile_of[uid].fresh[uid] = None
        self._forget_idle()
        if waiting:
            self._wake()

    def _single(self, pod: Pod) -> Profile:
        volumes = partial(self._storage.hindrance, pod)
        profile = self._singles[pod.uid] = self._new_profile(pod.spec, self._needs(pod), volumes)
        return profile

    def _profile(self, pod: Pod) -> Profile:
        identity = id(pod.spec), id(pod.labels), pod.namespace
        known = self._known.get(identity)
        if known is not None:
            return known[1]
        if len(self._known) > self._most_profiles:
            self._forget_idle()
        kind = pod.spec, self._needs(pod)
        profile = self._profiles.get(kind)
        if profile is None:
            profile = self._profiles[kind] = self._new_profile(*kind)
        # The pod is held on to, so that the ids stay those of its spec and labels.
        self._known[identity] = (pod, profile)
        return profile

    def _forget_idle(self) -> None:
        self._profiles = {kind: p for kind, p in self._profiles.items() if p.waiting}
        self._known = {i: (pod, p) for i, (pod, p) in self._known.items() if p.waiting}
        self._most_profiles = max(2 * len(self._known), _MOST_IDLE_PROFILES)

    def _needs(self, pod: Pod) -> TopologyNeeds:
        return topology_needs(pod.spec, pod.namespace, pod.labels, self._census)

    def _new_profile(
        self, spec: PodSpec, needs: TopologyNeeds, volumes: Callable[[], Hindrance] | None = None
    ) -> Profile:
        topology = Topology(needs, self._census) if needs != NO_NEEDS else None
        fill = self._plane.settings.fill_nodes
        return Profile(spec, self._accounts, fill=fill, topology=topology, volumes=volumes)

    def _wake(self) -> None:
        if not self._due:
            self._due = True
            self._plane.later(draw(self._dice, self._plane.settings.schedule), self._schedule)

    def _schedule(self) -> None:
        """Bind all that fits; refuse the rest. Where that is more than it can do at once, go on later."""
        self._due = False
        pace = self._plane.settings.pods_scheduled
        left = max(1, round(pace * _PASS_SECONDS)) if pace is not None else len(self._profile_of)
        known = (*self._profiles.values(), *self._singles.values())
        profiles = [profile for profile in known if profile.waiting]
        queue = [
            (-profile.spec.priority, next(iter(profile.waiting.values())), number)
            for number, profile in enumerate(profiles)
        ]
        heapq.heapify(queue)
        while queue and left > 0:
            priority, _, number = heapq.heappop(queue)
            profile = profiles[number]
            if not profile.waiting:
                continue
            account = profile.best()
            if account is None:
                self._preemption.make_room(profile)
                left -= self._refuse(profile, left)
                continue
            self._bind(next(iter(profile.waiting)), account.name)
            left -= 1
            if profile.waiting:
                heapq.heappush(queue, (priority, next(iter(profile.waiting.values())), number))
        if pace is not None and left <= 0 and not self._due:
            self._due = True
            self._plane.later(_PASS_SECONDS, self._schedule)

    def _bind(self, uid: str, node: str) -> None:
        pod = self._plane.store.by_uid(uid)
        there = self._plane.store.find(address("Node", node))
        if isinstance(pod, Pod):
            if isinstance(there, Node):
                self._storage.provide(pod, there)
            pods.bind(self._plane.store, pod, node)

    def _refuse(self, profile: Profile, most: int) -> int:
        """Mark those pods of a profile unschedulable that are not so marked yet; return of how many."""
        if not profile.fresh:
            return 0
        why = profile.refusal()
        fresh = tuple(islice(profile.fresh, most))
        for uid in fresh:
            del profile.fresh[uid]
            pod = self._plane.store.by_uid(uid)
            if isinstance(pod, Pod):
                self._plane.warn(pod, "FailedScheduling", why, source=SCHEDULER)
                if pod.unschedulable_since is None:
                    self._plane.store.put(replace(pod, unschedulable_since=self._plane.store.now()))
        return len(fresh)


def _wants_a_node(pod: Pod) -> bool:
    return (
        not pod.node_name
        and pod.active
        and not pod.spec.scheduling_gates
        and pod.spec.scheduler_name == _NAME
        and not pod.daemon
    )
