"""The scheduler: gives pods their nodes, and says why where there is none."""

from __future__ import annotations

import heapq
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Change, address
from treenail.adapters.fake.cluster.placement import Profile
from treenail.adapters.fake.cluster.storage import KINDS, Storage
from treenail.adapters.fake.luck import draw
from treenail.domain.nodes import Node
from treenail.domain.pods import Pod, PodSpec

_NAME: Final = "default-scheduler"
_MOST_IDLE_PROFILES: Final = 1_000


class Scheduler:
    """Binds pods that wait, the most important first, then the longest waiting.

    Those for whom there is no room wait until a node changes for the better.
    """

    def __init__(self, plane: ControlPlane, accounts: Accounts, storage: Storage) -> None:
        self._plane = plane
        self._storage = storage
        self._dice = plane.fork()
        self._accounts = accounts
        self._profiles: dict[PodSpec, Profile] = {}
        # The same by identity: the pods of one template share their spec, and hashing one is slow.
        self._known: dict[int, tuple[PodSpec, Profile]] = {}
        self._profile_of: dict[str, Profile] = {}
        # Of pods with volumes, which are each pod's own: by uid.
        self._singles: dict[str, Profile] = {}
        self._most_profiles = _MOST_IDLE_PROFILES
        self._arrivals = count()
        self._due = False
        plane.store.listen(self._pod_changed, "Pod")
        plane.store.listen(self._storage_changed, *KINDS)
        accounts.improved.append(self._node_improved)

    def _storage_changed(self, change: Change) -> None:
        del change
        if self._singles:
            self._wake()

    def _pod_changed(self, change: Change) -> None:
        pod = change.after
        if isinstance(pod, Pod) and _wants_a_node(pod):
            if pod.uid not in self._profile_of:
                self._enqueue(pod)
        elif isinstance(change.before, Pod):
            self._dequeue(change.before.uid)

    def _node_improved(self, account: NodeAccount) -> None:
        del account
        if self._profile_of:
            self._wake()

    def _enqueue(self, pod: Pod) -> None:
        profile = self._profile_of[pod.uid] = (
            self._single(pod) if pod.spec.volumes else self._profile(pod.spec)
        )
        profile.waiting[pod.uid] = next(self._arrivals)
        profile.fresh[pod.uid] = None
        self._wake()

    def _dequeue(self, uid: str) -> None:
        profile = self._profile_of.pop(uid, None)
        if profile is not None:
            self._singles.pop(uid, None)
            del profile.waiting[uid]
            profile.fresh.pop(uid, None)

    def _single(self, pod: Pod) -> Profile:
        fill = self._plane.settings.fill_nodes
        volumes = partial(self._storage.hindrance, pod)
        profile = self._singles[pod.uid] = Profile(pod.spec, self._accounts, fill=fill, volumes=volumes)
        return profile

    def _profile(self, spec: PodSpec) -> Profile:
        known = self._known.get(id(spec))
        if known is not None:
            return known[1]
        if len(self._known) > self._most_profiles:
            self._profiles = {s: p for s, p in self._profiles.items() if p.waiting}
            self._known = {i: (s, p) for i, (s, p) in self._known.items() if p.waiting}
            self._most_profiles = max(2 * len(self._known), _MOST_IDLE_PROFILES)
        profile = self._profiles.get(spec)
        if profile is None:
            profile = Profile(spec, self._accounts, fill=self._plane.settings.fill_nodes)
            self._profiles[spec] = profile
        self._known[id(spec)] = (spec, profile)
        return profile

    def _wake(self) -> None:
        if not self._due:
            self._due = True
            self._plane.later(draw(self._dice, self._plane.settings.schedule), self._schedule)

    def _schedule(self) -> None:
        """Bind all that fits; refuse the rest."""
        self._due = False
        known = (*self._profiles.values(), *self._singles.values())
        profiles = [profile for profile in known if profile.waiting]
        queue = [
            (-profile.spec.priority, next(iter(profile.waiting.values())), number)
            for number, profile in enumerate(profiles)
        ]
        heapq.heapify(queue)
        while queue:
            priority, _, number = heapq.heappop(queue)
            profile = profiles[number]
            account = profile.best()
            if account is None:
                self._refuse(profile)
                continue
            self._bind(next(iter(profile.waiting)), account.name)
            if profile.waiting:
                heapq.heappush(queue, (priority, next(iter(profile.waiting.values())), number))

    def _bind(self, uid: str, node: str) -> None:
        pod = self._plane.store.by_uid(uid)
        there = self._plane.store.find(address("Node", node))
        if isinstance(pod, Pod):
            if pod.spec.volumes and isinstance(there, Node):
                self._storage.provide(pod, there)
            pods.bind(self._plane.store, pod, node)

    def _refuse(self, profile: Profile) -> None:
        """Mark those pods of a profile unschedulable that are not so marked yet."""
        if not profile.fresh:
            return
        why = profile.refusal()
        fresh, profile.fresh = profile.fresh, {}
        for uid in fresh:
            pod = self._plane.store.by_uid(uid)
            if isinstance(pod, Pod):
                self._plane.warn(pod, "FailedScheduling", why)
                if pod.unschedulable_since is None:
                    self._plane.store.put(replace(pod, unschedulable_since=self._plane.store.now()))


def _wants_a_node(pod: Pod) -> bool:
    return (
        not pod.node_name
        and pod.active
        and not pod.spec.scheduling_gates
        and pod.spec.scheduler_name == _NAME
        and not pod.daemon
    )
