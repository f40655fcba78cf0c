"""Choices of domains for new nodes, made where topology terms need to know the domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Final, NamedTuple

from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import Taint
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OptionOrder, OrderedOption
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.topology.universe import Universe


class DomainKeys(NamedTuple):
    """The topology keys that pods need the domain of a new node for.

    A label among `keys` must have a value; a node may do without those of them in `apart_keys`. `targets` are
    chosen where they have any domain.
    """

    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    apart_keys: tuple[str, ...] = ()


ANYWHERE: Final = DomainKeys()


@dataclass(frozen=True, slots=True, eq=False)
class DomainChoice:
    """New nodes in one domain of each topology key that was asked for.

    `demand` is the pods' demand, pinned to these domains. `known` are the labels that every such node has,
    whatever pool it is of. `requirements` and `taints` are those of the first pool that can make one.
    `number` is its place among the choices of one demand.
    """

    number: int
    demand: Demand
    known: Mapping[str, str]
    requirements: Requirements
    taints: tuple[Taint, ...]


class DomainChoices:
    """The choices of each demand, made once for a problem: they depend on no counts and no limits."""

    def __init__(self, option_order: OptionOrder, demands: Demands, universe: Universe) -> None:
        self._option_order = option_order
        self._demands = demands
        self._universe = universe
        self._numbers = numbering()
        self._known: dict[tuple[Demand, DomainKeys], tuple[DomainChoice, ...]] = {}
        self._options: dict[tuple[Demand, int], tuple[OrderedOption, ...]] = {}
        self._prices: dict[tuple[Demand, int], float] = {}
        self._by_price: dict[tuple[Demand, DomainKeys, int, bool], tuple[DomainChoice, ...]] = {}

    def of(self, demand: Demand, asked: DomainKeys = ANYWHERE) -> tuple[DomainChoice, ...]:
        """Return the choices for nodes that meet `demand`: one for each combination of domains of the keys.

        A label that the nodes may do without adds the choice of nodes without it.
        """
        known = self._known.get((demand, asked))
        if known is None:
            # Others only want to know the domain of a target. Where no value can be chosen, the pods go
            # without one.
            some = tuple(key for key in asked.targets if self._values(demand, key))
            made = tuple(self._made(demand, (*asked.keys, *some), asked.apart_keys))
            known = self._known[demand, asked] = made
        return known

    def by_price(
        self, demand: Demand, asked: DomainKeys, requests: Floats, *, unlimited_first: bool
    ) -> tuple[DomainChoice, ...]:
        """Return the choices that have a type for `requests` (R), the cheapest first.

        With `unlimited_first`, those come before that no limit can end.
        """
        # Equal requests are one array in a problem: the parser interns them.
        key = (demand, asked, self._numbers[requests], unlimited_first)
        known = self._by_price.get(key)
        if known is None:
            held = [choice for choice in self.of(demand, asked) if self.options(choice, requests)]
            held.sort(
                key=lambda choice: (
                    # Pods that must all be in one domain would be split by a limit that ends there; a dearer
                    # zone without one holds them all.
                    unlimited_first and self.limited(choice, requests),
                    self.price(choice, requests),
                    # Equal prices are common: spot prices of zones, and types made for tests. The order must
                    # not depend on anything but the problem.
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
        # Pods that ask for a value of the label cannot go without it, whatever keeps them apart.
        own = demand.requirements.get(key)
        wanted = own is not None and not own.negative
        return [] if wanted or not self._universe.any_lacking(key) else [None]

    def options(self, choice: DomainChoice, requests: Floats) -> tuple[OrderedOption, ...]:
        """Return the node options of a choice that hold `requests` (R), in the order they are tried."""
        key = (choice.demand, self._numbers[requests])
        known = self._options.get(key)
        if known is None:
            known = self._options[key] = self._option_order.of(((choice.demand,),), requests)
        return known

    def limited(self, choice: DomainChoice, requests: Floats) -> bool:
        """Return whether limits may be reached by nodes of a choice that hold `requests` (R)."""
        options = self.options(choice, requests)
        # They end with the first pool without limits. If the last one has limits, every one has.
        return not options or bool(options[-1].option.template.limited)

    def price(self, choice: DomainChoice, requests: Floats) -> float:
        """Return the cost of the cheapest node of a choice that holds `requests` (R), $/h, infinite without.

        It is of the first pool that has one.
        """
        key = (choice.demand, self._numbers[requests])
        if key not in self._prices:
            options = self.options(choice, requests)
            self._prices[key] = _cheapest(options[0].option, requests) if options else inf
        return self._prices[key]

    def _made(self, demand: Demand, keys: tuple[str, ...], apart_keys: tuple[str, ...]) -> list[DomainChoice]:
        choices: list[DomainChoice] = []
        values: list[list[str | None]] = [
            [*self._values(demand, key), *self._none(demand, key, apart_keys)] for key in keys
        ]
        # The product grows with each key that several domains are chosen of: zone and capacity type make at
        # most a dozen. Only the combinations that some pool sells are kept.
        for combination in product(*values):
            # Pinning makes a demand that is found by its identity later, so equal combinations share their
            # node options.
            pinned = demand
            for key, value in zip(keys, combination, strict=True):
                if value is None:
                    pinned = self._demands.without(pinned, key)
                else:
                    pinned = self._demands.pinned(pinned, key, value)
            some = list(self._option_order.options.of_each(pinned))
            if some:
                first = some[0]
                taints = first.template.offer.pool.taints
                choices.append(DomainChoice(len(choices), pinned, _sure(some), first.requirements, taints))
        return choices


def _cheapest(option: NodeOption, requests: Floats) -> float:
    row = option.cheapest_holding(requests)
    return inf if row is None else float(option.prices[row])


def _sure(options: Sequence[NodeOption]) -> dict[str, str]:
    """Return the labels that every node of these node options has, with their single value."""
    # A group may be counted in a domain only where all pools agree on it: which pool the node is of is
    # decided when nodes are planned, much later.
    first, *others = (option.requirements for option in options)
    sure = {key: single for key, r in first.items() if (single := r.single) is not None}
    for other in others:
        sure = {key: value for key, value in sure.items() if key in other and other[key].single == value}
    return sure
