"""Pack the classic way: the largest first, each pod into the first claim that will have it."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays import Floats, Indices, count_fitting, holds
from treenail.domain.packing.compatibility.demands import Demand
from treenail.domain.packing.compatibility.families import Families, Family
from treenail.domain.packing.dealing import fewest_first
from treenail.domain.packing.drafts import Draft
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.lots import Lot
from treenail.domain.packing.node_rules import Company, NodeRules
from treenail.domain.packing.steps import Steps
from treenail.domain.packing.templates import Template


def most_pods(family: Family, loads: Floats, requests: Floats, ledger: Ledger, own: Floats) -> Floats:
    """Return how many pods of `requests` (R) a claim of `family` can still take, for each of `loads` (C, R).

    Any type will do that holds the load and that the limits allow, where what the claim counts with
    already (`own`, by claim: C, L) is given back.
    """
    bound = bool(family.template.limited) and not ledger.allowed(family).all()
    room = family.room if bound else family.largest
    free = room[np.newaxis, :, :] - loads[:, np.newaxis, :]
    counts = np.where(holds(free, np.zeros(free.shape[-1])), count_fitting(free, requests), 0.0)
    if bound:
        left = ledger.left(family.template) + own
        counts = np.where(holds(left[:, np.newaxis], family.capacity), counts, 0.0)
    most: Floats = counts.max(axis=1, initial=0.0)
    return most


class FirstFit:
    """The claims opened so far, each open to every type that holds its load, as in Karpenter.

    A pod goes to the open claim with the fewest pods that can take it, else to a new claim of the
    first pool that can have one.
    """

    def __init__(
        self, families: Families, ledger: Ledger, steps: Steps, columns: int, rules: NodeRules
    ) -> None:
        self._families = families
        self._ledger = ledger
        self._steps = steps
        self._rules = rules
        self._company: list[Company] = []
        self._family: list[Family] = []
        self._parts: list[dict[int, int]] = []
        self._row: list[int] = []
        self._load: Floats = np.zeros((0, columns))
        self._pods: Floats = np.zeros(0)

    def place(self, one: Lot, pods: int) -> None:
        """Place up to `pods` units of a lot, as far as the limits allow."""
        for demands in one.alternatives:
            if not pods:
                break
            self._steps.spend()
            pods -= self._into_open(one, demands, pods)
            for template in range(len(self._families.templates)):
                if not pods:
                    break
                pods -= self._into_new(one, template, demands, pods)

    def drafts(self) -> list[Draft]:
        """Return the claims, alike ones as copies, in the order they were opened."""
        copies: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {}
        first: list[int] = []
        for at, (family, parts) in enumerate(zip(self._family, self._parts, strict=True)):
            key = (family.index, self._row[at] if family.template.limited else -1, tuple(parts.items()))
            if key not in copies:
                first.append(at)
            copies[key] = copies.get(key, 0) + 1
        return [
            Draft(self._family[at], self._type_of(at), self._load[at], self._parts[at], count)
            for at, count in zip(first, copies.values(), strict=True)
        ]

    def _type_of(self, at: int) -> int:
        if self._family[at].template.limited:
            return self._row[at]
        row = self._family[at].cheapest_holding(self._load[at])
        assert row is not None  # noqa: S101
        return row

    def _into_open(self, one: Lot, demands: tuple[Demand, ...], pods: int) -> int:
        fits = np.zeros(len(self._family))
        met: dict[int, Family] = {}
        for family, rows in self._by_family():
            wanted = self._families.of_all(family.template.index, demands)
            both = self._families.meet(family, wanted) if wanted else None
            if both is not None:
                met[family.index] = both
                own = self._own_capacity(family.template, rows)
                fits[rows] = most_pods(both, self._load[rows], one.requests, self._ledger, own)
        if not self._rules.free(one):
            self._keep_rules(one, fits, pods)
        dealt = fewest_first(self._pods, fits, pods)
        placed = 0
        for at in np.flatnonzero(dealt):
            placed += self._add(int(at), met[self._family[at].index], one, int(dealt[at]))
        if 0 < placed < dealt.sum():
            # Some claims could not grow after others had; what limits are left may still do.
            placed += self._into_open(one, demands, pods - placed)
        return placed

    def _keep_rules(self, one: Lot, fits: Floats, pods: int) -> None:
        """Cut down what fits where to what terms per node allow: of the emptiest claims that will do."""
        candidates = np.flatnonzero(fits)
        candidates = candidates[np.argsort(self._pods[candidates], kind="stable")]
        enough = 0.0
        for number, at in enumerate(candidates.tolist()):
            if enough >= pods:
                fits[candidates[number:]] = 0.0
                break
            fits[at] = min(fits[at], self._rules.most(self._company[at], one))
            enough += fits[at]

    def _by_family(self) -> list[tuple[Family, Indices]]:
        indices = np.array([family.index for family in self._family], dtype=np.intp)
        known = {family.index: family for family in self._family}
        return [(family, np.flatnonzero(indices == index)) for index, family in known.items()]

    def _own_capacity(self, template: Template, rows: Indices) -> Floats:
        own = np.zeros((len(rows), len(template.limited)))
        if template.limited:
            own[:] = [self._family[at].capacity[self._row[at]] for at in rows]
        return own

    def _add(self, at: int, family: Family, one: Lot, pods: int) -> int:
        load = self._load[at] + pods * one.requests
        if family.template.limited:
            # Claims that grow at once may want the same last bit of a limit: the earlier one has it.
            own = self._family[at].capacity[self._row[at]]
            row = cheapest_allowed(family, load, self._ledger, own)
            if row is None:
                return 0
            self._ledger.take(family.template, family.capacity[row] - own)
            self._row[at] = row
        self._family[at] = family
        self._load[at] = load
        self._pods[at] += pods
        self._company[at].add(one, pods)
        self._parts[at][one.index] = self._parts[at].get(one.index, 0) + pods
        return pods

    def _into_new(self, one: Lot, template: int, demands: tuple[Demand, ...], pods: int) -> int:
        self._steps.spend()
        family = self._families.of_all(template, demands)
        if family is None:
            return 0
        empty = np.zeros((1, len(one.requests)))
        alone = pods if self._rules.free(one) else self._rules.most(Company(), one)
        placed = 0
        while placed < pods:
            own = np.zeros((1, family.capacity.shape[1]))
            each = int(
                min(most_pods(family, empty, one.requests, self._ledger, own)[0], pods - placed, alone)
            )
            if not each:
                break
            copies = 1 if family.template.limited else (pods - placed) // each
            self._open(family, one, each, copies)
            placed += each * copies
        return placed

    def _open(self, family: Family, one: Lot, pods: int, copies: int) -> None:
        load = pods * one.requests
        row = 0
        if family.template.limited:
            found = cheapest_allowed(family, load, self._ledger, 0.0)
            assert found is not None  # noqa: S101
            row = found
            self._ledger.take(family.template, family.capacity[row])
        self._family += [family] * copies
        self._row += [row] * copies
        self._parts += [{one.index: pods} for _ in range(copies)]
        for _ in range(copies):
            company = Company()
            company.add(one, pods)
            self._company.append(company)
        self._load = np.concatenate([self._load, np.tile(load, (copies, 1))])
        self._pods = np.concatenate([self._pods, np.full(copies, float(pods))])


def cheapest_allowed(family: Family, load: Floats, ledger: Ledger, given_back: Floats | float) -> int | None:
    """Return the row of the cheapest type of `family` that holds `load` and that the limits allow."""
    able = holds(family.room, load)
    if family.template.limited:
        able &= ledger.allowed(family, given_back)
    return int(able.argmax()) if able.any() else None
