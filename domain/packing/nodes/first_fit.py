"""First fit: each pod onto the open claim with the fewest pods that takes it, else onto a new one."""

from __future__ import annotations

from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices, count_fitting, holds
from treenail.domain.packing.arrays.dealing import fewest_first
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.node_rules import ColocatedPods
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.demands import Demand

# Of more claims than this, alike ones are looked at once: finding them costs a sort.
_MANY: Final = 64


def most_pods(option: NodeOption, loads: Floats, requests: Floats, allowed: Bools | None) -> Floats:
    """Return how many pods of `requests` (R) a claim of `option` can still take, for each of `loads` (C, R).

    Any type will do that holds the load and that is `allowed` (C, U), where not all are.
    """
    if allowed is not None and allowed.all():
        allowed = None
    if allowed is not None and len(loads) > _MANY:
        first, alike = _distinct(loads, allowed)
        if len(first) < len(loads):
            return most_pods(option, loads[first], requests, allowed[first])[alike]
    room = option.largest if allowed is None else option.room
    # All claims against all types at once: C x U x R numbers, which is what a claim open to every type costs.
    free = room[np.newaxis, :, :] - loads[:, np.newaxis, :]
    able = holds(free, np.zeros(free.shape[-1]))
    if allowed is not None:
        able &= allowed
    most: Floats = np.maximum.reduce(np.where(able, count_fitting(free, requests), 0.0), axis=1, initial=0.0)
    return most


def _distinct(loads: Floats, allowed: Bools) -> tuple[Indices, Indices]:
    """Return the first of all claims of the same load (C, R) and types (C, U), and which of these each is."""
    written = np.hstack([np.ascontiguousarray(loads).view(np.uint8), np.packbits(allowed, axis=1)])
    keys = np.ascontiguousarray(written).view(np.dtype((np.void, written.shape[1]))).ravel()
    _, first, alike = np.unique(keys, return_index=True, return_inverse=True)
    return first, alike


class FirstFit:
    """The claims opened so far, each open to every type that holds its load, as in Karpenter.

    A pod goes to the open claim with the fewest pods that can take it, else to a new claim of the first pool
    that can have one. At first a new claim counts against limits with the largest of its types: that is
    Karpenter's caution. From `be_bold` on it counts with the type it would be. So the pods that Karpenter
    would place have places before others get places that only boldness leaves.
    """

    def __init__(self, context: PlanningContext, columns: int) -> None:
        self._options, self._rules, self._remaining_limits, self._steps = context
        self._colocated: list[ColocatedPods] = []
        self._option: list[NodeOption] = []
        self._parts: list[dict[int, int]] = []
        self._row: list[int] = []
        self._load: Floats = np.zeros((0, columns))
        self._pods: Floats = np.zeros(0)
        # Which types of its template a claim may be that was opened with caution.
        self._reserved: list[Bools | None] = []
        self._cautious: RemainingLimits | None = RemainingLimits()

    def be_bold(self) -> None:
        """From now on, count claims with the types they would be."""
        self._cautious = None

    def place(self, one: PodGroup, pods: int) -> int:
        """Place up to `pods` units of a pod group, as far as limits allow; return how many are left."""
        # Alternatives are tried in order: a preference is kept while there is a node for it, even a new one.
        for demands in one.alternatives:
            if not pods:
                break
            self._steps.spend()
            # Open claims of any pool come before a new one of the heaviest, as in Karpenter: they are paid
            # for.
            pods -= self._into_open(one, demands, pods)
            for template in range(len(self._options.templates)):
                if not pods:
                    break
                pods -= self._into_new(one, template, demands, pods)
        return pods

    def planned_nodes(self) -> list[PlannedNode]:
        """Return the claims, alike ones as copies, in the order they were opened."""
        copies: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {}
        first: list[int] = []
        for at, (option, parts) in enumerate(zip(self._option, self._parts, strict=True)):
            # Without limits the type follows from the parts; with them, claims of equal parts may be of
            # different types.
            key = (option.index, self._row[at] if option.template.limited else -1, tuple(parts.items()))
            if key not in copies:
                first.append(at)
            copies[key] = copies.get(key, 0) + 1
        return [
            PlannedNode(self._option[at], self._type_of(at), self._load[at], self._parts[at], count)
            for at, count in zip(first, copies.values(), strict=True)
        ]

    def _type_of(self, at: int) -> int:
        if self._option[at].template.limited:
            # Under limits it is the type counted against them.
            return self._row[at]
        row = self._option[at].cheapest_holding(self._load[at])
        assert row is not None  # noqa: S101
        return row

    def _into_open(self, one: PodGroup, demands: tuple[Demand, ...], pods: int) -> int:
        if not self._option:
            return 0
        fits = np.zeros(len(self._option))
        met: dict[int, NodeOption] = {}
        for option, rows in self._by_option():
            wanted = self._options.of_all(option.template.index, demands)
            both = self._options.meet(option, wanted) if wanted else None
            if both is not None:
                met[option.index] = both
                fits[rows] = most_pods(both, self._load[rows], one.requests, self._allowed(both, rows))
        if not np.logical_or.reduce(fits):
            return 0
        if not self._rules.free(one):
            self._keep_rules(one, fits, pods)
        # Dealt at once to all claims: as if one pod after the other went to the claim with the fewest.
        dealt = fewest_first(self._pods, fits, pods)
        placed = 0
        for at in dealt.nonzero()[0].tolist():
            # What a claim becomes by joining narrows its option for all that come later.
            placed += self._add(at, met[self._option[at].index], one, int(dealt[at]))
        if 0 < placed < dealt.sum():
            # Limits are shared: what was computed for all claims at once need not hold for all of them.
            # Some claims could not grow after others had; what limits are left may still do.
            placed += self._into_open(one, demands, pods - placed)
        return placed

    def _keep_rules(self, one: PodGroup, fits: Floats, pods: int) -> None:
        """Cut down how many pods fit on each claim to what terms per node allow.

        Only as many of the emptiest claims are asked as are needed for `pods`.
        """
        candidates = fits.nonzero()[0]
        candidates = candidates[self._pods[candidates].argsort(kind="stable")]
        enough = 0.0
        for number, at in enumerate(candidates.tolist()):
            if enough >= pods:
                fits[candidates[number:]] = 0.0
                break
            fits[at] = min(fits[at], self._rules.most(self._colocated[at], one))
            enough += fits[at]

    def _by_option(self) -> list[tuple[NodeOption, Indices]]:
        # Claims of one option are looked at together: one array operation instead of one for each claim.
        rows: dict[int, list[int]] = {}
        known: dict[int, NodeOption] = {}
        for at, option in enumerate(self._option):
            if option.index in known:
                rows[option.index].append(at)
            else:
                known[option.index], rows[option.index] = option, [at]
        return [(option, np.array(rows[index], dtype=np.intp)) for index, option in known.items()]

    def _allowed(self, option: NodeOption, rows: Indices) -> Bools | None:
        """Return of which types (C, U) each of these claims may be; None where limits do not matter."""
        if not option.template.limited:
            return None
        # Any type up to the largest is paid for. Nothing else may be used: it would break the caution for
        # later claims.
        if self._cautious is not None:
            none = np.zeros(len(option.types), dtype=np.bool_)
            masks = [self._reserved[at] for at in rows]
            return np.array([none if mask is None else mask[option.types] for mask in masks])
        # The capacity counted for the claim itself is available to it: it is added back before larger types
        # are compared.
        own = np.array([self._option[at].capacity[self._row[at]] for at in rows])
        return holds((self._remaining_limits.left(option.template) + own)[:, np.newaxis], option.capacity)

    def _allowed_one(self, option: NodeOption, at: int) -> Bools:
        allowed = self._allowed(option, np.array([at], dtype=np.intp))
        return np.ones(len(option.types), dtype=np.bool_) if allowed is None else allowed[0]

    def _add(self, at: int, option: NodeOption, one: PodGroup, pods: int) -> int:
        load = self._load[at] + pods * one.requests
        if option.template.limited:
            # Claims that grow at once may want the same last bit of a limit: the earlier one has it.
            own = self._option[at].capacity[self._row[at]]
            able = holds(option.room, load) & self._allowed_one(option, at)
            if not np.logical_or.reduce(able):
                return 0
            row = int(able.argmax())
            self._remaining_limits.take(option.template, option.capacity[row] - own)
            self._row[at] = row
        # Nothing can fail any more: the claim takes all of the pods.
        self._option[at] = option
        self._load[at] = load
        self._pods[at] += pods
        self._rules.join(self._colocated[at], one, pods)
        self._parts[at][one.index] = self._parts[at].get(one.index, 0) + pods
        return pods

    def _into_new(self, one: PodGroup, template: int, demands: tuple[Demand, ...], pods: int) -> int:
        self._steps.spend()
        option = self._options.of_all(template, demands)
        if option is None:
            return 0
        empty = np.zeros((1, len(one.requests)))
        # How many units may share an empty node by their own rules: 1 for anti-affinity, the skew for a
        # spread.
        alone = pods if self._rules.free(one) else self._rules.most(ColocatedPods(), one)
        placed = 0
        while placed < pods:
            allowed = self._affordable(option)
            # A new claim takes all it can at once: no other open claim takes any of these pods.
            each = int(min(most_pods(option, empty, one.requests, allowed)[0], pods - placed, alone))
            if not each:
                break
            copies = self._open(option, one, each, (pods - placed) // each, allowed)
            placed += each * copies
        return placed

    def _affordable(self, option: NodeOption) -> Bools | None:
        """Return of which types (1, U) a new claim may be; None where limits do not matter."""
        if not option.template.limited:
            return None
        remaining_limits = self._remaining_limits if self._cautious is None else self._cautious
        return remaining_limits.allowed(option)[np.newaxis]

    def _open(self, option: NodeOption, one: PodGroup, pods: int, copies: int, allowed: Bools | None) -> int:
        """Open up to so many claims, as many as the same types are `allowed` (1, U) for; return how many."""
        load = pods * one.requests
        # Without limits the type is found at the end, for the final load.
        row, reserved = 0, None
        if allowed is not None:
            able = holds(option.room, load) & allowed[0]
            row = int(able.argmax())
            if self._cautious is not None:
                most = option.capacity[able].max(axis=0)
                # As many alike claims as can be opened before a limit rules out a type: then the loop looks
                # again.
                copies = min(copies, _alike(self._cautious, option, allowed[0], most))
                reserved = np.zeros(len(option.template.room), dtype=np.bool_)
                reserved[option.types[able]] = True
                self._cautious.take(option.template, copies * most)
            else:
                copies = min(copies, _alike(self._remaining_limits, option, allowed[0], option.capacity[row]))
            self._remaining_limits.take_nodes(option, row, copies)
        self._reserved += [reserved] * copies
        self._option += [option] * copies
        self._row += [row] * copies
        self._parts += [{one.index: pods} for _ in range(copies)]
        for _ in range(copies):
            colocated = ColocatedPods()
            self._rules.join(colocated, one, pods)
            self._colocated.append(colocated)
        self._load = np.concatenate([self._load, load[np.newaxis].repeat(copies, axis=0)])
        self._pods = np.concatenate([self._pods, np.full(copies, float(pods))])
        return copies


def _alike(remaining_limits: RemainingLimits, option: NodeOption, allowed: Bools, each: Floats) -> int:
    """Return how many claims that take `each` (L) may be opened before fewer types are allowed."""
    spare = remaining_limits.left(option.template) - option.capacity[allowed].max(axis=0)
    counted = each > 0
    return 1 + int(np.floor(spare[counted] / each[counted]).min(initial=np.iinfo(np.int32).max))


def cheapest_allowed(
    option: NodeOption, load: Floats, remaining_limits: RemainingLimits, given_back: Floats | float
) -> int | None:
    """Return the row of the cheapest type of `option` that holds `load` (R) and that limits allow.

    None where there is none. `given_back` (L) are amounts to be added to what is left of the limits.
    """
    able = holds(option.room, load)
    if option.template.limited:
        able &= remaining_limits.allowed(option, given_back)
    row = int(able.argmax())
    return row if able[row] else None
