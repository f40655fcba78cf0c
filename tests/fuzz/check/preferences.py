"""Preferences that were given up, and those of them that need not have been."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.elsewhere import Elsewhere, Wish
from tests.fuzz.check.homes import Home
from tests.fuzz.check.pods import Pod, Shape
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.taints import first_refused
from tests.fuzz.check.topology.domains import Domains
from tests.fuzz.check.topology.rules import SpreadRule, Tally, TermRule


@dataclass(frozen=True)
class GivenUp:
    """A preference of a pod that its place does not keep; `needless` if a new node of its own would have."""

    pod: str
    preference: str
    needless: bool


def given_up(decision: Decision, elsewhere: Elsewhere) -> Iterator[GivenUp]:
    """Yield one entry for each preference and shape on each home."""
    residents = [(pod.shape, home) for pod, home in decision.residents()]
    wishes = _Wishes(decision.scenario)
    seen: set[tuple[Shape, Home]] = set()
    for name, home in decision.placed.items():
        pod = decision.scenario.pending[name]
        if (pod.shape, home) in seen:
            continue
        seen.add((pod.shape, home))
        yield from _of_pod(pod, home, wishes, residents, elsewhere)


def _of_pod(
    pod: Pod, home: Home, wishes: _Wishes, residents: Sequence[tuple[Shape, Home]], elsewhere: Elsewhere
) -> Iterator[GivenUp]:
    for preference, wish in wishes.of(pod.shape):
        if not _kept(pod.shape, home, wish, residents):
            yield GivenUp(pod.name, preference, elsewhere.alone(pod, wish, home) is not None)


class _Wishes:
    """The preferences of shapes, each with the wish it comes to."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._domains = Domains(scenario)

    def of(self, shape: Shape) -> Iterator[tuple[str, Wish]]:
        """Yield preferences; of those for nodes the heaviest alone, for they are alternatives."""
        if shape.wishes:
            heaviest = max(shape.wishes, key=lambda wish: wish[0])
            yield "node affinity", Wish(term=heaviest[1])
        for term in shape.pod_terms:
            if term.weight is not None:
                rule = TermRule(shape, term, self._scenario)
                yield str(rule), Wish(apart=(rule,)) if term.anti else Wish(rules=(rule,))
        for spread in shape.spreads:
            if not spread.hard:
                rules = (SpreadRule(shape, spread, self._domains),)
                yield str(rules[0]), Wish(rules=rules)
        yield "taints", Wish(untainted=True)


def _kept(shape: Shape, home: Home, wish: Wish, residents: Sequence[tuple[Shape, Home]]) -> bool:
    if wish.untainted:
        return first_refused(shape.tolerations, home.taints, preferred=True) is None
    if not home.meets([wish.term]):
        return False
    for rule in wish.rules:
        tally = Tally(rule)
        for other, where in residents:
            tally.add(other, where)
        if isinstance(rule, TermRule):
            tally.add(shape, home, -1)
        if not rule.allows(home, tally, more=int(isinstance(rule, TermRule) and rule.selects(shape))):
            return False
    return all(_apart(rule, home, residents) for rule in wish.apart)


def _apart(rule: TermRule, home: Home, residents: Sequence[tuple[Shape, Home]]) -> bool:
    mates = sum(
        1
        for other, where in residents
        if rule.selects(other) and where.landings(rule.key) & home.landings(rule.key)
    )
    return mates <= int(rule.selects(rule.owner))
