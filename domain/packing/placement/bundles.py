"""Pods that must share a node with others, put together before nodes are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, count_fitting, holds
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OptionOrder, OrderedOption
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.node_rules import ColocatedPods, most_joining
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.groups import Group
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.rules import Rules
from treenail.domain.packing.pods.terms import Term
from treenail.domain.packing.topology.choices import Choice, Choices
from treenail.domain.packing.topology.constraints import TopologyConstraints
from treenail.domain.packing.topology.universe import Universe


@dataclass(slots=True, eq=False)
class Bundle:
    """Pods that share a node: how many of which class, what they ask for together, and where they may be."""

    load: Floats
    demands: tuple[Demand, ...]
    choice: Choice
    number: int = 0
    parts: dict[int, int] = field(default_factory=dict)
    colocated: ColocatedPods = field(default_factory=ColocatedPods)
    placements: list[tuple[PodClass, RelaxationLevel, TopologyConstraints, int]] = field(default_factory=list)

    def has(self, group: Group) -> bool:
        """Return whether the group counts some pod of the bundle."""
        return bool(self.colocated.counted.get(group.index))


class Bundles:
    """Gathers pods that must be together on new nodes, and finds their places in rooms."""

    def __init__(
        self,
        existing_nodes: ExistingPlacement,
        option_order: OptionOrder,
        choices: Choices,
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

    def placement(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        pods: int,
        alone: Mapping[int, PodGroup] | None,
    ) -> None:
        """Seat pods with those they must be with; in rooms only, unless told who is `alone`."""
        placed = self._existing_nodes.together(one, level, constraints, pods, begin=False)
        if (one.index, level) in self._spent:
            alone = None
        if alone is not None and placed < pods:
            placed += self._join(one, level, constraints, pods - placed)
            while placed < pods and self._carve(one, level, constraints, alone):
                joined = self._join(one, level, constraints, pods - placed)
                placed += joined
                if not joined:
                    break
        if not placed and constraints.may_begin:
            self._begin(one, level, constraints, pods, buying=alone is not None)

    def _carve(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        alone: Mapping[int, PodGroup],
    ) -> bool:
        """Make a bundle of a pod that was to go anywhere, for others to join it; tell if there was one."""
        wanted = [r.group for r in constraints.together]
        for pod_group in alone.values():
            for placed_pods in pod_group.waiting:
                placement = placed_pods.placement
                if all(group in placement.one.counted for group in wanted):
                    demands = pod_group.alternatives[pod_group.options_in_order[0].alternative]
                    bundle = Bundle(np.zeros_like(placement.one.requests), demands, placement.choice)
                    self._gather(placement.one, placement.level, placement.constraints, bundle, 1)
                    fits, joined = self._best_way(one, level, constraints, bundle, 1)
                    if fits:
                        pod_group.remove(placed_pods, 1)
                        _become(bundle, joined)
                        self._open(bundle)
                        return True
        return False

    def pod_groups(self) -> list[PodGroup]:
        """Return the bundles as lots, numbered from -1 down."""
        self._of_pod_group = {}
        made: list[PodGroup] = []
        for bundle in self._bundles:
            pod_group = PodGroup(
                bundle.number, bundle.load, (bundle.demands,), self._chain(bundle), _rules(bundle)
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
        """Note that a bundle got no node: its pods are to be seated anew."""
        bundle = self._of_pod_group[pod_group.index]
        pod_group.bundle = {}
        self._bundles.remove(bundle)
        for one, level, constraints, pods in bundle.placements:
            self._outcome.unseat(one.index, pods, constraints.given_up)
            constraints.note_new(bundle.choice, -pods)
            self._spent.add((one.index, level))

    def _begin(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        pods: int,
        *,
        buying: bool,
    ) -> None:
        best, most = None, 0
        choices = (
            self._choices.of(level.demand, constraints.keys, constraints.targets, constraints.apart_keys)
            if buying
            else ()
        )
        for choice in sorted(choices, key=lambda choice: self._choices.price(choice, one.requests)):
            fits = self._fit(
                one, constraints, Bundle(np.zeros_like(one.requests), (choice.demand,), choice), pods
            )
            if fits > most:
                best, most = choice, fits
        if self._existing_nodes.most_in_one(one, level, constraints, pods) >= max(most, 1):
            self._existing_nodes.together(one, level, constraints, pods, begin=True)
        elif best is not None:
            bundle = Bundle(np.zeros_like(one.requests), (best.demand,), best)
            self._open(bundle)
            self._put(one, level, constraints, bundle, most)

    def _join(
        self, one: PodClass, level: RelaxationLevel, constraints: TopologyConstraints, pods: int
    ) -> int:
        placed = 0
        for bundle in self._bundles:
            if placed < pods and all(bundle.has(r.group) for r in constraints.together):
                fits, joined = self._best_way(one, level, constraints, bundle, pods - placed)
                if fits:
                    _become(bundle, joined)
                    self._put(one, level, constraints, bundle, fits)
                    placed += fits
        return placed

    def _best_way(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        bundle: Bundle,
        pods: int,
    ) -> tuple[int, Bundle]:
        """Return how many of `pods` pods may join a bundle, and what it becomes by that.

        Where they ask for domains that it leaves open, it becomes one of those.
        """
        if all(key in bundle.choice.known for key in constraints.keys):
            ways = [_joined(bundle, level.demand, bundle.choice)]
        else:
            choices = self._choices.of(
                level.demand, constraints.keys, constraints.targets, constraints.apart_keys
            )
            ways = [
                _joined(bundle, choice.demand, _both(bundle.choice, choice))
                for choice in choices
                if _agree(bundle.choice, choice)
            ]
        found = [(self._fit(one, constraints, way, pods), way) for way in ways]
        return max(found, key=lambda each: each[0], default=(0, bundle))

    def _fit(self, one: PodClass, constraints: TopologyConstraints, bundle: Bundle, pods: int) -> int:
        """Return how many of `pods` pods may join a bundle."""
        quota = (
            min(constraints.quota(bundle.choice.known, self._universe), pods)
            if constraints.by_domain
            else pods
        )
        quota = min(quota, most_joining(bundle.colocated, constraints.rules, self._terms))
        most = 0.0
        for option in self._options(bundle):
            free = option.largest - bundle.load
            fits = np.where(holds(free, np.zeros_like(bundle.load)), count_fitting(free, one.requests), 0.0)
            most = max(most, float(fits.max(initial=0.0)))
        return int(max(min(quota, most), 0))

    def _put(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        bundle: Bundle,
        pods: int,
    ) -> None:
        self._gather(one, level, constraints, bundle, pods)
        self._outcome.seated(one.index, pods, constraints.given_up)
        constraints.note_new(bundle.choice, pods)

    def _gather(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        bundle: Bundle,
        pods: int,
    ) -> None:
        bundle.load = bundle.load + pods * one.requests
        bundle.parts[one.index] = bundle.parts.get(one.index, 0) + pods
        colocated = bundle.colocated
        for group in constraints.counted:
            if group.term.per_node:
                colocated.counted[group.index] = colocated.counted.get(group.index, 0) + pods
        for index in constraints.rules.firm:
            colocated.owned[index] = colocated.owned.get(index, 0) + pods
        bundle.placements.append((one, level, constraints, pods))

    def _options(self, bundle: Bundle) -> Iterable[NodeOption]:
        options = self._option_order.options
        for template in range(len(options.templates)):
            option = options.of_all(template, bundle.demands)
            if option is not None and self._option_order.affordable(option):
                yield option

    def _chain(self, bundle: Bundle) -> tuple[OrderedOption, ...]:
        return self._option_order.of((bundle.demands,), bundle.load)


def _joined(bundle: Bundle, demand: Demand, choice: Choice) -> Bundle:
    """Return what a bundle is when others that ask for `demand` join it."""
    return replace(bundle, demands=tuple(dict.fromkeys((*bundle.demands, demand))), choice=choice)


def _agree(one: Choice, other: Choice) -> bool:
    return all(other.known.get(key, value) == value for key, value in one.known.items())


def _both(one: Choice, other: Choice) -> Choice:
    """Return the nodes of two choices at once."""
    asked = one.requirements.with_(other.requirements)
    return replace(one, requirements=asked, known={**one.known, **other.known})


def _become(bundle: Bundle, to: Bundle) -> None:
    """Let a bundle ask for what `to` does, and be where that is: those in it count there from now on."""
    bundle.demands = to.demands
    if to.choice is bundle.choice:
        return
    for _, _, constraints, pods in bundle.placements:
        constraints.note_new(bundle.choice, -pods)
        constraints.note_new(to.choice, pods)
    bundle.choice = to.choice


def _rules(bundle: Bundle) -> Rules:
    owned = tuple(sorted(bundle.colocated.owned))
    return Rules(owned, tuple(sorted(bundle.colocated.counted.items())), owned)
