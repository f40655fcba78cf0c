"""New nodes while pods are put on them one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, holds
from treenail.domain.packing.draft.finishing import listed
from treenail.domain.packing.draft.node_rules import Company, most_joining
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.offers.families import Family
from treenail.domain.packing.offers.limits import Ledger
from treenail.domain.packing.one_by_one.domains import Domains, Place
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.pods.rules import FREE
from treenail.domain.packing.pods.terms import Term
from treenail.domain.packing.topology.scope import Scope

_pods: Final = attrgetter("pods")


@dataclass(slots=True, eq=False)
class Guest:
    """Pods of a class on a claim, at one rung, that ask for `demand` there, `open` to several domains."""

    one: PodClass
    rung: Rung
    scope: Scope
    demand: Demand
    open: tuple[tuple[str, tuple[str, ...]], ...]
    pods: int = 0


@dataclass(slots=True, eq=False)
class OpenClaim:
    """A node to be bought. `row` is the cheapest type it may be, `reserved` those it may be at all.

    What it `refused` once it refuses for good: it only fills up.
    """

    family: Family
    load: Floats
    row: int
    reserved: Bools | None
    pods: int = 0
    company: Company = field(default_factory=Company)
    guests: dict[tuple[int, Demand, Rung], Guest] = field(default_factory=dict)
    refused: set[tuple[int, Demand, int]] = field(default_factory=set)


class OpenClaims:
    """The claims opened so far, in order, and how much of the limits they take.

    At first a claim takes of the limits what the largest type it could be has, as in Karpenter. From
    `be_bold` on, all are counted with the types they would be, in `ledger`.
    """

    def __init__(self, chains: Chains, domains: Domains, terms: Mapping[int, Term]) -> None:
        self.claims: list[OpenClaim] = []
        # The same, the emptiest first: as in Karpenter, one of as many pods keeps its place before others.
        self._in_turn: list[OpenClaim] = []
        self.ledger = Ledger()
        self._chains = chains
        self._families = chains.families
        self._domains = domains
        self._terms = terms
        self._cautious: Ledger | None = Ledger()

    def be_bold(self) -> None:
        """From now on, count claims with the types they would be."""
        self._cautious = None
        for claim in self.claims:
            claim.refused.clear()

    def settle(self, note: Callable[[Guest, int], None]) -> None:
        """Decide on one domain for each claim that is open to several, from now on at once.

        `note` takes back, and makes again, what guests count where.
        """
        self._domains.leave_open = False
        for claim in self.claims:
            for key in sorted({key for guest in claim.guests.values() for key, _ in guest.open}):
                self._settle(claim, key, note)

    def _settle(self, claim: OpenClaim, key: str, note: Callable[[Guest, int], None]) -> None:
        guests = [guest for guest in claim.guests.values() if key in dict(guest.open)]
        own = claim.family.requirements.get(key)
        for value in dict(guests[0].open)[key]:
            if (own is not None and not own.has(value)) or any(
                value not in dict(guest.open)[key] for guest in guests
            ):
                continue
            places = [
                self._domains.pinned(Place(claim.family, guest.demand, guest.open), key, value)
                for guest in guests
            ]
            family = places[0].family if places[0] is not None else None
            row = None if family is None else self._row(family, claim.load, self._allowed(claim, family))
            if family is None or row is None or not self._leaves_choice(claim, family, row, claim.load):
                continue
            if family.template.limited:
                own_capacity = claim.family.capacity[claim.row]
                self.ledger.take(family.template, family.capacity[row] - own_capacity)
            claim.family, claim.row = family, row
            for guest, place in zip(guests, places, strict=True):
                assert place is not None  # noqa: S101 (all meet the same node)
                note(guest, -1)
                guest.demand, guest.open = place.demand, place.open
                note(guest, 1)
            return

    def join(self, one: PodClass, rung: Rung, scope: Scope) -> Place | None:
        """Put a pod on the claim with the fewest pods that takes it; return what that became."""
        asked = (id(one.requests), rung.demand, id(scope.rules))
        self._in_turn.sort(key=_pods)
        for claim in self._in_turn:
            if asked in claim.refused or not self._in_company(claim, scope):
                continue
            wanted = self._families.of(claim.family.template.index, rung.demand)
            both = self._families.meet(claim.family, wanted) if wanted is not None else None
            load = claim.load + one.requests
            held = None if both is None else self._held(claim, both, load, scope)
            if both is None or held is None:
                claim.refused.add(asked)
                continue
            for place in self._domains.places(both, rung.demand, scope):
                row: int | None = held
                if place.family is not both:
                    row = self._row(place.family, load, self._allowed(claim, place.family))
                if row is not None and self._leaves_choice(claim, place.family, row, load):
                    self._grow(claim, place, row, one, rung, scope)
                    return place
        return None

    def open(self, one: PodClass, rung: Rung, scope: Scope) -> Place | None:
        """Put a pod on a new claim of the first pool that can have one; return what that is."""
        if scope.together and not scope.may_begin:
            return None
        if scope.rules is not FREE and most_joining(Company(), scope.rules, self._terms) < 1:
            return None
        for family in self._new(rung.demand):
            for place in self._domains.places(family, rung.demand, scope):
                able = self._able(place.family, one.requests, self._allowed(None, place.family))
                if able is not None and self._leaves_choice(
                    None, place.family, int(able.argmax()), one.requests
                ):
                    self._open(place, able, one, rung, scope)
                    return place
        return None

    def _new(self, demand: Demand) -> Iterator[Family]:
        for template in range(len(self._families.templates)):
            family = self._families.of(template, demand)
            if family is not None and self._chains.affordable(family):
                yield family

    def _in_company(self, claim: OpenClaim, scope: Scope) -> bool:
        if not scope.together:
            return True
        return all(claim.company.counted.get(r.group.index) for r in scope.together) or scope.may_begin

    def _held(self, claim: OpenClaim, family: Family, load: Floats, scope: Scope) -> int | None:
        """Return the row of the cheapest type of `family` that may hold `load` (R) on a claim, if any."""
        if scope.rules is not FREE and most_joining(claim.company, scope.rules, self._terms) < 1:
            return None
        return self._row(family, load, self._allowed(claim, family))

    def _allowed(self, claim: OpenClaim | None, family: Family) -> Bools | None:
        """Return of which types (U) a claim may be, or a new one; None where limits do not matter."""
        if not family.template.limited:
            return None
        if claim is None:
            return (self.ledger if self._cautious is None else self._cautious).allowed(family)
        if self._cautious is not None:
            assert claim.reserved is not None  # noqa: S101 (all were opened with caution so far)
            reserved: Bools = claim.reserved[family.types]
            return reserved
        return self.ledger.allowed(family, claim.family.capacity[claim.row])

    def _leaves_choice(self, changed: OpenClaim | None, family: Family, row: int, load: Floats) -> bool:
        """Tell whether all claims leave enough choice when one is `changed`, or opened, to hold `load` (R).

        Not asked with caution: what a claim lists is then set aside for it.
        """
        if self._cautious is not None or not family.template.limited:
            return True
        after = [
            (family, row, load) if claim is changed else (claim.family, claim.row, claim.load)
            for claim in self.claims
        ]
        if changed is None:
            after.append((family, row, load))
        if all(each.choice is None or not each.template.limited for each, _, _ in after):
            return True
        own = 0.0 if changed is None else changed.family.capacity[changed.row]
        ledger = self.ledger.copy()
        ledger.take(family.template, family.capacity[row] - own)
        return all(listed(ledger, *each) is not None for each in after)

    def _row(self, family: Family, load: Floats, allowed: Bools | None) -> int | None:
        able = self._able(family, load, allowed)
        return None if able is None else int(able.argmax())

    def _able(self, family: Family, load: Floats, allowed: Bools | None) -> Bools | None:
        """Return which types (U) hold `load` (R) and leave enough choice together; None where none do."""
        if allowed is None:
            able = holds(family.room, load)
            return able if able[able.argmax()] else None
        able = holds(family.whole, load) & allowed
        if not able[able.argmax()] or (family.choice is not None and not family.choice.enough(able)):
            return None
        return able

    def _open(self, place: Place, able: Bools, one: PodClass, rung: Rung, scope: Scope) -> None:
        family, row, reserved = place.family, int(able.argmax()), None
        if family.template.limited:
            self.ledger.take(family.template, family.capacity[row])
            if self._cautious is not None:
                reserved = np.zeros(len(family.template.room), dtype=np.bool_)
                reserved[family.types[able]] = True
                self._cautious.take(family.template, family.capacity[able].max(axis=0))
        claim = OpenClaim(family, np.zeros_like(one.requests), row, reserved)
        self.claims.append(claim)
        self._in_turn.append(claim)
        self._admit(claim, place, one, rung, scope)

    def _grow(
        self, claim: OpenClaim, place: Place, row: int, one: PodClass, rung: Rung, scope: Scope
    ) -> None:
        family = place.family
        if family.template.limited:
            own = claim.family.capacity[claim.row]
            self.ledger.take(family.template, family.capacity[row] - own)
        claim.family, claim.row = family, row
        self._admit(claim, place, one, rung, scope)

    def _admit(self, claim: OpenClaim, place: Place, one: PodClass, rung: Rung, scope: Scope) -> None:
        claim.load = claim.load + one.requests
        claim.pods += 1
        for group in scope.counted:
            if group.term.per_node:
                claim.company.counted[group.index] = claim.company.counted.get(group.index, 0) + 1
        for index in scope.rules.firm:
            claim.company.owned[index] = claim.company.owned.get(index, 0) + 1
        key = (one.index, place.demand, rung)
        if key not in claim.guests:
            claim.guests[key] = Guest(one, rung, scope, place.demand, place.open)
        claim.guests[key].pods += 1
