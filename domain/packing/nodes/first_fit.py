"""Pack the classic way: the largest first, each pod into the first claim that will have it."""

from __future__ import annotations

from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices, count_fitting, holds
from treenail.domain.packing.arrays.dealing import fewest_first
from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.draft.drafts import Draft
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import Company, NodeRules
from treenail.domain.packing.offers.families import Families, Family
from treenail.domain.packing.offers.limits import Ledger
from treenail.domain.packing.pods.demands import Demand

# Of more claims than this, those that are alike are looked at once.
_MANY: Final = 64


def most_pods(family: Family, loads: Floats, requests: Floats, allowed: Bools | None) -> Floats:
    """Return how many pods of `requests` (R) a claim of `family` can still take, for each of `loads` (C, R).

    Any type will do that holds the load and that is `allowed` (C, U), where not all are.
    """
    if allowed is not None and allowed.all():
        allowed = None
    if allowed is not None and len(loads) > _MANY:
        first, alike = _distinct(loads, allowed)
        if len(first) < len(loads):
            return most_pods(family, loads[first], requests, allowed[first])[alike]
    room = family.largest if allowed is None else family.room
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

    A pod goes to the open claim with the fewest pods that can take it, else to a new claim of the
    first pool that can have one. While it is `cautious`, as Karpenter is, a new claim uses up of the limits
    what the largest of its types would: so whoever it would place has a place, before others get one that
    only the true types leave room for.
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
        # Which types of its template a claim may be that was opened with caution.
        self._reserved: list[Bools | None] = []
        self._cautious: Ledger | None = Ledger()

    def be_bold(self) -> None:
        """From now on, count claims with the types they would be."""
        self._cautious = None

    def place(self, one: Lot, pods: int) -> int:
        """Place up to `pods` units of a lot, as far as the limits allow; return how many are left."""
        for demands in one.alternatives:
            if not pods:
                break
            self._steps.spend()
            pods -= self._into_open(one, demands, pods)
            for template in range(len(self._families.templates)):
                if not pods:
                    break
                pods -= self._into_new(one, template, demands, pods)
        return pods

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
        if not self._family:
            return 0
        fits = np.zeros(len(self._family))
        met: dict[int, Family] = {}
        for family, rows in self._by_family():
            wanted = self._families.of_all(family.template.index, demands)
            both = self._families.meet(family, wanted) if wanted else None
            if both is not None:
                met[family.index] = both
                fits[rows] = most_pods(both, self._load[rows], one.requests, self._allowed(both, rows))
        if not np.logical_or.reduce(fits):
            return 0
        if not self._rules.free(one):
            self._keep_rules(one, fits, pods)
        dealt = fewest_first(self._pods, fits, pods)
        placed = 0
        for at in dealt.nonzero()[0].tolist():
            placed += self._add(at, met[self._family[at].index], one, int(dealt[at]))
        if 0 < placed < dealt.sum():
            # Some claims could not grow after others had; what limits are left may still do.
            placed += self._into_open(one, demands, pods - placed)
        return placed

    def _keep_rules(self, one: Lot, fits: Floats, pods: int) -> None:
        """Cut down what fits where to what terms per node allow: of the emptiest claims that will do."""
        candidates = fits.nonzero()[0]
        candidates = candidates[self._pods[candidates].argsort(kind="stable")]
        enough = 0.0
        for number, at in enumerate(candidates.tolist()):
            if enough >= pods:
                fits[candidates[number:]] = 0.0
                break
            fits[at] = min(fits[at], self._rules.most(self._company[at], one))
            enough += fits[at]

    def _by_family(self) -> list[tuple[Family, Indices]]:
        rows: dict[int, list[int]] = {}
        known: dict[int, Family] = {}
        for at, family in enumerate(self._family):
            if family.index in known:
                rows[family.index].append(at)
            else:
                known[family.index], rows[family.index] = family, [at]
        return [(family, np.array(rows[index], dtype=np.intp)) for index, family in known.items()]

    def _allowed(self, family: Family, rows: Indices) -> Bools | None:
        """Return of which types (C, U) each of these claims may be; None where limits do not matter."""
        if not family.template.limited:
            return None
        if self._cautious is not None:
            none = np.zeros(len(family.types), dtype=np.bool_)
            masks = [self._reserved[at] for at in rows]
            return np.array([none if mask is None else mask[family.types] for mask in masks])
        own = np.array([self._family[at].capacity[self._row[at]] for at in rows])
        return holds((self._ledger.left(family.template) + own)[:, np.newaxis], family.capacity)

    def _allowed_one(self, family: Family, at: int) -> Bools:
        allowed = self._allowed(family, np.array([at], dtype=np.intp))
        return np.ones(len(family.types), dtype=np.bool_) if allowed is None else allowed[0]

    def _add(self, at: int, family: Family, one: Lot, pods: int) -> int:
        load = self._load[at] + pods * one.requests
        if family.template.limited:
            # Claims that grow at once may want the same last bit of a limit: the earlier one has it.
            own = self._family[at].capacity[self._row[at]]
            able = holds(family.room, load) & self._allowed_one(family, at)
            if not np.logical_or.reduce(able):
                return 0
            row = int(able.argmax())
            self._ledger.take(family.template, family.capacity[row] - own)
            self._row[at] = row
        self._family[at] = family
        self._load[at] = load
        self._pods[at] += pods
        self._rules.join(self._company[at], one, pods)
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
            allowed = self._affordable(family)
            each = int(min(most_pods(family, empty, one.requests, allowed)[0], pods - placed, alone))
            if not each:
                break
            copies = self._open(family, one, each, (pods - placed) // each, allowed)
            placed += each * copies
        return placed

    def _affordable(self, family: Family) -> Bools | None:
        """Return of which types (1, U) a new claim may be; None where limits do not matter."""
        if not family.template.limited:
            return None
        ledger = self._ledger if self._cautious is None else self._cautious
        return ledger.allowed(family)[np.newaxis]

    def _open(self, family: Family, one: Lot, pods: int, copies: int, allowed: Bools | None) -> int:
        """Open up to so many claims, as many as the same types are `allowed` (1, U) for; return how many."""
        load = pods * one.requests
        row, reserved = 0, None
        if allowed is not None:
            able = holds(family.room, load) & allowed[0]
            row = int(able.argmax())
            if self._cautious is not None:
                most = family.capacity[able].max(axis=0)
                copies = min(copies, _alike(self._cautious, family, allowed[0], most))
                reserved = np.zeros(len(family.template.room), dtype=np.bool_)
                reserved[family.types[able]] = True
                self._cautious.take(family.template, copies * most)
            else:
                copies = min(copies, _alike(self._ledger, family, allowed[0], family.capacity[row]))
            self._ledger.take(family.template, copies * family.capacity[row])
        self._reserved += [reserved] * copies
        self._family += [family] * copies
        self._row += [row] * copies
        self._parts += [{one.index: pods} for _ in range(copies)]
        for _ in range(copies):
            company = Company()
            self._rules.join(company, one, pods)
            self._company.append(company)
        self._load = np.concatenate([self._load, load[np.newaxis].repeat(copies, axis=0)])
        self._pods = np.concatenate([self._pods, np.full(copies, float(pods))])
        return copies


def _alike(ledger: Ledger, family: Family, allowed: Bools, each: Floats) -> int:
    """Return how many claims that take `each` (L) may be opened before fewer types are allowed."""
    spare = ledger.left(family.template) - family.capacity[allowed].max(axis=0)
    counted = each > 0
    return 1 + int(np.floor(spare[counted] / each[counted]).min(initial=np.iinfo(np.int32).max))


def cheapest_allowed(family: Family, load: Floats, ledger: Ledger, given_back: Floats | float) -> int | None:
    """Return the row of the cheapest type of `family` that holds `load` and that the limits allow."""
    able = holds(family.room, load)
    if family.template.limited:
        able &= ledger.allowed(family, given_back)
    row = int(able.argmax())
    return row if able[row] else None
