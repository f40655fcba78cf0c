"""Packing pods one by one, in Karpenter's order, so that the pods Karpenter places are placed here too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.one_by_one.domains import ClaimPlace, Domains
from treenail.domain.packing.one_by_one.open_claims import ClaimPods, OpenClaim, OpenClaims
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import Placement, PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.rules import Rules
from treenail.domain.packing.pods.terms import TermKind
from treenail.domain.packing.topology.choices import DomainChoice
from treenail.domain.packing.topology.class_constraints import RelaxedClass


@dataclass(slots=True)
class _PodRun:
    """Pods of one class that stand together in the queue."""

    one: PodClass
    pods: int


class OneByOne:
    """Places pod after pod: on an existing node, on the open claim with the fewest pods, or on a new one.

    The order is Karpenter's: the most cpu first. Pods that nothing takes are tried again after all others.
    When a round places nobody, pods may use what Karpenter's caution about limits left, and may give up
    preferences in ways that it never tries.
    """

    def __init__(self, context: PackingContext, existing: ExistingPlacement, outcome: Outcome) -> None:
        self._existing = existing
        self._option_order = context.option_order
        self._choices = context.choices
        self._constraint_reader = context.constraint_reader
        self._outcome = outcome
        self._steps = context.steps
        self._numbers = numbering()
        domains = Domains(context.option_order, context.parsed.demands, context.universe)
        self._open = OpenClaims(context.option_order, domains, context.constraint_reader.terms)

    @property
    def remaining_limits(self) -> RemainingLimits:
        """The remainder of limits after the claims, each counted with the type it would be."""
        return self._open.remaining_limits

    def place(self, classes: Sequence[PodClass], failed: Callable[[int, Exception], None]) -> None:
        """ClaimPlace the pods of `classes`, those of negative priority after all others.

        A class (by index) on which that fails is told to `failed`, and goes no further.
        """
        real = [one for one in classes if one.spec.priority >= 0]
        rest = [one for one in classes if one.spec.priority < 0]
        # Placeholders come last: they hold room that real pods may take from them.
        for some in (real, rest):
            # First exactly as Karpenter does, so that nobody it places is left. Then with our own freedom,
            # which can only add pods: what is placed stays.
            self._turns(some, lambda one: one.relaxation.classic, failed)
            self._open.be_bold()
            # Claims that keep other pods out of several domains decide on one now: that opens the others to
            # pods that still wait.
            self._open.settle(lambda some, sign: self._note(some.relaxed, some, sign * some.pods))
            self._turns(some, lambda one: one.relaxation.levels, failed)

    def _turns(
        self,
        classes: Sequence[PodClass],
        levels: Callable[[PodClass], Sequence[RelaxationLevel]],
        failed: Callable[[int, Exception], None],
    ) -> None:
        # Ends as Karpenter's queue does, after a whole round without progress: one pod may open the way for
        # another that failed before it.
        runs = self._queue(classes)
        bad: set[int] = set()
        while runs and not self._steps.exhausted:
            placed = 0
            for run in runs:
                # A class that fails must not stop the others. What it has placed so far stands.
                if run.one.index in bad:
                    run.pods = 0
                    continue
                try:
                    placed += self._place(run, levels(run.one))
                except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
                    bad.add(run.one.index)
                    failed(run.one.index, error)
            runs = [run for run in runs if run.pods]
            if not placed:
                return

    def _queue(self, classes: Sequence[PodClass]) -> list[_PodRun]:
        # Karpenter's order: cpu, memory, age, uid. The youngest of a class are those without a place, for the
        # oldest are named first when the plan is written.
        waiting = [
            (-one.requests[0], -one.requests[1], pod.created_at, pod.uid, one.index)
            for one in classes
            for pod in one.pods[len(one.pods) - self._outcome.waiting(one.index) :]
        ]
        by_index = {one.index: one for one in classes}
        # Neighbours of one class are a run: their place is looked for once where they do not depend on each
        # other. Pods of equal size and different classes still alternate by age, as in Karpenter.
        ordered = groupby(sorted(waiting), key=lambda each: each[-1])
        return [_PodRun(by_index[index], sum(1 for _ in members)) for index, members in ordered]

    def _place(self, run: _PodRun, levels: Sequence[RelaxationLevel]) -> int:
        """ClaimPlace pods of a run until one finds nothing; return how many found a place."""
        before = run.pods
        while run.pods and not self._steps.exhausted:
            # Each pod begins again at the first level: a preference that one had to give up the next may
            # still get.
            taken = next((pods for level in levels if (pods := self._tried(run, level))), 0)
            if not taken:
                break
            run.pods -= taken
        return before - run.pods

    def _tried(self, run: _PodRun, level: RelaxationLevel) -> int:
        """ClaimPlace one pod as it asks at a level, or several that do not depend on each other.

        Return how many were placed.
        """
        self._steps.spend()
        one = run.one
        relaxed = self._constraint_reader.relaxed(one, level)
        # The first node that takes the pod now. Its domain may be full for the next one.
        if relaxed.constraints.depends:
            if self._existing.first(relaxed):
                return 1
        # Nothing given up yet, so all pods of the run would do the same: they are placed at once. At a later
        # level each must try the first one again before it gives up what this one did.
        elif level is one.relaxation.levels[0] and (placed := self._existing.placement(relaxed, run.pods)):
            return placed
        elif self._existing.placement(relaxed, 1):
            return 1
        place = self._open.join(relaxed) or self._open.open(relaxed)
        if place is None:
            return 0
        self._outcome.plan(one.index, 1, relaxed.constraints.given_up)
        self._note(relaxed, place, 1)
        return 1

    def _note(self, relaxed: RelaxedClass, where: ClaimPlace | ClaimPods, pods: int) -> None:
        """Count so many pods more in the domains of their claim; fewer where negative.

        A claim that is open to several domains counts in all of them, but only for terms that keep apart.
        """
        choice, constraints = self._choice(where.demand), relaxed.constraints
        constraints.note_new(choice, pods)
        for key, values in where.open:
            # Recorded as Karpenter records it: anti-affinity in every domain that is still possible, anything
            # else only in a domain that is certain.
            for value in () if key in choice.known else values:
                for group in constraints.counted:
                    if group.term.key == key and group.term.kind is TermKind.APART:
                        group.count(value, pods)
                for group in constraints.apart:
                    if group.term.key == key:
                        group.own(value, pods)

    def _choice(self, demand: Demand) -> DomainChoice:
        (choice,) = self._choices.of(demand)
        return choice

    def planned(self) -> tuple[list[PodGroup], list[PlannedNode]]:
        """Return the pods on the claims as pod groups, and the claims as planned nodes for these."""
        by_key: dict[tuple[int, Demand, Rules], PodGroup] = {}
        pod_groups: list[PodGroup] = []
        planned_nodes = []
        for number, claim in enumerate(self._open.claims):
            parts: dict[int, int] = {}
            # Looking for cheaper nodes may split a claim. Pods that must share a node then travel as one
            # unit.
            if any(pods.relaxed.constraints.together for pods in claim.held.values()):
                pod_groups.append(self._bundle(number, claim))
                parts[pod_groups[-1].index] = 1
            else:
                for pods in claim.held.values():
                    pod_group = self._pod_group(by_key, pod_groups, pods)
                    parts[pod_group.index] = parts.get(pod_group.index, 0) + pods.pods
            planned_nodes.append(PlannedNode(claim.option, claim.row, claim.load, parts))
        return pod_groups, planned_nodes

    def _pod_group(
        self, by_key: dict[tuple[int, Demand, Rules], PodGroup], pod_groups: list[PodGroup], pods: ClaimPods
    ) -> PodGroup:
        (one, _, constraints), demand = pods.relaxed, pods.demand
        # Pods that ask for the same are one group, whatever class they are of: the planner's work grows with
        # groups.
        key = (self._numbers[one.requests], demand, constraints.rules)
        if key not in by_key:
            asked = ((demand,),)
            options_in_order = self._option_order.of(asked, one.requests)
            by_key[key] = PodGroup(len(by_key), one.requests, asked, options_in_order, constraints.rules)
            pod_groups.append(by_key[key])
        placement = Placement(pods.relaxed, self._choice(demand))
        by_key[key].add(placement, pods.pods, next(self._existing.numbers))
        return by_key[key]

    def _bundle(self, number: int, claim: OpenClaim) -> PodGroup:
        """Return all pods on a claim as a group of one unit, for some of them must share a node."""
        demands = (tuple(dict.fromkeys(pods.demand for pods in claim.held.values())),)
        options_in_order = self._option_order.of(demands, claim.load)
        pod_group = PodGroup(-1 - number, claim.load, demands, options_in_order, claim.colocated.rules)
        pod_group.members = [(pods.relaxed, pods.pods) for pods in claim.held.values()]
        for (one, _, _), pods in pod_group.members:
            pod_group.bundle[one.index] = pod_group.bundle.get(one.index, 0) + pods
        return pod_group
