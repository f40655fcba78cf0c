"""Raised limits, tried by deciding everything anew with others in line for what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from treenail.domain.model.pods import Pod
from treenail.domain.packing.advice.raised_limits import raised
from treenail.domain.packing.advice.step import Step, named
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.remedies import ChangeKind

Steps: TypeAlias = tuple[Step, ...]


class LimitTrial:
    """A trial of raised limits: decides anew with them, and raises them further where that is not enough.

    What a raised limit leaves may go to pods that had a place elsewhere, or on smaller nodes. Packs at most
    `decisions` times, problems of no more than `most_pods` pods: beyond that, the first proposal is not
    checked.
    """

    def __init__(
        self,
        problem: Problem,
        plan: PackingPlan,
        pack: Callable[[Problem], PackingPlan],
        decisions: int,
        most_pods: int,
    ) -> None:
        # Those the plan refuses must not count as placed: they are tried again only as far as the caller asks
        # for them.
        left = {uid for group in plan.refused for uid in group.pods}.union(plan.deferred)
        self._problem = problem
        self._placed = tuple(pod for pod in problem.pods if pod.uid not in left)
        self._pack = pack
        self._decisions = decisions
        self._most_pods = most_pods

    def holding(self, steps: Steps, pods: tuple[Pod, ...]) -> Steps | None:
        """Return steps that place `pods` and cost nobody a place: these, or with limits raised further.

        None where there are none. Steps that raise no limit are not asked after.
        """
        raising = [step for step in steps if step.change.kind is ChangeKind.RAISE_LIMIT]
        if not raising or not self._decisions or len(self._placed) + len(pods) > self._most_pods:
            return steps
        # The raised limit may be taken by pods that had a place elsewhere: only a whole decision shows that.
        if self._holds(steps, pods):
            return steps
        # The last one raised is raised further, for it was proposed on top of the others: they were not
        # enough without it.
        rest = tuple(step for step in steps if step is not raising[-1])
        for step in self._further(raising[-1], self._with(rest, pods)):
            if self._holds((*rest, step), pods):
                return (*rest, step)
        return None

    def _further(self, step: Step, problem: Problem) -> Iterable[Step]:
        """Return what lets a pool, of which `step` raises the limits, have all it would have without."""
        # A pool with reserved capacity comes several times; the last of its offers is the one with everything
        # else.
        offers = [offer for offer in problem.offers if named(offer.pool) == step.change.object]
        return raised(offers[-1], problem, self._packed) if self._decisions else ()

    def _holds(self, steps: Sequence[Step], pods: tuple[Pod, ...]) -> bool:
        if not self._decisions:
            return False
        plan = self._packed(self._with(steps, pods))
        return not plan.refused and not plan.deferred

    def _packed(self, problem: Problem) -> PackingPlan:
        self._decisions -= 1
        return self._pack(problem)

    def _with(self, steps: Sequence[Step], pods: tuple[Pod, ...]) -> Problem:
        """Return the problem of those that have a place, and of `pods` as they are after the steps.

        Pods of one template change together.
        """
        # Steps are functions of a problem whose pods are all alike, so they are applied before the others
        # join.
        changed = replace(self._problem, pods=pods)
        for step in steps:
            changed = step.apply(changed)
        before, after = pods[0].spec, changed.pods[0].spec
        # A template cannot be changed for some of its pods only: the placed ones change with it.
        placed = (replace(pod, spec=after) if pod.spec == before else pod for pod in self._placed)
        return replace(changed, pods=(*placed, *changed.pods))
