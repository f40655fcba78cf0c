"""Place pods one by one in the order Karpenter takes them, so that whoever it places is placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.offers.limits import RemainingLimits
from treenail.domain.packing.one_by_one.domains import Domains, Place
from treenail.domain.packing.one_by_one.open_claims import ClaimPods, OpenClaim, OpenClaims
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.planned.placements import Placement
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.rules import Rules
from treenail.domain.packing.pods.terms import Kind
from treenail.domain.packing.topology.choices import Choice
from treenail.domain.packing.topology.constraints import TopologyConstraints


@dataclass(slots=True)
class _Run:
    """Pods of one class that stand together in the queue."""

    one: PodClass
    pods: int


class OneByOne:
    """Puts pod after pod, the largest first, into the first room, the emptiest claim or a new one.

    Pods that nothing takes wait at the end of the queue. When nobody gets further, all take what limits
    leave beyond Karpenter's caution, and may give up wishes in ways that it never tries.
    """

    def __init__(self, context: PackingContext, rooms: ExistingPlacement, outcome: Outcome) -> None:
        self._rooms = rooms
        self._option_order = context.option_order
        self._choices = context.choices
        self._constraint_reader = context.constraint_reader
        self._outcome = outcome
        self._steps = context.steps
        domains = Domains(context.option_order, context.parsed.demands, context.universe)
        self._open = OpenClaims(context.option_order, domains, context.constraint_reader.terms)

    @property
    def remaining_limits(self) -> RemainingLimits:
        """What the claims take of limits, each counted with the type it would be."""
        return self._open.remaining_limits

    def place(self, classes: Sequence[PodClass], failed: Callable[[int, Exception], None]) -> None:
        """Place the pods of `classes`, those of negative priority after all others.

        A class (by index) on which that fails is told to `failed`, and goes no further.
        """
        real = [one for one in classes if one.spec.priority >= 0]
        rest = [one for one in classes if one.spec.priority < 0]
        for some in (real, rest):
            self._turns(some, lambda one: one.relaxation.classic, failed)
            self._open.be_bold()
            self._open.settle(lambda guest, sign: self._note(guest.constraints, guest, sign * guest.pods))
            self._turns(some, lambda one: one.relaxation.levels, failed)

    def _turns(
        self,
        classes: Sequence[PodClass],
        levels: Callable[[PodClass], Sequence[RelaxationLevel]],
        failed: Callable[[int, Exception], None],
    ) -> None:
        runs = self._queue(classes)
        bad: set[int] = set()
        while runs and not self._steps.exhausted:
            placed = 0
            for run in runs:
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

    def _queue(self, classes: Sequence[PodClass]) -> list[_Run]:
        waiting = [
            (-one.requests[0], -one.requests[1], pod.created_at, pod.uid, one.index)
            for one in classes
            for pod in one.pods[len(one.pods) - self._outcome.waiting(one.index) :]
        ]
        by_index = {one.index: one for one in classes}
        ordered = groupby(sorted(waiting), key=lambda each: each[-1])
        return [_Run(by_index[index], sum(1 for _ in members)) for index, members in ordered]

    def _place(self, run: _Run, levels: Sequence[RelaxationLevel]) -> int:
        """Place pods of a run until one finds nothing; return how many found a place."""
        before = run.pods
        while run.pods and not self._steps.exhausted:
            taken = next((pods for level in levels if (pods := self._tried(run, level))), 0)
            if not taken:
                break
            run.pods -= taken
        return before - run.pods

    def _tried(self, run: _Run, level: RelaxationLevel) -> int:
        """Place a pod as it asks at a rung, or several where they do not depend on each other."""
        self._steps.spend()
        one = run.one
        constraints = self._constraint_reader.of(one, level)
        if constraints.depends:
            if self._rooms.first(one, level, constraints):
                return 1
        elif level is one.relaxation.levels[0] and (
            placed := self._rooms.placement(one, level, constraints, run.pods)
        ):
            return placed
        elif self._rooms.placement(one, level, constraints, 1):
            return 1
        place = self._open.join(one, level, constraints) or self._open.open(one, level, constraints)
        if place is None:
            return 0
        self._outcome.seated(one.index, 1, constraints.given_up)
        self._note(constraints, place, 1)
        return 1

    def _note(self, constraints: TopologyConstraints, where: Place | ClaimPods, pods: int) -> None:
        """Count so many pods more where they are: those that keep others off, wherever their node may be."""
        choice = self._choice(where.demand)
        constraints.note_new(choice, pods)
        for key, values in where.open:
            for value in () if key in choice.known else values:
                for group in constraints.counted:
                    if group.term.key == key and group.term.kind is Kind.APART:
                        group.count(value, pods)
                for group in constraints.apart:
                    if group.term.key == key:
                        group.own(value, pods)

    def _choice(self, demand: Demand) -> Choice:
        (choice,) = self._choices.of(demand, (), ())
        return choice

    def planned(self) -> tuple[list[PodGroup], list[PlannedNode]]:
        """Return who is on the claims as lots, and the claims as nodes for these."""
        by_key: dict[tuple[int, Demand, Rules], PodGroup] = {}
        pod_groups: list[PodGroup] = []
        planned_nodes = []
        for number, claim in enumerate(self._open.claims):
            parts: dict[int, int] = {}
            if any(guest.constraints.together for guest in claim.guests.values()):
                pod_groups.append(self._bundle(number, claim))
                parts[pod_groups[-1].index] = 1
            else:
                for guest in claim.guests.values():
                    pod_group = self._pod_group(by_key, pod_groups, guest)
                    parts[pod_group.index] = parts.get(pod_group.index, 0) + guest.pods
            planned_nodes.append(PlannedNode(claim.option, claim.row, claim.load, parts))
        return pod_groups, planned_nodes

    def _pod_group(
        self, by_key: dict[tuple[int, Demand, Rules], PodGroup], pod_groups: list[PodGroup], guest: ClaimPods
    ) -> PodGroup:
        one, demand = guest.one, guest.demand
        key = (id(one.requests), demand, guest.constraints.rules)
        if key not in by_key:
            asked = ((demand,),)
            options_in_order = self._option_order.of(asked, one.requests)
            by_key[key] = PodGroup(
                len(by_key), one.requests, asked, options_in_order, guest.constraints.rules
            )
            pod_groups.append(by_key[key])
        placement = Placement(one, guest.level, guest.constraints, self._choice(demand))
        by_key[key].add(placement, guest.pods, next(self._rooms.numbers))
        return by_key[key]

    def _bundle(self, number: int, claim: OpenClaim) -> PodGroup:
        """Return all on a claim as one unit, for some of them must share a node with others."""
        demands = (tuple(dict.fromkeys(guest.demand for guest in claim.guests.values())),)
        owned = tuple(sorted(claim.colocated.owned))
        rules = Rules(owned, tuple(sorted(claim.colocated.counted.items())), owned)
        pod_group = PodGroup(
            -1 - number, claim.load, demands, self._option_order.of(demands, claim.load), rules
        )
        for guest in claim.guests.values():
            pod_group.bundle[guest.one.index] = pod_group.bundle.get(guest.one.index, 0) + guest.pods
        pod_group.members = [(g.one, g.level, g.constraints, g.pods) for g in claim.guests.values()]
        return pod_group
