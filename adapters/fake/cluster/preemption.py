"""Preemption: room on a node for a pod that waits, made by deleting pods of lower priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from treenail.adapters.api.workloads import PriorityClass
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount
from treenail.adapters.fake.cluster.budgets import Budgets
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.event_log import SCHEDULER
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.placement import Profile
from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod

_NEVER_STARTED: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """The price of a node: the pods that must go, the most important first, `breaching` budgets so often."""

    account: NodeAccount
    victims: tuple[Pod, ...]
    breaching: int

    @property
    def harm(self) -> tuple[int, int, int, int, float, int]:
        """The order of kube-scheduler: the least harm first, then victims that started last."""
        priorities = [pod.spec.priority for pod in self.victims]
        highest = max(priorities, default=-(2**31))
        started = min(
            (pod.started_at or _NEVER_STARTED for pod in self.victims if pod.spec.priority == highest),
            default=_NEVER_STARTED,
        )
        total = sum(priority + 2**31 for priority in priorities)
        return self.breaching, highest, total, len(priorities), -started.timestamp(), self.account.order


class Preemption:
    """Nominates a node for a pod without a place, as kube-scheduler does, and deletes who is in its way.

    Room is made for amounts and host ports. Where labels, taints, volumes or other pods keep the pod off a
    node, nobody goes there.
    """

    def __init__(self, plane: ControlPlane, accounts: Accounts, budgets: Budgets) -> None:
        self._plane = plane
        self._accounts = accounts
        self._budgets = budgets
        # How many pods on nodes have each priority: most pods find nobody below them.
        self._priorities: Counter[int] = Counter()
        plane.store.listen(self._pod_changed, "Pod")

    def _pod_changed(self, change: Change) -> None:
        for pod, sign in ((change.before, -1), (change.after, 1)):
            if isinstance(pod, Pod) and pod.bound:
                self._priorities[pod.spec.priority] += sign
        self._priorities += Counter()

    def make_room(self, profile: Profile) -> None:
        """Nominate nodes for the pods of a profile that no node takes as it is, and delete their victims.

        A pod whose nominated node takes it no more has that nomination removed.
        """
        preempts = self._preempts(profile)
        for uid in tuple(profile.waiting):
            pod = self._plane.store.by_uid(uid)
            if not isinstance(pod, Pod) or self._still_coming(pod):
                continue
            offer = self._best_offer(pod, profile) if preempts else None
            if offer is not None:
                self._take(pod, offer)
            elif pod.nominated_node:
                self._nominate(pod, "")
            else:
                # The pods that wait behind it are equal.
                return

    def _preempts(self, profile: Profile) -> bool:
        spec = profile.spec
        if profile.not_simulated or min(self._priorities, default=spec.priority) >= spec.priority:
            return False
        there = (
            self._plane.store.find(("PriorityClass", spec.priority_class)) if spec.priority_class else None
        )
        return not isinstance(there, PriorityClass) or there.preempts

    def _still_coming(self, pod: Pod) -> bool:
        """Return whether lesser pods are still leaving the node that is nominated for a pod."""
        account = self._accounts.by_name.get(pod.nominated_node)
        return account is not None and any(
            p.deleting_since is not None and p.spec.priority < pod.spec.priority
            for p in account.pods.values()
        )

    def _best_offer(self, pod: Pod, profile: Profile) -> _Offer | None:
        offers = (self._offer(pod, profile, account) for account in self._accounts.present())
        return min((offer for offer in offers if offer is not None), key=lambda o: o.harm, default=None)

    def _offer(self, pod: Pod, profile: Profile, account: NodeAccount) -> _Offer | None:
        """Return who must leave a node for `pod`; None where not even all lesser pods would do."""
        lesser = [
            p
            for p in account.pods.values()
            if p.bound and p.spec.priority < pod.spec.priority and not profile.keeps_near(p)
        ]
        if not lesser or profile.closed(account):
            return None
        gone = {p.uid: p for p in lesser}
        if not profile.fits_without(pod.uid, account, gone.values()):
            return None
        breaching = self._breaching(lesser)
        ranked = sorted(lesser, key=lambda p: (p.uid not in breaching, *_importance(p)))
        for candidate in ranked:
            del gone[candidate.uid]
            if not profile.fits_without(pod.uid, account, gone.values()):
                gone[candidate.uid] = candidate
        victims = tuple(sorted(gone.values(), key=_importance))
        return _Offer(account=account, victims=victims, breaching=sum(v.uid in breaching for v in victims))

    def _breaching(self, lesser: Iterable[Pod]) -> frozenset[str]:
        """Return which pods their budgets would not let go, if all went, the most important first."""
        left: dict[str, int] = {}
        found = set()
        for pod in sorted(lesser, key=_importance):
            for where in self._budgets.selecting(pod):
                budget = self._plane.store.find(where)
                if isinstance(budget, PodDisruptionBudget):
                    left.setdefault(budget.uid, self._budgets.allowed(where, budget))
                    left[budget.uid] -= 1
                    if left[budget.uid] < 0:
                        found.add(pod.uid)
        return frozenset(found)

    def _take(self, pod: Pod, offer: _Offer) -> None:
        node = offer.account.name
        self._nominate(pod, node)
        for victim in offer.victims:
            if victim.deleting_since is None:
                message = f"Preempted by pod {pod.key} on node {node}"
                event = ClusterEvent(of_pod(victim), "Preempted", message)
                self._plane.log.publish(event, SCHEDULER)
                pods.delete(self._plane.store, victim, victim.spec.grace_seconds)

    def _nominate(self, pod: Pod, node: str) -> None:
        if pod.nominated_node != node:
            since = pod.unschedulable_since or self._plane.store.now()
            self._plane.store.put(replace(pod, nominated_node=node, unschedulable_since=since))


def _importance(pod: Pod) -> tuple[int, datetime, str]:
    """The most important first: by priority, then by who started first."""
    return -pod.spec.priority, pod.started_at or _NEVER_STARTED, pod.uid
