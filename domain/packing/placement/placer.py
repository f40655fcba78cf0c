"""The placer: decides for each pod class which existing nodes, or which domains of new nodes, it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.placement.bundles import Bundles
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.planned.pod_groups import PlacedPods, Placement, PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import Relaxation, RelaxationLevel
from treenail.domain.packing.pods.terms import TermKind
from treenail.domain.packing.topology.choices import DomainChoice, DomainChoices
from treenail.domain.packing.topology.class_constraints import (
    ConstraintReader,
    RelaxedClass,
    TopologyConstraints,
)
from treenail.domain.packing.topology.spread_and_affinity_quotas import Restriction
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True)
class _Relying:
    """Placed pods that may depend on others.

    `number` is their place in the order of placements. `count` counts so many of them in their domain,
    `quota` returns how many may be there, and `leave` takes so many away.
    """

    number: int
    pods: int
    count: Callable[[int], None]
    quota: Callable[[], float]
    leave: Callable[[int], None]


class Placer:
    """Places one pod class after the other, level by level: on existing nodes first, then on new ones.

    The pods for new nodes are gathered as `pod_groups`. Only their domain is chosen here: which nodes they
    get is planned later for all groups together, for a node is best chosen with everybody in view.
    """

    def __init__(
        self,
        existing_nodes: ExistingPlacement,
        option_order: OptionOrder,
        choices: DomainChoices,
        constraint_reader: ConstraintReader,
        universe: Universe,
        outcome: Outcome,
    ) -> None:
        self._existing_nodes = existing_nodes
        self._option_order = option_order
        self._choices = choices
        self._constraint_reader = constraint_reader
        self._universe = universe
        self._outcome = outcome
        # How many pods of a class, at a level, a choice of domains has, and how many it can have at most. The
        # latter is only known after nodes were planned: limits, counted for all groups, left no more.
        self._held: dict[tuple[int, RelaxationLevel, int], int] = {}
        self._most: dict[tuple[int, RelaxationLevel, int], int] = {}
        self._free: dict[tuple[Relaxation, int], tuple[tuple[Demand, ...], ...]] = {}
        self._by_key: dict[tuple[int, tuple[tuple[Demand, ...], ...], int], PodGroup] = {}
        self._numbers = numbering()
        self._listed: dict[int, PodGroup] = {}
        self._late_placement = False
        self._placed_late: list[tuple[PodGroup, int]] = []
        self.bundles = Bundles(
            existing_nodes, option_order, choices, universe, outcome, constraint_reader.terms
        )

    @property
    def pod_groups(self) -> list[PodGroup]:
        """The pod groups that wait for new nodes, bundles included."""
        pod_groups = [pod_group for pod_group in self._listed.values() if pod_group.waiting]
        return pod_groups + self.bundles.pod_groups()

    def placement(self, one: PodClass) -> None:
        """Place as many pods of a class as can be placed now."""
        for number, level in enumerate(one.relaxation.levels):
            left = self._outcome.waiting(one.index)
            # A late placement is checked before the next one is made: its result decides what is left for
            # others.
            if not left or self._placed_late:
                break
            relaxed = self._constraint_reader.relaxed(one, level)
            constraints = relaxed.constraints
            # Three ways, the most bound first. Who must share a node is bundled. Who asks for domains takes
            # existing and new nodes by turns. For all others existing nodes are simply filled first.
            if constraints.together:
                alone = None if self._late_placement else self._listed
                self.bundles.placement(relaxed, left, alone)
            elif constraints.by_domain:
                self._by_turns(relaxed, left)
            else:
                left -= self._existing_nodes.placement(relaxed, left)
                # Still at this level: a new node is worth more than giving up a preference, as in Karpenter.
                if left:
                    self._open(relaxed, number, left)

    def take_back(self, pod_group: PodGroup, units: int) -> None:
        """Take back so many units of a pod group that got no node: their pods are to be placed elsewhere."""
        if pod_group.bundle:
            self.bundles.take_back(pod_group)
            return
        for placement, pods in pod_group.take_last(units):
            # Uncounted and capped: the class may not ask for this choice again, or it would be chosen for
            # ever. Each round closes a choice at least, which is why rounds end.
            self._leave(placement, pods)
            self._cap(placement)
            if not self._late_placement and any(
                r.owned and r.group.term.kind is TermKind.SPREAD for r in placement.constraints.by_domain
            ):
                # The even spread of the pods in other domains relied on these: all are spread anew.
                self._empty(placement)

    def undo_dependants(self) -> bool:
        """Take back pods that relied on pods without a node after all; return whether there are any.

        All pods on new nodes, and those on existing nodes that rely on others, are counted anew in the order
        of their placement, over and over until a round adds none. Pods that are not counted then have lost
        the pods that they relied on.
        """
        # A fixed point from below: first no pod counts, then every pod that is allowed by those that count.
        # To start from all and strike out would keep two classes that rely only on each other.
        relying = [*self._on_new_nodes(), *self._on_existing_nodes()]
        relying.sort(key=lambda one: one.number)
        # All are out before the first is let in again, for what each counts changes the quota of the others.
        for one in relying:
            one.count(-one.pods)
        left = [one.pods for one in relying]
        before = -1
        while before != sum(left):
            before = sum(left)
            for at, one in enumerate(relying):
                # Part of them may do: the quota of a spread grows as other domains fill.
                pods = int(min(left[at], one.quota())) if left[at] else 0
                if pods:
                    one.count(pods)
                    left[at] -= pods
        for one, pods in zip(relying, left, strict=True):
            if pods:
                one.leave(pods)
        return before > 0

    def _on_new_nodes(self) -> Iterator[_Relying]:
        for pod_group in self._listed.values():
            for placed_pods in pod_group.waiting:
                constraints, choice = placed_pods.placement.constraints, placed_pods.placement.choice
                yield _Relying(
                    placed_pods.number,
                    placed_pods.pods,
                    partial(constraints.note_new, choice),
                    partial(constraints.quota, choice.known, self._universe),
                    partial(self._remove, placed_pods, pod_group),
                )

    # Pods on existing nodes rely on new nodes just as well: near a pod whose node was not bought, they must
    # leave.
    def _on_existing_nodes(self) -> Iterator[_Relying]:
        existing = self._existing_nodes
        for some in existing.relying:
            yield _Relying(
                some.number,
                some.pods,
                partial(existing.count, some),
                partial(existing.may_stay, some),
                partial(existing.vacate, some),
            )

    def _remove(self, placed_pods: PlacedPods, pod_group: PodGroup, pods: int) -> None:
        self._note(placed_pods.placement, -pods)
        pod_group.remove(placed_pods, pods)

    def _note(self, placement: Placement, pods: int) -> None:
        """Count so many more pods of a placement as planned; fewer where negative."""
        self._held[placement.key] = self._held.get(placement.key, 0) + pods
        self._outcome.plan(placement.one.index, pods, placement.constraints.given_up)

    def place_late(self) -> None:
        """From now on, take every choice for open again, and place pods one at a time.

        Limits are used up by then. What is left is room on planned nodes, which no cap knows of.
        """
        self._most.clear()
        self._late_placement = True

    def placed_late(self) -> list[tuple[PodGroup, int]]:
        """Return the pod groups that were joined since the last call, and with how many units."""
        found, self._placed_late = self._placed_late, []
        return found

    def _leave(self, placement: Placement, pods: int) -> None:
        placement.constraints.note_new(placement.choice, -pods)
        self._note(placement, -pods)

    def _cap(self, placement: Placement) -> None:
        """Cap a choice: the class may have no more of it than it has now."""
        # A class without terms was given all the levels that were left at once: all of them have failed.
        own, levels = placement.relaxed.level, placement.one.relaxation.levels
        for level in levels if placement.constraints.free else (own,):
            key = (placement.one.index, level, placement.choice.number)
            self._most[key] = self._held.get(key, 0)

    def _empty(self, placement: Placement) -> None:
        for pod_group in self._listed.values():
            for placed_pods in tuple(pod_group.waiting):
                if placed_pods.placement.one is placement.one and placed_pods.placement.constraints.by_domain:
                    pods = placed_pods.pods
                    pod_group.remove(placed_pods, pods)
                    self._leave(placed_pods.placement, pods)

    def _left_in(self, relaxed: RelaxedClass, choice: DomainChoice) -> float:
        """Return how many more pods of the class the choice may have."""
        key = (relaxed.one.index, relaxed.level, choice.number)
        return self._most.get(key, inf) - self._held.get(key, 0)

    def _by_turns(self, relaxed: RelaxedClass, left: int) -> None:
        """Fill existing nodes and new ones by turns: a pod in one domain may open another."""
        bought_in = self._bought_in(relaxed) if relaxed.constraints.gathers else ()
        while left:
            # A spread lets existing nodes take one more only when the emptiest domain has grown, and that may
            # be a domain in which nothing is left but to buy.
            placed = self._existing_nodes.placement(relaxed, left, bought_in)
            if not placed:
                placed = self._choose(relaxed, left)
            if not placed or self._late_placement:
                return
            left -= placed

    def _bought_in(self, relaxed: RelaxedClass) -> list[Mapping[str, str]]:
        """Return the domains in which no limit keeps a class from having new nodes for all its pods."""
        one, level, constraints = relaxed
        choices = self._choices.by_price(level.demand, constraints.asked, one.requests, unlimited_first=True)
        return [choice.known for choice in choices if not self._choices.limited(choice, one.requests)]

    def _open(self, relaxed: RelaxedClass, number: int, left: int) -> None:
        if relaxed.constraints.free:
            self._open_freely(relaxed, number, left)
        else:
            self._choose(relaxed, left)

    def _open_freely(self, relaxed: RelaxedClass, number: int, left: int) -> None:
        """Give pods without terms whichever new node this level, or a later one, leads to.

        All levels from `number` on go into one pod group as alternatives: the planner tries them in order.
        """
        one, level, constraints = relaxed
        # Made once, so that equal alternatives are one object: many classes share a relaxation.
        key = (one.relaxation, number)
        if key not in self._free:
            self._free[key] = tuple((level.demand,) for level in one.relaxation.levels[number:])
        pod_group = self._pod_group(relaxed, self._free[key])
        # Only where this very level has a new node. Otherwise its preference falls first, and existing nodes
        # are tried without it before anything is bought.
        if pod_group.options_in_order and pod_group.options_in_order[0].alternative == 0:
            (anywhere,) = self._choices.of(level.demand)
            pods = int(min(left, self._left_in(relaxed, anywhere)))
            if pods > 0:
                self._add(pod_group, Placement(relaxed, anywhere), pods)
                constraints.note_new(anywhere, pods)

    def _choose(self, relaxed: RelaxedClass, left: int) -> int:
        """Choose domains for pods that get new nodes; return for how many it was possible."""
        one, level, constraints = relaxed
        # The order decides where domains are equally crowded: the cheapest first. Pods that gather prefer
        # domains without limits, where there is a place for all of them.
        in_order = self._choices.by_price(
            level.demand, constraints.asked, one.requests, unlimited_first=constraints.gathers
        )
        choices: Sequence[DomainChoice] = in_order
        # No cap is known in the first round, so nothing is filtered then.
        if self._most:
            choices = [choice for choice in in_order if self._left_in(relaxed, choice) > 0]
        if not choices:
            return 0
        if constraints.sole_spread is not None:
            return self._spread(relaxed, constraints.sole_spread, choices, left)
        # As the scheduler would: the domain with the fewest pods. Without terms by domain it is the cheapest.
        best, most = self._least_crowded(constraints, choices) if constraints.by_domain else (0, inf)
        if not most:
            return 0
        chosen = choices[best]
        # One at a time where the next pod may belong elsewhere. Pods that only gather or keep apart go by
        # their quota.
        if self._late_placement or constraints.spreads:
            most = min(most, 1.0)
        pods = int(min(left, most, self._left_in(relaxed, chosen)))
        self._take(relaxed, chosen, pods)
        return pods

    def _least_crowded(
        self, constraints: TopologyConstraints, choices: Sequence[DomainChoice]
    ) -> tuple[int, float]:
        """Return the least crowded choice that may have more pods, and how many more: 0 if there is none."""
        domains = [choice.known for choice in choices]
        quotas = constraints.quotas(domains, self._universe)
        # Equally crowded choices go by their order, which is by price.
        ranked = [(constraints.crowding(domains[at]), at) for at, quota in enumerate(quotas) if quota]
        if not ranked:
            return 0, 0.0
        best = min(ranked)[1]
        return best, quotas[best]

    def _spread(
        self, relaxed: RelaxedClass, spread: Restriction, choices: Sequence[DomainChoice], left: int
    ) -> int:
        """Spread pods over the domains of new nodes, as evenly as caps allow; return how many were placed."""
        domains = [choice.known[spread.group.term.key] for choice in choices]
        pods = left
        if self._late_placement:
            pods = 1
        elif self._existing_nodes.any_left(relaxed):
            # One more for each of the emptiest domains, and then existing nodes are asked again: in the other
            # domains they may take pods that would be bought nodes for otherwise.
            held = spread.held(domains)
            pods = min(left, held.count(min(held)))
        fits = np.array([min(pods, self._left_in(relaxed, choice)) for choice in choices])
        dealt = spread.dealt(domains, fits, pods, self._universe, relaxed.constraints.strict)
        for choice, count in zip(choices, dealt, strict=True):
            if count:
                self._take(relaxed, choice, int(count))
        return int(dealt.sum())

    def _take(self, relaxed: RelaxedClass, choice: DomainChoice, pods: int) -> None:
        pod_group = self._pod_group(relaxed, ((choice.demand,),))
        self._add(pod_group, Placement(relaxed, choice), pods)
        relaxed.constraints.note_new(choice, pods)

    def _pod_group(self, relaxed: RelaxedClass, alternatives: tuple[tuple[Demand, ...], ...]) -> PodGroup:
        requests, rules = relaxed.one.requests, relaxed.constraints.rules
        # Equal requests are one object, interned by the parser, and so are equal rules, by the constraints
        # reader.
        key = (self._numbers[requests], alternatives, self._numbers[rules])
        pod_group = self._by_key.get(key)
        if pod_group is None:
            options_in_order = self._option_order.known(alternatives, requests)
            pod_group = self._by_key[key] = PodGroup(
                len(self._by_key), requests, alternatives, options_in_order, rules
            )
        return pod_group

    def _add(self, pod_group: PodGroup, placement: Placement, pods: int) -> None:
        self._listed[pod_group.index] = pod_group
        pod_group.add(placement, pods, next(self._existing_nodes.numbers))
        self._note(placement, pods)
        if self._late_placement:
            # The caller puts these on planned nodes at once, and takes them back if nothing holds them.
            self._placed_late.append((pod_group, pods))
