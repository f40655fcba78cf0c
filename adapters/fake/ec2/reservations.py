"""Capacity reservations: who may use each, and how much of it is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from treenail.adapters.api.account import ReservedCapacity
from treenail.adapters.fake.ec2.selectors import fits
from treenail.domain.model.capacity_reservations import CapacityReservation, Count
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.model.runtime import Agenda


class Reservations:
    """The reservations of an account. `on_end` hears of those that end, of capacity blocks before that."""

    def __init__(self, agenda: Agenda) -> None:
        self.on_end: Callable[[ReservedCapacity], None] = lambda _: None
        self._agenda = agenda
        self._active: dict[str, ReservedCapacity] = {}
        self._in_use: Counter[str] = Counter()

    def add(self, reserved: ReservedCapacity) -> None:
        """Add a reservation.

        Raises:
            ValueError: its id is taken, or it has no instances, or it has ended.
        """
        now = self._agenda.now()
        ended = reserved.ends_at is not None and reserved.ends_at <= now
        if reserved.id in self._active or reserved.instances < 1 or ended:
            raise ValueError(f"a reservation {reserved.id} of {reserved.instances} cannot be made")
        self._active[reserved.id] = reserved
        if reserved.ends_at is not None:
            # EC2 ends the instances of a block before it ends itself.
            until = reserved.known_as.instances_end_at or reserved.ends_at
            seconds = max(0.0, (until - now).total_seconds())
            self._agenda.call_at(self._agenda.monotonic() + seconds, partial(self.cancel, reserved.id))

    def cancel(self, reservation_id: str) -> None:
        """End a reservation, unless it has ended."""
        ended = self._active.pop(reservation_id, None)
        if ended is not None:
            self.on_end(ended)

    def counts(self, node_class: NodeClass) -> tuple[Count, ...]:
        """Return the reservations that a node class selects, and what is left of each now."""
        now = self._agenda.now()
        return tuple(
            Count(of=one.known_as.as_of(now), left=self.left(one.id), at=now)
            for _, one in sorted(self._active.items())
            if any(_means(term, one) for term in node_class.reservation_terms)
        )

    def all(self) -> tuple[CapacityReservation, ...]:
        """Return all reservations in their present state, sorted by id."""
        now = self._agenda.now()
        return tuple(one.known_as.as_of(now) for _, one in sorted(self._active.items()))

    def left(self, reservation_id: str) -> int:
        """Return how many more instances fit a reservation."""
        one = self._active.get(reservation_id)
        return 0 if one is None else max(0, one.instances - self._in_use[reservation_id])

    def take(self, reservation_id: str) -> None:
        """Take the place of one instance; "" is none."""
        self._in_use[reservation_id] += 1

    def give_back(self, reservation_id: str) -> None:
        """Give one place back."""
        self._in_use[reservation_id] -= 1


def _means(term: SelectorTerm, one: ReservedCapacity) -> bool:
    """Return whether a term selects a reservation; without tags it has whatever tags are asked for."""
    if term.id:
        return term.id == one.id
    return (
        term.owner in ("", one.owner)
        and term.match_criteria in ("", one.match_criteria)
        and (one.tags is None or all(_bears(one.tags, key, value) for key, value in term.tags))
    )


def _bears(tags: Mapping[str, str], key: str, value: str) -> bool:
    return key in tags and fits(tags[key], value)
