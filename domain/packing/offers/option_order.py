"""Node options in the order to be tried for a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOption, NodeOptions
from treenail.domain.packing.pods.demands import Demand


@dataclass(frozen=True, slots=True, eq=False)
class OrderedOption:
    """A node option that may be opened, and the number of the alternative that leads there."""

    alternative: int
    option: NodeOption


class OptionOrder:
    """Finds the node options for pods in the order to try them, and remembers which options hold what."""

    def __init__(self, options: NodeOptions) -> None:
        self.options = options
        self._numbers = numbering()
        self._held: dict[tuple[int, int], bool] = {}
        self._allowed: dict[int, bool] = {}
        self._known: dict[tuple[tuple[tuple[Demand, ...], ...], int], tuple[OrderedOption, ...]] = {}

    def holds(self, option: NodeOption, requests: Floats) -> bool:
        """Return whether some type of `option` holds `requests` (R)."""
        key = (option.index, self._numbers[requests])
        # Asked for each class, level and domain. There are few different options and few different requests:
        # what is left after the first time is a look-up.
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = option.holds(requests)
        return held

    def affordable(self, option: NodeOption) -> bool:
        """Return whether the limits, before anything is planned, leave at least one node of the option."""
        if not option.template.limited:
            return True
        known = self._allowed.get(option.index)
        if known is None:
            # Against limits as they are at first, so that the answer is the same in every attempt.
            known = self._allowed[option.index] = bool(RemainingLimits().allowed(option).any())
        return known

    def affordable_for(self, *demands: Demand) -> Iterator[NodeOption]:
        """Yield the options that meet all `demands` and of which limits leave a node, in order."""
        # Lazily: the first pool without limits mostly ends the search, and the templates of the others are
        # never made.
        return filter(self.affordable, self.options.of_each(*demands))

    def known(
        self, alternatives: tuple[tuple[Demand, ...], ...], requests: Floats
    ) -> tuple[OrderedOption, ...]:
        """Return the same as `of`, found once for each array of requests."""
        key = (alternatives, self._numbers[requests])
        # Kept by the alternatives' own tuples, which placement makes once for each relaxation.
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.of(alternatives, requests)
        return found

    def of(self, alternatives: Sequence[tuple[Demand, ...]], requests: Floats) -> tuple[OrderedOption, ...]:
        """Return the options in which a node can hold `requests` (R), by alternative, pools in their order.

        The list ends with the first option without limits, which holds any number of nodes.
        """
        links = []
        # Alternatives before pools: a preference is worth a pool of less weight, as in Karpenter.
        for number, demands in enumerate(alternatives):
            for option in self.affordable_for(*demands):
                if not self.holds(option, requests):
                    continue
                links.append(OrderedOption(number, option))
                # Nothing after it would ever be tried: it never runs out.
                if not option.template.limited:
                    return tuple(links)
        return tuple(links)
