"""Workloads with pods that wait and pods still to come, as packing problems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.domain.packing.problems import asking, pods, problem
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PoolOffer, Problem


def of(workload: str, some: Iterable[Pod]) -> tuple[Pod, ...]:
    owner = Owner(kind="ReplicaSet", name=workload, uid=workload)
    return tuple(replace(pod, owners=(owner,)) for pod in some)


def wish(name: str, there: int, to_come: int, cpu: int = 1) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Return the pods of a workload: those that wait, and those still to come."""
    return of(name, pods(name, there, asking(cpu))), of(name, pods(f"{name}-expected", to_come, asking(cpu)))


def asked(
    *wishes: tuple[tuple[Pod, ...], tuple[Pod, ...]],
    offers: tuple[PoolOffer, ...],
    ordinarily: tuple[PoolOffer, ...] = (),
) -> Problem:
    there, to_come = zip(*wishes, strict=True)
    return replace(
        problem(*there, *to_come, offers=offers),
        to_come=frozenset(pod.uid for some in to_come for pod in some),
        ordinary_offers=ordinarily,
    )


def left_out(plan: PackingPlan) -> set[str]:
    return {uid for group in plan.refused for uid in group.pods}
