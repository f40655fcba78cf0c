"""Place pods one by one in the order Karpenter takes them, so that whoever it places is placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from treenail.domain.packing.draft.drafts import Draft
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.outcome import Outcome
from treenail.domain.packing.draft.seats import Seat
from treenail.domain.packing.ground import Ground
from treenail.domain.packing.offers.limits import Ledger
from treenail.domain.packing.one_by_one.domains import Domains, Place
from treenail.domain.packing.one_by_one.open_claims import Guest, OpenClaim, OpenClaims
from treenail.domain.packing.placement.room_seats import RoomSeats
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.pods.rules import Rules
from treenail.domain.packing.pods.terms import Kind
from treenail.domain.packing.topology.choices import Choice
from treenail.domain.packing.topology.scope import Scope


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

    def __init__(self, ground: Ground, rooms: RoomSeats, outcome: Outcome) -> None:
        self._rooms = rooms
        self._chains = ground.chains
        self._choices = ground.choices
        self._scopes = ground.scopes
        self._outcome = outcome
        self._steps = ground.steps
        domains = Domains(ground.chains, ground.reading.demands, ground.universe)
        self._open = OpenClaims(ground.chains, domains, ground.scopes.terms)

    @property
    def ledger(self) -> Ledger:
        """What the claims take of limits, each counted with the type it would be."""
        return self._open.ledger

    def place(self, classes: Sequence[PodClass], failed: Callable[[int, Exception], None]) -> None:
        """Place the pods of `classes`, those of negative priority after all others.

        A class (by index) on which that fails is told to `failed`, and goes no further.
        """
        real = [one for one in classes if one.spec.priority >= 0]
        rest = [one for one in classes if one.spec.priority < 0]
        for some in (real, rest):
            self._turns(some, lambda one: one.ladder.classic, failed)
            self._open.be_bold()
            self._open.settle(lambda guest, sign: self._note(guest.scope, guest, sign * guest.pods))
            self._turns(some, lambda one: one.ladder.rungs, failed)

    def _turns(
        self,
        classes: Sequence[PodClass],
        rungs: Callable[[PodClass], Sequence[Rung]],
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
                    placed += self._place(run, rungs(run.one))
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

    def _place(self, run: _Run, rungs: Sequence[Rung]) -> int:
        """Place pods of a run until one finds nothing; return how many found a place."""
        before = run.pods
        while run.pods and not self._steps.exhausted:
            taken = next((pods for rung in rungs if (pods := self._tried(run, rung))), 0)
            if not taken:
                break
            run.pods -= taken
        return before - run.pods

    def _tried(self, run: _Run, rung: Rung) -> int:
        """Place a pod as it asks at a rung, or several where they do not depend on each other."""
        self._steps.spend()
        one = run.one
        scope = self._scopes.of(one, rung)
        if scope.depends:
            if self._rooms.first(one, rung, scope):
                return 1
        elif rung is one.ladder.rungs[0] and (placed := self._rooms.seat(one, rung, scope, run.pods)):
            return placed
        elif self._rooms.seat(one, rung, scope, 1):
            return 1
        place = self._open.join(one, rung, scope) or self._open.open(one, rung, scope)
        if place is None:
            return 0
        self._outcome.seated(one.index, 1, scope.given_up)
        self._note(scope, place, 1)
        return 1

    def _note(self, scope: Scope, where: Place | Guest, pods: int) -> None:
        """Count so many pods more where they are: those that keep others off, wherever their node may be."""
        choice = self._choice(where.demand)
        scope.note_new(choice, pods)
        for key, values in where.open:
            for value in () if key in choice.known else values:
                for group in scope.counted:
                    if group.term.key == key and group.term.kind is Kind.APART:
                        group.count(value, pods)
                for group in scope.apart:
                    if group.term.key == key:
                        group.own(value, pods)

    def _choice(self, demand: Demand) -> Choice:
        (choice,) = self._choices.of(demand, (), ())
        return choice

    def planned(self) -> tuple[list[Lot], list[Draft]]:
        """Return who is on the claims as lots, and the claims as nodes for these."""
        by_key: dict[tuple[int, Demand, Rules], Lot] = {}
        lots: list[Lot] = []
        drafts = []
        for number, claim in enumerate(self._open.claims):
            parts: dict[int, int] = {}
            if any(guest.scope.together for guest in claim.guests.values()):
                lots.append(self._bundle(number, claim))
                parts[lots[-1].index] = 1
            else:
                for guest in claim.guests.values():
                    lot = self._lot(by_key, lots, guest)
                    parts[lot.index] = parts.get(lot.index, 0) + guest.pods
            drafts.append(Draft(claim.family, claim.row, claim.load, parts))
        return lots, drafts

    def _lot(self, by_key: dict[tuple[int, Demand, Rules], Lot], lots: list[Lot], guest: Guest) -> Lot:
        one, demand = guest.one, guest.demand
        key = (id(one.requests), demand, guest.scope.rules)
        if key not in by_key:
            asked = ((demand,),)
            chain = self._chains.of(asked, one.requests)
            by_key[key] = Lot(len(by_key), one.requests, asked, chain, guest.scope.rules)
            lots.append(by_key[key])
        seat = Seat(one, guest.rung, guest.scope, self._choice(demand))
        by_key[key].add(seat, guest.pods, next(self._rooms.numbers))
        return by_key[key]

    def _bundle(self, number: int, claim: OpenClaim) -> Lot:
        """Return all on a claim as one unit, for some of them must share a node with others."""
        demands = (tuple(dict.fromkeys(guest.demand for guest in claim.guests.values())),)
        owned = tuple(sorted(claim.company.owned))
        rules = Rules(owned, tuple(sorted(claim.company.counted.items())), owned)
        lot = Lot(-1 - number, claim.load, demands, self._chains.of(demands, claim.load), rules)
        for guest in claim.guests.values():
            lot.bundle[guest.one.index] = lot.bundle.get(guest.one.index, 0) + guest.pods
        lot.members = [(g.one, g.rung, g.scope, g.pods) for g in claim.guests.values()]
        return lot
