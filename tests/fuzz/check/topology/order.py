"""Looks for an order of placing pods in which each was allowed where it is when it was placed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from tests.fuzz.check.homes import Home
from tests.fuzz.check.pods import Shape
from tests.fuzz.check.topology.rules import SpreadRule, Tally, TermRule

Rule: TypeAlias = SpreadRule | TermRule
Item: TypeAlias = tuple[Shape, Home]

_TRIES: Final = 40


class Placing:
    """What there was before (`settled`), what is to be placed, and the rules by their owners."""

    def __init__(
        self, settled: Sequence[Item], wanted: Counter[Item], rules: Mapping[Shape, Sequence[Rule]]
    ) -> None:
        self._settled = Counter(settled)
        self.wanted = wanted
        self.shapes = list(dict.fromkeys(shape for shape, _ in wanted))
        self.rules = {shape: rules[shape] for shape in self.shapes}
        self.selects = {
            rule: {shape for shape in self.shapes if rule.selects(shape)}
            for shape in self.shapes
            for rule in self.rules[shape]
        }

    def tallies(self) -> dict[Rule, Tally]:
        found = {rule: Tally(rule) for rule in self.selects}
        for tally in found.values():
            for (shape, home), count in self._settled.items():
                tally.add(shape, home, count)
        return found


def in_some_order(placing: Placing) -> list[Item]:
    """Return nothing if an order was found, else what was left to place in the best try."""
    best: list[Item] = list(placing.wanted)
    dice = random.Random(0)
    for attempt in range(_TRIES):
        left = _Attempt(placing, attempt, dice).run()
        if not left:
            return []
        if len(left) < len(best):
            best = left
    return best


class _Attempt:
    """Places one pod after the other: which of those allowed, a strategy says."""

    def __init__(self, placing: Placing, number: int, dice: random.Random) -> None:
        self._placing = placing
        self._tallies = placing.tallies()
        self._left = Counter(placing.wanted)
        self._number = number
        self._dice = dice

    def run(self) -> list[Item]:
        while self._left:
            allowed = [item for item in self._left if self._allowed(item)]
            if not allowed:
                break
            self._place(min(allowed, key=self._rank))
        return list(self._left)

    def _allowed(self, item: Item) -> bool:
        shape, home = item
        return all(
            rule.allows(home, self._tallies[rule], more=int(shape in self._placing.selects[rule]))
            for rule in self._placing.rules[shape]
        )

    def _rank(self, item: Item) -> tuple[float, ...]:
        """Say what to place first: owners of rules, then the rest; or the other way; or by lot."""
        shape, home = item
        crowd = max(
            (
                self._tallies[rule].most(domain)
                for rule, selected in self._placing.selects.items()
                if shape in selected
                for domain in home.landings(rule.key)
            ),
            default=0,
        )
        free = not self._placing.rules[shape]
        if self._number == 0:
            return (free, crowd)
        if self._number == 1:
            return (not free, crowd)
        return (crowd + 3 * self._dice.random(), self._dice.random())

    def _place(self, item: Item) -> None:
        shape, home = item
        self._left[item] -= 1
        if not self._left[item]:
            del self._left[item]
        for rule, selected in self._placing.selects.items():
            if shape in selected:
                self._tallies[rule].add(shape, home)
