"""Plan the nodes for all pods that are to get new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.draft.drafts import Draft, placed_in
from treenail.domain.packing.draft.finishing import Finishing
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import NodeRules
from treenail.domain.packing.nodes.cheapest import Cheapest
from treenail.domain.packing.nodes.components import Component, components
from treenail.domain.packing.nodes.first_fit import FirstFit
from treenail.domain.packing.nodes.loosening import loosened
from treenail.domain.packing.nodes.squeezing import Squeezing
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.offers.families import Families
from treenail.domain.packing.offers.limits import Ledger
from treenail.domain.packing.problem import Packing, Settings
from treenail.domain.packing.reading import Reading

# With more lots than this, first-fit is only made where something needs it.
_MANY_LOTS: Final = 250


class NodePlanner:
    """Plans nodes for lots, as often as it is asked to: the last plan is what counts.

    `ledger` counts its nodes against limits. `problems` are what went wrong without harm to where pods go.
    """

    def __init__(self, families: Families, reading: Reading, settings: Settings, steps: Steps) -> None:
        self.ledger = Ledger()
        self.problems: list[str] = []
        self._families = families
        self._reading = reading
        self._settings = settings
        self._steps = steps
        # The components of the lots planned last, and their bounds.
        self._parted: tuple[tuple[Lot, ...], list[Component]] = ((), [])
        self._bounds: dict[tuple[Component, tuple[int, ...]], float] = {}
        # For each of them, its nodes, and for some, by place, the first-fit nodes that cheaper ones are yet
        # to be looked for instead of.
        self._made: list[list[Draft]] = []
        self._units: dict[int, int] = {}
        self._waiting: set[int] = set()

    def planned(self, lots: Sequence[Lot]) -> list[Draft]:
        """Return the nodes for `lots`, component by component, less those that limits leave too few types.

        They hold who will have a node in the end; some may be dearer than need be until `cheaper` is asked.
        """
        units = {lot.index: lot.units for lot in lots}
        self._rules = self._rules_of(lots)
        self.ledger = Ledger()
        if not self._wants_first_fit(lots):
            drafts = self._planned(lots, None, units)
            limited = any(link.family.template.limited for lot in lots for link in lot.chain)
            left = sum(units.values()) - sum(placed_in(drafts).values())
            if self._steps.exhausted or not (limited and left):
                return drafts
            # Where limits leave some out, first-fit leaves out no pod that Karpenter would place.
            self.ledger = Ledger()
        first = self._first_fit(lots, units)
        # Cheaper nodes never hold fewer. Where limits count, what a component takes is left to no other.
        whole = sum(placed_in(first).values()) == sum(units.values()) and not _may_lack_choice(first)
        return self._planned(lots, first, units, lambda component: whole or not component.limited)

    def cheaper(self) -> list[Draft]:
        """Return the nodes planned last, once cheaper ones have been looked for everywhere."""
        first, before = self._all_made(), self.ledger.copy()
        for at in sorted(self._waiting):
            component = self._parted[1][at]
            self._made[at] = self._of_component(component, self._made[at], self._units)
        self._waiting.clear()
        return self._unless_fewer(self._of_enough_choice(self._all_made()), first, before)

    def planned_from(self, lots: Sequence[Lot], first: list[Draft], ledger: Ledger) -> list[Draft]:
        """Return nodes for `lots` that are no worse than `first`, which `ledger` counts."""
        self._rules = self._rules_of(lots)
        self.ledger, before = ledger, ledger.copy()
        drafts = self._planned(lots, first, {lot.index: lot.units for lot in lots})
        return self._unless_fewer(drafts, first, before)

    def _unless_fewer(self, drafts: list[Draft], first: list[Draft], before: Ledger) -> list[Draft]:
        """Return `drafts`, or `first`, counted by the ledger `before`, if those left some too few types."""
        if sum(placed_in(drafts).values()) >= sum(placed_in(first).values()):
            return drafts
        self.ledger = before
        return self._of_enough_choice(first)

    def _all_made(self) -> list[Draft]:
        return [draft for drafts in self._made for draft in drafts]

    def _planned(
        self,
        lots: Sequence[Lot],
        first: list[Draft] | None,
        units: dict[int, int],
        may_wait: Callable[[Component], bool] = lambda _: False,
    ) -> list[Draft]:
        """Plan nodes for each component, but leave it at `first` where that holds all and it `may_wait`."""
        self._parted, self._bounds = (tuple(lots), components(lots, self._families)), {}
        self._made, self._units, self._waiting = [], units, set()
        for at, component in enumerate(self._parted[1]):
            members = {lot.index for lot in component.lots}
            own = None if first is None else [d for d in first if not members.isdisjoint(d.parts)]
            if own is not None and may_wait(component) and _holds(own, component, units):
                self._waiting.add(at)
                self._made.append(own)
            else:
                self._made.append(self._of_component(component, own, units))
        return self._of_enough_choice(self._all_made())

    def squeeze(
        self, drafts: list[Draft], lots: Sequence[Lot], lot: Lot, units: int
    ) -> tuple[list[Draft], int]:
        """Put so many units of `lot`, one of `lots`, on nodes planned: return the nodes, and what is left."""
        rules = self._rules_of(lots)
        squeezing = Squeezing(drafts, self._families, self.ledger, rules, self._stand)
        left = squeezing.place(lot, units)
        return squeezing.drafts, left

    def bound(self, lots: Sequence[Lot], drafts: Sequence[Draft], chains: Chains) -> float:
        """Return what nodes for `lots` must cost at least ($/h), whatever domains are chosen for them."""
        loose, units = loosened(lots, chains)
        templates = {draft.family.template.index for draft in drafts}
        planned, found = self._parted
        opened = {link.family.template.index for lot in planned for link in lot.chain}
        if len(loose) != len(planned) or set(loose) != set(planned) or not templates <= opened:
            found = components(loose, self._families, templates)
        return sum(self._bound_of(component, units) for component in found)

    def _bound_of(self, component: Component, units: Mapping[int, int]) -> float:
        key = (component, tuple(units.get(lot.index, 0) for lot in component.lots))
        known = self._bounds.get(key)
        if known is None:
            known = self._bounds[key] = component.lower_bound(units, self._reading.groups.terms)
        return known

    def finishing(self) -> Finishing:
        """Return what makes claims of the nodes planned."""
        return self._finishing(self.ledger)

    def _rules_of(self, lots: Sequence[Lot]) -> NodeRules:
        return NodeRules(self._reading.groups.terms, lots)

    def _wants_first_fit(self, lots: Sequence[Lot]) -> bool:
        """Tell whether the classic plan is wanted from the start, as a plan or to compare with.

        Many pods with terms of their own take it long.
        """
        return self._settings.packing is not Packing.CHEAPEST or self._rules.none or len(lots) <= _MANY_LOTS

    def _first_fit(self, lots: Sequence[Lot], units: dict[int, int]) -> list[Draft]:
        """Return first-fit's nodes for all lots but those it fails on: these leave no trace in it."""
        columns = len(self._reading.axis.names)
        failed: set[int] = set()
        while True:
            self.ledger = Ledger()
            first_fit = FirstFit(self._families, self.ledger, self._steps, columns, self._rules)
            known = len(failed)
            waiting = [(lot, units[lot.index]) for lot in lots if lot.index not in failed]
            waiting = self._place(first_fit, waiting, failed)
            first_fit.be_bold()
            if waiting and len(failed) == known:
                self._place(first_fit, waiting, failed)
            if len(failed) == known:
                return first_fit.drafts()

    def _place(
        self, first_fit: FirstFit, waiting: Sequence[tuple[Lot, int]], failed: set[int]
    ) -> list[tuple[Lot, int]]:
        """Let first-fit place lots; return what is left of them. Those it fails on are noted in `failed`."""
        still = []
        for lot, units in waiting:
            # What is decided stands; the rest is deferred.
            if self._steps.exhausted:
                break
            try:
                left = first_fit.place(lot, units)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others must go on)
                failed.add(lot.index)
                for index in lot.classes():
                    self._reading.set_aside(index, error)
                break
            if left:
                still.append((lot, left))
        return still

    def _of_component(
        self, component: Component, first: list[Draft] | None, units: dict[int, int]
    ) -> list[Draft]:
        """Take first-fit's nodes for the lots of a component, or cheaper ones."""
        if self._settings.packing is not Packing.CHEAPEST and first is not None:
            return first
        return self._cheapest(component, first, units)

    def _cheapest(
        self, component: Component, first: list[Draft] | None, units: dict[int, int]
    ) -> list[Draft]:
        """Look for cheaper nodes than first-fit's; should that fail, take these."""
        wanted = [units[lot.index] for lot in component.lots]
        ledger, most = self.ledger.copy(), self._settings.most_nodes
        cheapest = Cheapest(component, self._families, ledger, self._steps, self._rules, most)
        try:
            if first is None:
                drafts = cheapest.fresh(wanted)
            else:
                bound = self._bound_of(component, placed_in(first))
                drafts = cheapest.improve(wanted, first, bound)
        except Exception as error:  # noqa: BLE001 (dearer nodes are better than none)
            self.problems.append(f"cheaper nodes were not found: {type(error).__name__}: {error}")
            # Without a first plan there is no limit that could have been counted against.
            return self._first_fit(component.lots, units) if first is None else first
        self.ledger = ledger
        return drafts

    def _of_enough_choice(self, drafts: list[Draft]) -> list[Draft]:
        """Return `drafts` but for those that limits leave too few types."""
        if not _may_lack_choice(drafts):
            return drafts
        trial = self._finishing(self.ledger.copy())
        kept = []
        for draft in drafts:
            copies = sum(trial.claim(draft, {}) is not None for _ in range(draft.copies))
            if copies:
                kept.append(replace(draft, copies=copies))
        return kept

    def _stand(self, drafts: list[Draft]) -> bool:
        """Tell whether limits leave every draft enough types."""
        return len(self._of_enough_choice(drafts)) == len(drafts)

    def _finishing(self, ledger: Ledger) -> Finishing:
        requests = [kind.spec.requests for kind, _ in self._reading.parts]
        return Finishing(ledger, self._reading.axis, requests)


def _may_lack_choice(drafts: Sequence[Draft]) -> bool:
    return any(draft.family.choice is not None and draft.family.template.limited for draft in drafts)


def _holds(drafts: Sequence[Draft], component: Component, units: Mapping[int, int]) -> bool:
    """Tell whether `drafts`, which are a component's, hold all units of it."""
    return sum(placed_in(drafts).values()) == sum([units[lot.index] for lot in component.lots])
