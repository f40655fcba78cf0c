"""Open claims: new nodes while pods are put on them one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.one_by_one.domains import ClaimPlace, Domains
from treenail.domain.packing.planned.finishing import listed
from treenail.domain.packing.planned.node_rules import ColocatedPods, most_joining
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.terms import Term
from treenail.domain.packing.topology.class_constraints import RelaxedClass, TopologyConstraints

_pods: Final = attrgetter("pods")


@dataclass(slots=True, eq=False)
class ClaimPods:
    """Pods of one class on a claim, at one relaxation level.

    `demand` is their demand at that level. `open` has the labels left undecided, each with its domains.
    """

    relaxed: RelaxedClass
    demand: Demand
    open: tuple[tuple[str, tuple[str, ...]], ...]
    pods: int = 0


@dataclass(slots=True, eq=False)
class OpenClaim:
    """A node to be bought, while it is filled.

    `row` is the cheapest type that holds its `load` (R). `reserved` (T) are the types it may be at all, where
    it was opened with caution. A pod class it has `refused` stays refused: the claim only fills up.
    """

    option: NodeOption
    load: Floats
    row: int
    reserved: Bools | None
    pods: int = 0
    colocated: ColocatedPods = field(default_factory=ColocatedPods)
    held: dict[tuple[int, Demand, RelaxationLevel], ClaimPods] = field(default_factory=dict)
    refused: set[tuple[int, Demand, int]] = field(default_factory=set)


class OpenClaims:
    """The claims opened so far, in order, and how much of the limits they take.

    Limits are counted twice. At first a claim takes of them what the largest type it could be has: that is
    Karpenter's caution. From `be_bold` on, only `remaining_limits` counts, with the types they would be.
    """

    def __init__(self, option_order: OptionOrder, domains: Domains, terms: Mapping[int, Term]) -> None:
        self.claims: list[OpenClaim] = []
        # The same, the emptiest first: as in Karpenter, one of as many pods keeps its place before others.
        self._in_turn: list[OpenClaim] = []
        self.remaining_limits = RemainingLimits()
        self._option_order = option_order
        self._options = option_order.options
        self._domains = domains
        self._terms = terms
        self._numbers = numbering()
        self._cautious: RemainingLimits | None = RemainingLimits()

    def be_bold(self) -> None:
        """From now on, count claims with the types they would be."""
        self._cautious = None
        for claim in self.claims:
            # A refusal for want of a limit need not hold any longer.
            claim.refused.clear()

    def settle(self, note: Callable[[ClaimPods, int], None]) -> None:
        """Decide on one domain for each claim that is open to several; from now on decide at once.

        `note` counts pods of a claim with the sign it is given: they are taken out and counted again.
        """
        self._domains.leave_open = False
        for claim in self.claims:
            # Sorted, for the first label decided narrows the others.
            for key in sorted({key for pods in claim.held.values() for key, _ in pods.open}):
                self._settle(claim, key, note)

    def _settle(self, claim: OpenClaim, key: str, note: Callable[[ClaimPods, int], None]) -> None:
        undecided = [pods for pods in claim.held.values() if key in dict(pods.open)]
        own = claim.option.requirements.get(key)
        for value in dict(undecided[0].open)[key]:
            # A domain must suit all pods on the claim that left it open.
            if (own is not None and not own.has(value)) or any(
                value not in dict(pods.open)[key] for pods in undecided
            ):
                continue
            places = [
                self._domains.pinned(ClaimPlace(claim.option, pods.demand, pods.open), key, value)
                for pods in undecided
            ]
            option = places[0].option if places[0] is not None else None
            row = None if option is None else self._row(option, claim.load, self._allowed(claim, option))
            # The types sold in this domain may not hold the load, or too few of them for minValues: then the
            # next one.
            if option is None or row is None or not self._leaves_choice(claim, option, row, claim.load):
                continue
            if option.template.limited:
                # Pinned, the cheapest type may be another: the limits take the difference.
                own_capacity = claim.option.capacity[claim.row]
                self.remaining_limits.take(option.template, option.capacity[row] - own_capacity)
            claim.option, claim.row = option, row
            for pods, place in zip(undecided, places, strict=True):
                assert place is not None  # noqa: S101 (all meet the same node)
                note(pods, -1)
                pods.demand, pods.open = place.demand, place.open
                note(pods, 1)
            return

    def join(self, relaxed: RelaxedClass) -> ClaimPlace | None:
        """Put a pod on the claim with the fewest pods that takes it; return what that became, or None."""
        one, level, constraints = relaxed
        # What a claim's refusal depends on, domains apart. Thousands of pods ask the same claims for the
        # same.
        asked = (self._numbers[one.requests], level.demand, self._numbers[constraints.rules])
        # Stable, and nearly sorted already, so it costs little. Karpenter's own sort is not stable: of claims
        # with as many pods it may take any.
        self._in_turn.sort(key=_pods)
        for claim in self._in_turn:
            if asked in claim.refused or not self._colocated_with(claim, constraints):
                continue
            wanted = self._options.of(claim.option.template.index, level.demand)
            both = self._options.meet(claim.option, wanted) if wanted is not None else None
            load = claim.load + one.requests
            held = None if both is None else self._held(claim, both, load, constraints)
            if both is None or held is None:
                # Only what cannot change for the better is remembered. Domains may open again, so their
                # refusal is not.
                claim.refused.add(asked)
                continue
            for place in self._domains.places(both, level.demand, constraints):
                row: int | None = held
                # Pinned to a domain, fewer types are left: the cheapest that holds the load is looked for
                # again.
                if place.option is not both:
                    row = self._row(place.option, load, self._allowed(claim, place.option))
                if row is not None and self._leaves_choice(claim, place.option, row, load):
                    self._grow(claim, place, row, relaxed)
                    return place
        return None

    def open(self, relaxed: RelaxedClass) -> ClaimPlace | None:
        """Put a pod on a new claim of the first pool that can have one; return what that is."""
        one, level, constraints = relaxed
        # A new node is empty: nobody to be with is there.
        if constraints.together and not constraints.may_begin:
            return None
        # No claim is opened for a pod whose own rules let it onto no node, not even an empty one.
        if most_joining(ColocatedPods(), constraints.rules, self._terms) < 1:
            return None
        # Pools by weight: the first that can have a claim wins though another were cheaper. That is
        # Karpenter's promise.
        for option in self._option_order.affordable_for(level.demand):
            for place in self._domains.places(option, level.demand, constraints):
                able = place.option.able(one.requests, self._allowed(None, place.option))
                if able is not None and self._leaves_choice(
                    None, place.option, int(able.argmax()), one.requests
                ):
                    self._open(place, able, relaxed)
                    return place
        return None

    def _colocated_with(self, claim: OpenClaim, constraints: TopologyConstraints) -> bool:
        if not constraints.together:
            return True
        return (
            # Every term finds one of its pods on this claim, or none of them is anywhere yet.
            all(claim.colocated.counted.get(r.group.index) for r in constraints.together)
            or constraints.may_begin
        )

    def _held(
        self, claim: OpenClaim, option: NodeOption, load: Floats, constraints: TopologyConstraints
    ) -> int | None:
        """Return the row of the cheapest type of `option` that may hold `load` (R) on a claim, if any."""
        if most_joining(claim.colocated, constraints.rules, self._terms) < 1:
            return None
        return self._row(option, load, self._allowed(claim, option))

    def _allowed(self, claim: OpenClaim | None, option: NodeOption) -> Bools | None:
        """Return of which types (U) a claim may be, or a new one; None where limits do not matter."""
        if not option.template.limited:
            return None
        if claim is None:
            # With caution a new claim must leave room for the largest type of every claim before it.
            return (self.remaining_limits if self._cautious is None else self._cautious).allowed(option)
        if self._cautious is not None:
            assert claim.reserved is not None  # noqa: S101 (all were opened with caution so far)
            # Opened with caution, its largest type is paid for: any type up to that is allowed without a look
            # at limits.
            reserved: Bools = claim.reserved[option.types]
            return reserved
        return self.remaining_limits.allowed(option, claim.option.capacity[claim.row])

    def _leaves_choice(self, changed: OpenClaim | None, option: NodeOption, row: int, load: Floats) -> bool:
        """Return whether every claim can still list enough types for minValues after a change.

        One claim is `changed`, or opened where None, to hold `load` (R) as `row` of `option`. With caution
        this always holds: the types that a claim lists are paid for when it is opened.
        """
        if self._cautious is not None or not option.template.limited:
            return True
        after = [
            (option, row, load) if claim is changed else (claim.option, claim.row, claim.load)
            for claim in self.claims
        ]
        if changed is None:
            after.append((option, row, load))
        # The usual case: no claim has both minValues and limits, and the trial below is spared.
        if all(each.min_values is None or not each.template.limited for each, _, _ in after):
            return True
        own = 0.0 if changed is None else changed.option.capacity[changed.row]
        remaining_limits = self.remaining_limits.copy()
        remaining_limits.take(option.template, option.capacity[row] - own)
        # Tried on a copy, in the order in which claims will be finished: an earlier claim may list a large
        # type that leaves a later one too few.
        return all(listed(remaining_limits, *each) is not None for each in after)

    def _row(self, option: NodeOption, load: Floats, allowed: Bools | None) -> int | None:
        able = option.able(load, allowed)
        return None if able is None else int(able.argmax())

    def _open(self, place: ClaimPlace, able: Bools, relaxed: RelaxedClass) -> None:
        option, row, reserved = place.option, int(able.argmax()), None
        if option.template.limited:
            self.remaining_limits.take(option.template, option.capacity[row])
            if self._cautious is not None:
                reserved = np.zeros(len(option.template.room), dtype=np.bool_)
                reserved[option.types[able]] = True
                # The most of each resource that any type it lists has, as in Karpenter: the launch may choose
                # any of them.
                self._cautious.take(option.template, option.capacity[able].max(axis=0))
        claim = OpenClaim(option, np.zeros_like(relaxed.one.requests), row, reserved)
        self.claims.append(claim)
        self._in_turn.append(claim)
        self._admit(claim, place, relaxed)

    def _grow(self, claim: OpenClaim, place: ClaimPlace, row: int, relaxed: RelaxedClass) -> None:
        option = place.option
        if option.template.limited:
            own = claim.option.capacity[claim.row]
            self.remaining_limits.take(option.template, option.capacity[row] - own)
        claim.option, claim.row = option, row
        self._admit(claim, place, relaxed)

    def _admit(self, claim: OpenClaim, place: ClaimPlace, relaxed: RelaxedClass) -> None:
        one = relaxed.one
        claim.load = claim.load + one.requests
        claim.pods += 1
        # Counted as soon as it is on: the next pod may keep apart from it.
        claim.colocated.count(relaxed.constraints, 1)
        key = (one.index, place.demand, relaxed.level)
        if key not in claim.held:
            claim.held[key] = ClaimPods(relaxed, place.demand, place.open)
        claim.held[key].pods += 1
