"""Pods still to be made: they buy nothing of a last resort while what they prefer has run out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model.pods import Pod
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import ClassReport, PackingPlan, PlannedClaim, RefusedClass
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal

# On-demand capacity costs two to four times as much as spot; prices of spot differ by less than this from one
# type to the next.
_FAR_MORE: Final = 1.5
_WAITS: Final = Refusal(
    "",
    Reason.NO_CAPACITY,
    "what pods like it get ordinarily has run out, and for one that is not there yet nothing else is bought",
)


def pack_but_last_resorts(problem: Problem) -> PackingPlan:
    """Decide where every pod of `problem` goes, and buy no last resort for those still to come.

    The plan is compared with what it would be with the ordinary offers, where these differ. A workload whose
    pods to come would get nodes of a pool of less weight, or for half as much again, is planned without
    these: capacity may be back before they are made, and they may not be made at all. They are refused, and
    all others planned anew.
    """
    plan = pack(problem)
    pods = {pod.uid: pod for pod in problem.pods if pod.uid in problem.to_come}
    if not problem.ordinary_offers or not _to_buy(plan, pods):
        return plan
    waiting = _last_resorts(problem, pods, plan, pack(replace(problem, offers=problem.ordinary_offers)))
    theirs = {uid: pod for uid, pod in pods.items() if _workload(pod) in waiting}
    # They may have what is free on existing nodes. Where packing without the others buys for these instead,
    # no pod to come of the workload is planned.
    for left in (_to_buy(plan, theirs), frozenset(theirs)):
        if _to_buy(plan, theirs):
            rest = tuple(pod for pod in problem.pods if pod.uid not in left)
            plan = _with_refused(pack(replace(problem, pods=rest)), [theirs[uid] for uid in sorted(left)])
    return plan


def _to_buy(plan: PackingPlan, pods: Mapping[str, Pod]) -> frozenset[str]:
    """Return those of `pods` that nodes are to be bought for."""
    return frozenset(uid for claim in plan.claims for uid in claim.pods if uid in pods)


@dataclass(slots=True)
class _Bought:
    """Sums over the nodes bought for a workload's pods to come: pods, cost ($/h), least weight of a pool."""

    least_weight: int
    pods: int = 0
    cost: float = 0.0

    def add(self, claim: PlannedClaim, weight: int, share: float) -> None:
        self.pods += 1
        self.cost += (claim.price + claim.surcharge) * share
        self.least_weight = min(weight, self.least_weight)

    def is_last_resort(self, ordinary: _Bought) -> bool:
        far_more = self.cost / self.pods > _FAR_MORE * ordinary.cost / ordinary.pods
        return far_more or self.least_weight < ordinary.least_weight


def _last_resorts(
    problem: Problem, pods: Mapping[str, Pod], plan: PackingPlan, ordinary: PackingPlan
) -> frozenset[str]:
    """Return the workloads for whose `pods` to come `plan` buys what they would not get ordinarily."""
    weights = {offer.pool.name: offer.pool.weight for offer in problem.offers}
    now, then = (_bought(one.claims, pods, weights) for one in (plan, ordinary))
    return frozenset(of for of, bought in now.items() if of in then and bought.is_last_resort(then[of]))


def _bought(
    claims: Iterable[PlannedClaim], pods: Mapping[str, Pod], weights: Mapping[str, int]
) -> dict[str, _Bought]:
    """Return what `claims` are bought for these `pods`, by workload."""
    found: dict[str, _Bought] = {}
    for claim in claims:
        weight = weights[claim.pool]
        for pod in (pods[uid] for uid in claim.pods if uid in pods):
            found.setdefault(_workload(pod), _Bought(weight)).add(claim, weight, _share(pod, claim))
    return found


def _share(pod: Pod, claim: PlannedClaim) -> float:
    """Return the part of a claim's price that is a pod's: its part of what is asked for most."""
    asked = pod.spec.requests
    return max((amount / claim.requests[name] for name, amount in asked.items() if amount), default=0.0)


def _workload(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else ""


def _with_refused(plan: PackingPlan, left: Iterable[Pod]) -> PackingPlan:
    """Return `plan` with the pods that were `left` out of it, by workload."""
    of: dict[str, list[Pod]] = {}
    for pod in left:
        of.setdefault(_workload(pod), []).append(pod)
    refused = tuple(RefusedClass(pods=tuple(p.uid for p in pods), refusals=(_WAITS,)) for pods in of.values())
    reports = tuple(
        ClassReport(example=pods[0].key, pods=len(pods), refused=len(pods), refusals=(_WAITS,))
        for pods in of.values()
    )
    return replace(plan, refused=(*plan.refused, *refused), classes=(*plan.classes, *reports))
