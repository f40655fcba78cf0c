"""Revalidation of a plan: its places that can still be promised, though the cluster has changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.namespace_quotas import Drawn
from treenail.domain.model.pods import Pod
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import ExistingNode
from treenail.domain.scheduling.device_places import DevicePlaces


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    """A claim that may be made, the plan's number `index`, with those of its pods that still need it."""

    index: int
    planned: PlannedClaim
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The places of a plan that can all be promised at one revision: (pod, target), and claims."""

    nominations: tuple[tuple[Pod, str], ...] = ()
    claims: tuple[HeldClaim, ...] = ()

    @property
    def pods(self) -> frozenset[str]:
        """The uids of the pods that have a place in it."""
        nominated = {pod.uid for pod, _ in self.nominations}
        return frozenset(nominated.union(pod.uid for claim in self.claims for pod in claim.pods))


def what_holds(model: ClusterModel, plan: PackingPlan, leaving: Collection[str] = ()) -> Held:
    """Return the places of `plan` that `model` could promise now, were the views `leaving` given up.

    A pod that is gone, bound or promised elsewhere loses its place, a room that shrank or is leaving gets
    only what fits, a claim whose pods are all gone or that would break its pool's limits is not made.
    """
    check = _Check(model, plan, leaving)
    return Held(nominations=check.nominations(plan), claims=check.claims(plan))


class _Check:
    """Goes through a plan, and notes what it gives away on the way."""

    def __init__(self, model: ClusterModel, plan: PackingPlan, leaving: Collection[str]) -> None:
        self._model = model
        self._leaving = leaving
        self._planned = {*plan.nominations, *(uid for claim in plan.claims for uid in claim.pods)}
        self._placed: set[str] = set()
        # By workload: its pods that came since they were expected, and how many more are to come.
        self._came: dict[str, list[Pod]] = {}
        self._to_come: dict[str, int] = {}
        # What the pods to come among them take of quotas.
        self._drawn: Drawn = {}
        self._given: dict[str, Resources] = {}
        self._bought: dict[str, Resources] = {}

    def _still_waiting(self, uid: str) -> Pod | None:
        """Return the pod if it still needs a place; for an expected pod, the pod that came or is to come."""
        model, pod = self._model, self._model.objects.pods.get(uid)
        if pod is None and uid in model.buffers.offered:
            return self._place_of_buffer(uid)
        if pod is None and uid in model.expected.offered:
            return self._came_instead(uid)
        if pod is None or uid in self._placed or model.promises.of(uid) is not None:
            return None
        if pod.provisionable:
            return pod
        view = model.objects.view(model.objects.view_name(pod.node_name)) if pod.bound else None
        if view is None or not (model.marks.ending(view) or view.name in self._leaving):
            return None
        return pod if pod.reschedulable else None

    def nominations(self, plan: PackingPlan) -> tuple[tuple[Pod, str], ...]:
        kept: list[tuple[Pod, str]] = []
        places = DevicePlaces(self._model, plan)
        for uid, target in places.in_order():
            pod = self._still_waiting(uid)
            existing_node = self._room(uid, target)
            if pod is None or existing_node is None or not places.keep(pod, target):
                continue
            given = self._given.get(target, NOTHING)
            if pod.spec.requests.fits(existing_node.free.minus(given)):
                self._given[target] = given.plus(pod.spec.requests)
                self._placed.add(pod.uid)
                kept.append((pod, target))
        return tuple(kept)

    def _room(self, uid: str, target: str) -> ExistingNode | None:
        """Return what is free on a target: buffers give way to pods, and not to each other."""
        if target in self._leaving:
            return None
        beside = uid in self._model.buffers.offered
        return self._model.capacity.existing_node(target, beside_buffers=beside)

    def _place_of_buffer(self, uid: str) -> Pod | None:
        """Return what stands for a place of a buffer, if that still lacks one."""
        model, like = self._model, self._model.buffers.offered[uid]
        assert like.owner is not None  # noqa: S101
        owner = like.owner.uid
        found, kept = model.buffers.served().get(owner), model.promises.of(uid)
        if found is None or found[1].spec != like.spec:
            return None
        if kept is not None:
            return like if kept.target in self._leaving else None
        left = self._to_come.setdefault(owner, model.buffers.lacking(owner))
        self._to_come[owner] = left - 1
        return like if left > 0 else None

    def _came_instead(self, uid: str) -> Pod | None:
        """Return the pod that gets an expected pod's place: one that came, or itself if it is to come."""
        model, like = self._model, self._model.expected.offered.get(uid)
        if like is None or like.owner is None or model.promises.of(uid) is not None:
            return None
        owner = like.owner.uid
        if owner not in self._came:
            waiting = model.expected.without_place(owner)
            self._came[owner] = [p for p in waiting if p.uid not in self._planned and p.spec == like.spec]
            self._to_come[owner] = model.expected.unpromised(owner)
        if self._came[owner]:
            return self._came[owner].pop(0)
        self._to_come[owner] -= 1
        return like if self._to_come[owner] >= 0 and model.quotas.take(like, self._drawn) else None

    def claims(self, plan: PackingPlan) -> tuple[HeldClaim, ...]:
        held = (self._claim(index, planned) for index, planned in enumerate(plan.claims))
        return tuple(one for one in held if one is not None)

    def _claim(self, index: int, planned: PlannedClaim) -> HeldClaim | None:
        pool = self._model.objects.pools.get(planned.pool)
        pods = tuple(pod for uid in planned.pods if (pod := self._still_waiting(uid)) is not None)
        if (
            pool is None
            or pool.deleting
            or (planned.pods and not pods)
            or self._model.objects.node_class(pool.node_class) is None
        ):
            return None
        bought = self._bought.get(pool.name, NOTHING).plus(planned.largest).plus({NODES: 1})
        left = self._model.capacity.limit_left(pool)
        if left is not None and any(bought.get(name, 0) > amount for name, amount in left.items()):
            return None
        self._bought[pool.name] = bought
        self._placed.update(pod.uid for pod in pods)
        return HeldClaim(index=index, planned=planned, pods=pods)
