"""The domains a new node may be in, as far as topologies ask for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import Taint
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OptionOrder, OrderedOption
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """New nodes in one domain of each key asked for.

    `known` are the labels all of them have for sure. `requirements` on their labels, and `taints`, are those
    of the first pool that can have them.
    """

    number: int
    demand: Demand
    known: Mapping[str, str]
    requirements: Requirements
    taints: tuple[Taint, ...]


class Choices:
    """The choices of each demand, made once."""

    def __init__(self, option_order: OptionOrder, demands: Demands, universe: Universe) -> None:
        self._option_order = option_order
        self._demands = demands
        self._universe = universe
        self._known: dict[
            tuple[Demand, tuple[str, ...], tuple[str, ...], tuple[str, ...]], tuple[Choice, ...]
        ] = {}
        self._links: dict[tuple[Demand, int], tuple[OrderedOption, ...]] = {}
        self._prices: dict[tuple[Demand, int], float] = {}
        self._by_price: dict[
            tuple[Demand, tuple[str, ...], tuple[str, ...], tuple[str, ...], int, bool], tuple[Choice, ...]
        ] = {}

    def of(
        self,
        demand: Demand,
        keys: tuple[str, ...],
        targets: tuple[str, ...],
        apart_keys: tuple[str, ...] = (),
    ) -> tuple[Choice, ...]:
        """Return the choices there are for nodes that meet `demand`, one for each domain of `keys`.

        One more for nodes that will be without a label, where that is among `apart_keys`. And one for each
        domain of `targets`, unless there is none.
        """
        known = self._known.get((demand, keys, targets, apart_keys))
        if known is None:
            some = tuple(key for key in targets if self._values(demand, key))
            made = tuple(self._made(demand, (*keys, *some), apart_keys))
            known = self._known[demand, keys, targets, apart_keys] = made
        return known

    def by_price(
        self,
        demand: Demand,
        keys: tuple[str, ...],
        targets: tuple[str, ...],
        requests: Floats,
        *,
        unlimited_first: bool,
        apart_keys: tuple[str, ...] = (),
    ) -> tuple[Choice, ...]:
        """Return those choices that hold `requests` (R), the cheapest first.

        Before all others, if so asked, those where no limit is near.
        """
        key = (demand, keys, targets, apart_keys, id(requests), unlimited_first)
        known = self._by_price.get(key)
        if known is None:
            held = [
                choice
                for choice in self.of(demand, keys, targets, apart_keys)
                if self.links(choice, requests)
            ]
            held.sort(
                key=lambda choice: (
                    unlimited_first and self.limited(choice, requests),
                    self.price(choice, requests),
                    choice.number,
                )
            )
            known = self._by_price[key] = tuple(held)
        return known

    def _values(self, demand: Demand, key: str) -> list[str]:
        return self._universe.choosable(key, demand.requirements.get(key))

    def _none(self, demand: Demand, key: str, apart_keys: tuple[str, ...]) -> list[None]:
        """Return whether nodes without a label are a choice: a list of one, or of none."""
        if key not in apart_keys or key in demand.present:
            return []
        own = demand.requirements.get(key)
        wanted = own is not None and not own.negative
        return [] if wanted or not self._universe.any_lacking(key) else [None]

    def links(self, choice: Choice, requests: Floats) -> tuple[OrderedOption, ...]:
        """Return the families of a choice that hold `requests` (R)."""
        key = (choice.demand, id(requests))
        known = self._links.get(key)
        if known is None:
            known = self._links[key] = self._option_order.of(((choice.demand,),), requests)
        return known

    def limited(self, choice: Choice, requests: Floats) -> bool:
        """Return whether limits may be reached by nodes of a choice that hold `requests` (R)."""
        links = self.links(choice, requests)
        return not links or bool(links[-1].option.template.limited)

    def price(self, choice: Choice, requests: Floats) -> float:
        """Return what the cheapest node of a choice costs that holds `requests` (R), $/h.

        It is of the first pool that has one; infinite where there is none.
        """
        key = (choice.demand, id(requests))
        if key not in self._prices:
            links = self.links(choice, requests)
            self._prices[key] = _cheapest(links[0].option, requests) if links else inf
        return self._prices[key]

    def _made(self, demand: Demand, keys: tuple[str, ...], apart_keys: tuple[str, ...]) -> list[Choice]:
        choices: list[Choice] = []
        values: list[list[str | None]] = [
            [*self._values(demand, key), *self._none(demand, key, apart_keys)] for key in keys
        ]
        for combination in product(*values):
            pinned = demand
            for key, value in zip(keys, combination, strict=True):
                if value is None:
                    pinned = self._demands.without(pinned, key)
                else:
                    pinned = self._demands.pinned(pinned, key, value)
            options = self._option_order.options
            found = [options.of(template, pinned) for template in range(len(options.templates))]
            some = [option for option in found if option is not None]
            if some:
                first = some[0]
                taints = first.template.offer.pool.taints
                choices.append(Choice(len(choices), pinned, _sure(some), first.requirements, taints))
        return choices


def _cheapest(option: NodeOption, requests: Floats) -> float:
    row = option.cheapest_holding(requests)
    return inf if row is None else float(option.prices[row])


def _sure(options: Sequence[NodeOption]) -> dict[str, str]:
    """Return the labels that every node of these families has."""
    first, *others = (option.requirements for option in options)
    sure = {key: single for key, r in first.items() if (single := r.single) is not None}
    for other in others:
        sure = {key: value for key, value in sure.items() if key in other and other[key].single == value}
    return sure
