"""Advice for refused pods: what came nearest to placing them, and the changes that would place them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.packing.advice.bystanders import Bystanders
from treenail.domain.packing.advice.existing_node_topology import topology_against
from treenail.domain.packing.advice.limit_trial import LimitTrial
from treenail.domain.packing.advice.nearest_existing_nodes import NearestExistingNodes, against
from treenail.domain.packing.advice.node_steps import opened, uncordon
from treenail.domain.packing.advice.remainder import Remainder
from treenail.domain.packing.advice.search import Search, Tries
from treenail.domain.packing.plan import ClassReport, PackingPlan, RefusedClass
from treenail.domain.packing.problem import ExistingNode, Problem
from treenail.domain.packing.refusal_reasons import TOPOLOGY, Refusal, furthest
from treenail.domain.packing.remedies import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The effort for advice in one decision, by count: equal plans get equal advice.

    For the first so many `classes` at most `tries` each, and `in_all`, where one counts as many times as
    it has pools. A try has no more `pools` and open `existing_nodes` than these, those that came nearest, and
    no more `pods`, or `together` where their places depend on each other. So many `cordoned` nodes are
    opened, one at a time. With limits raised, all is decided `anew`, so often, where there are no
    more `pods` in all.
    """

    classes: int = 64
    tries: int = 24
    in_all: int = 256
    pools: int = 4
    existing_nodes: int = 32
    pods: int = 1000
    together: int = 20
    anew: int = 16
    cordoned: int = 3


NORMAL: Final = Effort()
# One in so many tries is kept for changes that place one pod of a class, where none was found for all.
_FOR_ONE: Final = 4


def with_remedies(
    problem: Problem,
    plan: PackingPlan,
    pack: Callable[[Problem], PackingPlan],
    effort: Effort = NORMAL,
    *,
    whole: Callable[[Problem], PackingPlan] | None = None,
) -> PackingPlan:
    """Return `plan` with the nearest pool or node, and a remedy, for each refused class of pods.

    `pack` places pods in what the plan leaves; `whole` is the function that made the plan of `problem`, if it
    is another. An exception costs the advice, not the plan, and is reported as one of its problems.
    """
    # A plan that refuses nobody costs nothing here.
    if not plan.refused:
        return plan
    # Remedies are for pods that stay refused: each class is advised by itself, with the places of all others
    # as the plan has them.
    anew = LimitTrial(problem, plan, whole or pack, effort.anew, effort.pods)
    adviser = _Adviser(problem, plan, pack, anew, effort)
    # In the order of the plan: tries are shared, so the classes that come first get the more advice.
    refused = tuple(adviser.advised(group) for group in plan.refused)
    return replace(
        plan,
        refused=refused,
        classes=tuple(_reports(plan.classes, refused)),
        problems=(*plan.problems, *adviser.problems),
    )


def _reports(classes: Sequence[ClassReport], refused: Sequence[RefusedClass]) -> Iterable[ClassReport]:
    """Yield the reports with the advice; refused groups are in their order, one for each that refuses any."""
    rest = iter(refused)
    for report in classes:
        group = next(rest) if report.refused else None
        yield replace(report, nearest=group.nearest, remedy=group.remedy) if group is not None else report


class _Adviser:
    def __init__(
        self,
        problem: Problem,
        plan: PackingPlan,
        pack: Callable[[Problem], PackingPlan],
        anew: LimitTrial,
        effort: Effort,
    ) -> None:
        self.problems: list[str] = []
        self._pack = pack
        self._anew = anew
        self._effort = effort
        self._to_come = problem.to_come if problem.ordinary_offers else frozenset()
        self._remainder = Remainder(problem, plan)
        self._tries = Tries(effort.in_all)
        self._classes_left = effort.classes
        # Made when first asked for: with a large cluster they cost arrays over all nodes, and many refusals,
        # of a bad selector, say, are the same on each node.
        self._near: NearestExistingNodes | None = None
        self._near_cordoned: NearestExistingNodes | None = None
        self._bystanders: Bystanders | None = None

    def advised(self, group: RefusedClass) -> RefusedClass:
        # Capacity that ran out comes back. Pods that are not there yet need no remedy for that.
        if self._to_come.issuperset(group.pods):
            return replace(group, nearest=furthest(group.refusals))
        self._classes_left -= 1
        # Counted, not timed. Later classes still hear what came nearest, which is known already.
        if self._classes_left < 0:
            return replace(group, nearest=furthest(group.refusals))
        try:
            return self._advised(group)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with the advice, the plan must go on)
            pod = self._remainder.pods[group.pods[0]]
            self.problems.append(f"there is no advice for {pod.key}: {type(error).__name__}: {error}")
            return replace(group, nearest=furthest(group.refusals))

    def _advised(self, group: RefusedClass) -> RefusedClass:
        # Pods of a class are alike, so the first stands for all where a spec is judged; how many there are
        # matters only to what is tried by packing.
        pods = tuple(self._remainder.pods[uid] for uid in group.pods)
        existing_nodes = self._nearest_existing_nodes(pods[0].spec)
        nearest = self._nearest(group, pods[0], existing_nodes)
        return replace(group, nearest=nearest, remedy=self._remedy(group, pods, existing_nodes))

    def _nearest(
        self, group: RefusedClass, pod: Pod, existing_nodes: tuple[ExistingNode, ...]
    ) -> Refusal | None:
        """Return the refusal of the pool or node where a pod came furthest, rather a pool's."""
        # A pool is named rather than a node that came as far: new nodes can be had as often as needed, one
        # node only once.
        of_pools = furthest(group.refusals)
        if not existing_nodes:
            return of_pools
        at_node = against(pod.spec, self._remainder.volumes(pod), existing_nodes[0])
        # The node would hold the pod but for other pods. Only packing knows which of its terms keeps it off;
        # where a pool says so already, its sentence names the domains too.
        if at_node is None and (of_pools is None or of_pools.reason not in TOPOLOGY):
            problem = self._remainder.problem(
                (pod,), (), (existing_nodes[0], *self._others(pod.spec, existing_nodes[:1]))
            )
            at_node = topology_against(
                problem, existing_nodes[0].name, self._pack, lambda: self._tries.spend(1)
            )
        if at_node is not None:
            at_node = replace(at_node, node=_node_of(existing_nodes[0]))
        return furthest(refusal for refusal in (of_pools, at_node) if refusal is not None)

    def _nearest_existing_nodes(self, spec: PodSpec) -> tuple[ExistingNode, ...]:
        if self._near is None:
            self._near = NearestExistingNodes(self._remainder.existing_nodes)
        return self._near.nearest(spec, self._effort.existing_nodes)

    def _cordoned_existing_nodes(self, pod: Pod) -> tuple[ExistingNode, ...]:
        """Return the nearest cordoned nodes, of those that only topology terms could keep a pod off."""
        if self._near_cordoned is None:
            self._near_cordoned = NearestExistingNodes(
                [opened(r) for r in self._remainder.existing_nodes if r.cordoned]
            )
        # As if they were open: a cordoned node that would be full, or tainted otherwise, is not worth
        # opening.
        near = self._near_cordoned.nearest(pod.spec, self._effort.cordoned)
        volumes = self._remainder.volumes(pod)
        names = [node.name for node in near if against(pod.spec, volumes, node) is None]
        return tuple(node for node in self._remainder.existing_nodes if node.name in names)

    def _remedy(
        self, group: RefusedClass, pods: tuple[Pod, ...], existing_nodes: tuple[ExistingNode, ...]
    ) -> Remedy | None:
        """Look for a change that would place all pods, or else for one that would place one of them."""
        pools = (_pools(group.refusals) or tuple(self._remainder.offers))[: self._effort.pools]
        # Few pools are tried, those that came furthest, for each try packs once. A spread needs them all.
        if pods[0].spec.spread:
            # Each has domains of its own, in which a spread counts pods.
            pools = tuple(self._remainder.offers)
        refusals = [r for r in group.refusals if not r.pool or r.pool in pools]
        # Pods that depend on each other are placed by turns, which takes a step for each of them.
        everybody = pods[: self._effort.together if _depend(pods[0].spec) else self._effort.pods]
        cordoned = self._cordoned_existing_nodes(pods[0])
        existing_nodes = (*existing_nodes, *cordoned)
        others = self._others(pods[0].spec, existing_nodes)
        for some, tries in self._shares(pods, everybody):
            problem = self._remainder.problem(some, pools, (*existing_nodes, *others))
            together = bool(pods[0].spec.spread)
            search = Search(problem, self._pack, self._tries.part(tries), together=together)
            found = search.best(refusals, map(uncordon, cordoned))
            # What places the refused may take the place of others when all is decided again: only limits can
            # do that, for they are shared by all.
            steps = self._anew.holding(found.steps, some) if found is not None else None
            if found is not None and steps is not None:
                on = (_node_of(node) for node in existing_nodes if node.name == found.existing_node)
                changes = tuple(step.change for step in steps)
                return Remedy(changes, for_all=some is everybody, node=next(on, ""))
        return None

    def _shares(
        self, pods: tuple[Pod, ...], everybody: tuple[Pod, ...]
    ) -> Iterable[tuple[tuple[Pod, ...], int]]:
        """Yield which pods to try, with how many tries: all of them first, and one alone at last."""
        # Advice for all of a class is worth more than advice for one of it, and is looked for with most of
        # the tries.
        if len(pods) == 1:
            return ((everybody, self._effort.tries),)
        for_one = self._effort.tries // _FOR_ONE
        return ((everybody, self._effort.tries - for_one), (pods[:1], for_one))

    def _others(self, spec: PodSpec, existing_nodes: tuple[ExistingNode, ...]) -> tuple[ExistingNode, ...]:
        """Return stand-ins for the nodes that are not tried, whose residents count in topology terms."""
        if self._bystanders is None:
            self._bystanders = Bystanders(self._remainder.existing_nodes)
        return self._bystanders.without(existing_nodes, spec)


def _node_of(existing_node: ExistingNode) -> str:
    """Return the name of a node, or of its claim where it is still on its way."""
    return existing_node.labels.get(labels.NODE_NAME, existing_node.name)


def _depend(spec: PodSpec) -> bool:
    return bool(spec.spread or spec.pod_affinity or spec.host_ports)


def _pools(refusals: Sequence[Refusal]) -> tuple[str, ...]:
    """Return pools in the order to try them: one for each different thing that failed, the furthest first."""
    # Ten pools that refuse for one taint need one try, not ten: the first of each different reason goes
    # first.
    furthest = sorted((r for r in refusals if r.pool), key=lambda r: -r.progress)
    first: dict[tuple[str, str], Refusal] = {}
    for refusal in furthest:
        first.setdefault((refusal.reason, refusal.values.about), refusal)
    return tuple(dict.fromkeys(r.pool for r in (*first.values(), *furthest)))
