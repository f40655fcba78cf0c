"""Which of a pod's wishes could all be fulfilled together: fewer and fewer, the last to be given up last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tests.domain.packing.completeness import missed
from tests.domain.packing.validity import needs_of
from treenail.domain.model.pods import Expression, PodAffinityTerm, PodSpec, PodVolume, TopologySpread
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.problem import Problem, VolumeNeeds


@dataclass(frozen=True)
class Wishes:
    """Some of a pod's preferences: of nodes at most one, and about others."""

    node: tuple[Expression, ...] | None
    pods: tuple[PodAffinityTerm, ...]
    spread: tuple[TopologySpread, ...]


def in_order(spec: PodSpec) -> Iterator[Wishes]:
    """Yield the wishes of a pod, then fewer and fewer of them, but never none."""
    weighted = [t for t in spec.pod_affinity if t.weight is not None]
    pods = tuple(sorted(weighted, key=lambda t: (t.anti, -(t.weight or 0))))
    spread = tuple(s for s in spec.spread if not s.hard)
    nodes = [term for _, term in sorted(spec.node_affinity.preferred, key=lambda weighted: -weighted[0])]
    for number in range(len(pods)):
        yield Wishes(nodes[0] if nodes else None, pods[number:], spread)
    for node in nodes:
        yield Wishes(node, (), spread)
    for number in range(len(spread)):
        yield Wishes(None, (), spread[number:])


def required(problem: Problem, wishes: Wishes) -> Problem:
    """Return a problem of one pod in which it must have what it wishes, and what is disliked is forbidden."""
    (pod,) = problem.pods
    taints = [t for existing_node in problem.existing_nodes for t in existing_node.taints]
    taints += [t for offer in problem.offers for t in offer.pool.taints]
    disliked = sorted({taint.key for taint in taints if _soft(taint)})
    put_up = tuple(Toleration(key, TolerationOperator.EXISTS) for key in disliked)
    # Preferred nodes, like those of volumes, leave no domain out of what a spread is measured by.
    needs = _within(needs_of(problem, pod), wishes.node) if wishes.node else problem.volumes.get(pod.uid)
    return replace(
        problem,
        pods=(replace(pod, spec=_required(pod.spec, wishes)),),
        volumes={} if needs is None else {pod.uid: needs},
        daemons=tuple(replace(d, tolerations=(*d.tolerations, *put_up)) for d in problem.daemons),
        existing_nodes=tuple(
            replace(existing_node, taints=_hard(existing_node.taints))
            for existing_node in problem.existing_nodes
        ),
        offers=tuple(
            replace(offer, pool=replace(offer.pool, taints=_hard(offer.pool.taints)))
            for offer in problem.offers
        ),
    )


def possible(problem: Problem) -> bool:
    """Return whether the only pod of a problem has a place anywhere."""
    (pod,) = problem.pods
    nowhere = PackingPlan(refused=(RefusedClass(pods=(pod.uid,), refusals=()),))
    return bool(missed(problem, nowhere))


def _required(spec: PodSpec, wishes: Wishes) -> PodSpec:
    hard = tuple(t for t in spec.pod_affinity if t.weight is None)
    spread = tuple(s for s in spec.spread if s.hard)
    return replace(
        spec,
        volumes=(PodVolume("wish"),) if wishes.node else spec.volumes,
        pod_affinity=(*hard, *(replace(t, weight=None) for t in wishes.pods)),
        spread=(*spread, *(replace(s, hard=True) for s in wishes.spread)),
    )


def _within(needs: VolumeNeeds, asked: Iterable[Expression]) -> VolumeNeeds:
    """Return these needs, where the node must be what is asked as well."""
    wanted = [expression.requirement() for expression in asked]
    both = (one.with_(wanted) for one in needs.alternatives)
    left = tuple(of for of in both if all(of[r.key].values or of[r.key].complement for r in wanted))
    return replace(needs, alternatives=left, problem=needs.problem if left else "nowhere")


def _hard(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(replace(taint, effect=Effect.NO_SCHEDULE) if _soft(taint) else taint for taint in taints)


def _soft(taint: Taint) -> bool:
    return taint.effect is Effect.PREFER_NO_SCHEDULE
