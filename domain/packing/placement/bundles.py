"""Bundles: pods that must share a node, put together before nodes are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, count_fitting, holds
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.node_rules import ColocatedPods, most_joining
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.terms import Term
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.topology.choices import DomainChoice, DomainChoices
from treenail.domain.packing.topology.class_constraints import RelaxedClass
from treenail.domain.packing.topology.universe import Universe


@dataclass(slots=True, eq=False)
class Bundle:
    """Pods that share one node: to node planning they are a single large unit.

    `load` (R) is what they request together, `demands` what they all ask of the node, `choice` its domains.
    `parts` is how many pods of which class (by index) there are, `colocated` what terms per node count.
    `placements` are kept so that all of it can be taken back. `number` is negative, and the group's index.
    """

    load: Floats
    demands: tuple[Demand, ...]
    choice: DomainChoice
    number: int = 0
    parts: dict[int, int] = field(default_factory=dict)
    colocated: ColocatedPods = field(default_factory=ColocatedPods)
    placements: list[tuple[RelaxedClass, int]] = field(default_factory=list)

    @classmethod
    def empty(cls, one: PodClass, choice: DomainChoice) -> Bundle:
        """Return a bundle in the domains of `choice`, which pods of a class are to begin."""
        return cls(np.zeros_like(one.requests), (choice.demand,), choice)

    def has(self, group: TopologyGroup) -> bool:
        """Return whether the group counts some pod of the bundle."""
        return bool(self.colocated.counted.get(group.index))

    def gather(self, relaxed: RelaxedClass, pods: int) -> None:
        """Put pods of a class into the bundle."""
        one = relaxed.one
        self.load = self.load + pods * one.requests
        self.parts[one.index] = self.parts.get(one.index, 0) + pods
        self.colocated.count(relaxed.constraints, pods)
        self.placements.append((relaxed, pods))


class Bundles:
    """Places pods with affinity per node: on existing nodes, or gathered in bundles for new ones."""

    def __init__(
        self,
        existing_nodes: ExistingPlacement,
        option_order: OptionOrder,
        choices: DomainChoices,
        universe: Universe,
        outcome: Outcome,
        terms: Mapping[int, Term],
    ) -> None:
        self._existing_nodes = existing_nodes
        self._option_order = option_order
        self._choices = choices
        self._universe = universe
        self._outcome = outcome
        self._terms = terms
        self._bundles: list[Bundle] = []
        self._opened = 0
        self._of_pod_group: dict[int, Bundle] = {}
        self._spent: set[tuple[int, RelaxationLevel]] = set()

    def placement(self, relaxed: RelaxedClass, pods: int, alone: Mapping[int, PodGroup] | None) -> None:
        """Place pods with the pods they must share a node with.

        `alone` are the pod groups that have no bundle, by index: a pod of one may be what these pods must be
        with. Without it, only existing nodes are tried.
        """
        # Existing nodes first, as everywhere: they cost nothing.
        placed = self._existing_nodes.together(relaxed, pods, begin=False)
        # A bundle of this class got no node before. It is not tried again: the next round would fail the same
        # way.
        if (relaxed.one.index, relaxed.level) in self._spent:
            alone = None
        if alone is not None and placed < pods:
            placed += self._join(relaxed, pods - placed)
            # Only when no bundle takes more is another one begun around a pod that was on its way to any
            # node.
            while placed < pods and self._carve(relaxed, alone):
                joined = self._join(relaxed, pods - placed)
                placed += joined
                # The new bundle holds the pod it was made around and none of these: another would be no
                # better.
                if not joined:
                    break
        if not placed and relaxed.constraints.may_begin:
            self._begin(relaxed, pods, buying=alone is not None)

    def _carve(self, relaxed: RelaxedClass, alone: Mapping[int, PodGroup]) -> bool:
        """Turn one pod of a pod group into a bundle that others can join; return whether there was one.

        The pod is of a class that these pods must share a node with, and had no need of a certain node.
        """
        wanted = [r.group for r in relaxed.constraints.together]
        for pod_group in alone.values():
            for placed_pods in pod_group.waiting:
                placement = placed_pods.placement
                if all(group in placement.one.counted for group in wanted):
                    demands = pod_group.alternatives[pod_group.options_in_order[0].alternative]
                    # Only when one of the others fits beside it does the pod leave its group.
                    bundle = Bundle(np.zeros_like(placement.one.requests), demands, placement.choice)
                    bundle.gather(placement.relaxed, 1)
                    fits, joined = self._best_way(relaxed, bundle, 1)
                    if fits:
                        pod_group.remove(placed_pods, 1)
                        _become(bundle, joined)
                        self._open(bundle)
                        return True
        return False

    def pod_groups(self) -> list[PodGroup]:
        """Return the bundles as pod groups of one unit each, with indices from -1 down."""
        # Made anew in each round, for bundles may have grown. Negative numbers never meet those of other
        # groups.
        self._of_pod_group = {}
        made: list[PodGroup] = []
        for bundle in self._bundles:
            demands = (bundle.demands,)
            options_in_order = self._option_order.of(demands, bundle.load)
            pod_group = PodGroup(
                bundle.number, bundle.load, demands, options_in_order, bundle.colocated.rules
            )
            pod_group.bundle = dict(bundle.parts)
            pod_group.members = bundle.placements
            self._of_pod_group[pod_group.index] = bundle
            made.append(pod_group)
        return made

    def _open(self, bundle: Bundle) -> None:
        self._opened += 1
        bundle.number = -self._opened
        self._bundles.append(bundle)

    def take_back(self, pod_group: PodGroup) -> None:
        """Dissolve a bundle that got no node: its pods are to be placed anew."""
        # Whole, though part of it might fit a smaller node: which part is for the next round, when limits are
        # known.
        bundle = self._of_pod_group[pod_group.index]
        pod_group.bundle = {}
        self._bundles.remove(bundle)
        for (one, level, constraints), pods in bundle.placements:
            self._outcome.plan(one.index, -pods, constraints.given_up)
            constraints.note_new(bundle.choice, -pods)
            self._spent.add((one.index, level))

    def _begin(self, relaxed: RelaxedClass, pods: int, *, buying: bool) -> None:
        (one, level, constraints), best, most = relaxed, None, 0
        # The domain of a new bundle is one where the most of them fit on one node, the cheapest of equal
        # ones: begun too small, the rest of the class has nowhere to go, for no second node may be begun.
        choices = self._choices.of(level.demand, constraints.asked) if buying else ()
        for choice in sorted(choices, key=lambda choice: self._choices.price(choice, one.requests)):
            # On an empty node: who begins decides for all, so the domain that takes most goes first.
            fits = self._fit(relaxed, Bundle.empty(one, choice), pods)
            if fits > most:
                best, most = choice, fits
        # An existing node that holds as many costs nothing. One that holds fewer loses to a new node.
        if self._existing_nodes.most_in_one(relaxed, pods) >= max(most, 1):
            self._existing_nodes.together(relaxed, pods, begin=True)
        elif best is not None:
            bundle = Bundle.empty(one, best)
            self._open(bundle)
            self._put(relaxed, bundle, most)

    def _join(self, relaxed: RelaxedClass, pods: int) -> int:
        placed = 0
        for bundle in self._bundles:
            # In the order of their making: bundles that have all pods these must be with.
            if placed < pods and all(bundle.has(r.group) for r in relaxed.constraints.together):
                fits, joined = self._best_way(relaxed, bundle, pods - placed)
                if fits:
                    _become(bundle, joined)
                    self._put(relaxed, bundle, fits)
                    placed += fits
        return placed

    def _best_way(self, relaxed: RelaxedClass, bundle: Bundle, pods: int) -> tuple[int, Bundle]:
        """Return how many of `pods` pods may join a bundle, and the bundle with them.

        If the pods ask for a domain that the bundle leaves open, it is pinned to the domain that takes most
        of them.
        """
        demand, asked = relaxed.level.demand, relaxed.constraints.asked
        # Its domains are known already: joining changes the demands alone.
        if all(key in bundle.choice.known for key in asked.keys):
            ways = [_joined(bundle, demand, bundle.choice)]
        else:
            ways = [
                _joined(bundle, choice.demand, _both(bundle.choice, choice))
                for choice in self._choices.of(demand, asked)
                if _agree(bundle.choice, choice)
            ]
        found = [(self._fit(relaxed, way, pods), way) for way in ways]
        # Of equal ways the first: choices have the same order each time.
        return max(found, key=lambda each: each[0], default=(0, bundle))

    def _fit(self, relaxed: RelaxedClass, bundle: Bundle, pods: int) -> int:
        """Return how many of `pods` pods may join a bundle: by quota, by terms per node, and by room."""
        one, _, constraints = relaxed
        quota = (
            min(constraints.quota(bundle.choice.known, self._universe), pods)
            if constraints.by_domain
            else pods
        )
        quota = min(quota, most_joining(bundle.colocated, constraints.rules, self._terms))
        # Any node option will do, of whichever pool: the planner chooses among those that hold the whole
        # bundle. The largest types suffice, for what fits in any fits in one of these.
        most = 0.0
        for option in self._option_order.affordable_for(*bundle.demands):
            free = option.largest - bundle.load
            # A type that does not hold what is in the bundle already has negative room in some resource.
            fits = np.where(holds(free, np.zeros_like(bundle.load)), count_fitting(free, one.requests), 0.0)
            most = max(most, float(fits.max(initial=0.0)))
        return int(max(min(quota, most), 0))

    def _put(self, relaxed: RelaxedClass, bundle: Bundle, pods: int) -> None:
        bundle.gather(relaxed, pods)
        self._outcome.plan(relaxed.one.index, pods, relaxed.constraints.given_up)
        relaxed.constraints.note_new(bundle.choice, pods)


def _joined(bundle: Bundle, demand: Demand, choice: DomainChoice) -> Bundle:
    """Return a copy of a bundle as it would be with others that ask for `demand` on it."""
    return replace(bundle, demands=tuple(dict.fromkeys((*bundle.demands, demand))), choice=choice)


def _agree(one: DomainChoice, other: DomainChoice) -> bool:
    return all(other.known.get(key, value) == value for key, value in one.known.items())


def _both(one: DomainChoice, other: DomainChoice) -> DomainChoice:
    """Return the choice of nodes that are in the domains of both. The two agree."""
    asked = one.requirements.with_(other.requirements)
    return replace(one, requirements=asked, known={**one.known, **other.known})


def _become(bundle: Bundle, to: Bundle) -> None:
    """Give a bundle the demands and the domains of `to`, and move the counts of its pods there."""
    bundle.demands = to.demands
    if to.choice is bundle.choice:
        return
    # Those in it were counted while the domain was open, which is nowhere. Counted again, others see them.
    for relaxed, pods in bundle.placements:
        relaxed.constraints.note_new(bundle.choice, -pods)
        relaxed.constraints.note_new(to.choice, pods)
    bundle.choice = to.choice
