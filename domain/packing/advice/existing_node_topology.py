"""The topology term that keeps pods off a node that would hold them, found by packing without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from treenail.domain.model.pods import PodSpec
from treenail.domain.packing.advice.pod_steps import drop_affinity, schedule_anyway
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values


def topology_against(
    problem: Problem, node: str, pack: Callable[[Problem], PackingPlan], may_try: Callable[[], bool]
) -> Refusal | None:
    """Return the topology reason against the pods of `problem` on `node`, the only one that is open.

    The node would hold them but for that. None where the tries end before the reason is found.
    """
    # By lifting, for the counts of an attempt are gone by now, and a try on one node is cheap: no pool is in
    # this problem.
    without = problem
    for reason, about, step in _terms(problem.pods[0].spec):
        if not may_try():
            return None
        # One term after the other goes: the last to go is the one that was left to keep them off.
        without = step.apply(without)
        if not pack(without).refused:
            return _refusal(reason, about, node)
    # All its own terms are lifted, and it is still refused: so anti-affinity of other pods keeps it off.
    detail = "pods that are there, or near, keep apart from such as it"
    return Refusal("", Reason.OTHERS_ANTI_AFFINITY, detail, node=node)


def _refusal(reason: Reason, about: str, node: str) -> Refusal:
    what = {
        Reason.TOPOLOGY_SPREAD: "spread",
        Reason.POD_AFFINITY: "pod affinity",
        Reason.POD_ANTI_AFFINITY: "pod anti-affinity",
    }[reason]
    return Refusal("", reason, f"its {what} over {about} does not let it go there", Values(about), node=node)


def _terms(spec: PodSpec) -> Iterable[tuple[Reason, str, Step]]:
    """Yield the hard terms of a pod, with what lifts each of them."""
    for term in spec.pod_affinity:
        if term.weight is None:
            reason = Reason.POD_ANTI_AFFINITY if term.anti else Reason.POD_AFFINITY
            yield reason, term.topology_key, drop_affinity(term)
    for spread in spec.spread:
        if spread.hard:
            yield Reason.TOPOLOGY_SPREAD, spread.topology_key, schedule_anyway(spread)
