"""Whether the rules between pods are kept: spread, affinity, anti-affinity."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.homes import UNNAMED, Home
from tests.fuzz.check.pods import Shape
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.topology.domains import Domains
from tests.fuzz.check.topology.order import Placing, in_some_order
from tests.fuzz.check.topology.rules import SpreadRule, Tally, TermRule

Rule: TypeAlias = SpreadRule | TermRule


class Topology:
    """The rules of a scenario's pods: `orderly` hold when a pod is placed, `apart` for ever and both ways."""

    def __init__(self, scenario: Scenario) -> None:
        domains = Domains(scenario)
        shapes = dict.fromkeys(pod.shape for pod in scenario.pods.values())
        self.orderly: dict[Shape, list[Rule]] = {
            shape: [
                *(SpreadRule(shape, spread, domains) for spread in shape.spreads if spread.hard),
                *(
                    TermRule(shape, term, scenario)
                    for term in shape.pod_terms
                    if term.weight is None and not term.anti
                ),
            ]
            for shape in shapes
        }
        self.apart = [
            TermRule(shape, term, scenario)
            for shape in shapes
            for term in shape.pod_terms
            if term.weight is None and term.anti
        ]


def check_topology(decision: Decision, topology: Topology) -> Iterator[Fault]:
    for rule in topology.apart:
        yield from _check_apart(rule, decision)
    settled = [(pod.shape, home) for pod, home in decision.residents() if pod.node]
    placed = Counter((decision.scenario.pending[name].shape, home) for name, home in decision.placed.items())
    for group in _groups(placed, topology):
        broken = _broken_at_last(group, settled, topology)
        spread_alone = not any(isinstance(r, TermRule) for shape, _ in group for r in topology.orderly[shape])
        if spread_alone and not broken:
            continue
        left = in_some_order(Placing(settled, group, topology.orderly))
        for shape, home in left:
            yield _unplaceable(decision, shape, home, topology.orderly[shape], left)


def _groups(placed: Counter[tuple[Shape, Home]], topology: Topology) -> list[Counter[tuple[Shape, Home]]]:
    """Take placed pods apart into groups between which there are no rules."""
    shapes = list(dict.fromkeys(shape for shape, _ in placed))
    group_of = {shape: n for n, shape in enumerate(shapes)}
    for shape in shapes:
        for rule in topology.orderly[shape]:
            for other in shapes:
                if rule.selects(other) and group_of[other] != group_of[shape]:
                    old, new = group_of[other], group_of[shape]
                    group_of = {one: new if n == old else n for one, n in group_of.items()}
    groups: defaultdict[int, Counter[tuple[Shape, Home]]] = defaultdict(Counter)
    for (shape, home), count in placed.items():
        groups[group_of[shape]][shape, home] = count
    return [group for group in groups.values() if any(topology.orderly[shape] for shape, _ in group)]


def _broken_at_last(
    group: Counter[tuple[Shape, Home]], settled: Sequence[tuple[Shape, Home]], topology: Topology
) -> bool:
    """Return whether some spread does not hold when all pods are there."""
    for shape in dict.fromkeys(shape for shape, _ in group):
        for rule in topology.orderly[shape]:
            tally = Tally(rule)
            for other, home in settled:
                tally.add(other, home)
            for (other, home), count in group.items():
                tally.add(other, home, count)
            for other, home in group:
                if other is shape and not rule.allows(home, tally, more=0):
                    return True
    return False


def _unplaceable(
    decision: Decision, shape: Shape, home: Home, rules: Sequence[Rule], left: Sequence[tuple[Shape, Home]]
) -> Fault:
    name = next(
        n for n, h in decision.placed.items() if h is home and decision.scenario.pending[n].shape is shape
    )
    landings = {rule.key: sorted(home.landings(rule.key)) for rule in rules}
    spread = any(isinstance(rule, SpreadRule) for rule in rules)
    kinds = Kind.SPREAD if spread else Kind.AFFINITY
    what = (
        f"on {home.name}, in {landings}: no order of {len(left)} placements was found in which it is allowed"
    )
    return Fault(kinds, name, f"{'; '.join(str(rule) for rule in rules)}: {what}")


def _check_apart(rule: TermRule, decision: Decision) -> Iterator[Fault]:
    """No pod that the rule selects may be, or turn out, in a domain of one of its owners."""
    owners: defaultdict[str, list[str]] = defaultdict(list)
    others: defaultdict[str, list[str]] = defaultdict(list)
    for pod, home in decision.residents():
        for domain in home.landings(rule.key) - {UNNAMED}:
            if pod.shape is rule.owner:
                owners[domain].append(pod.name)
            if rule.selects(pod.shape):
                others[domain].append(pod.name)
    pending = decision.scenario.pending.keys()
    for domain, names in owners.items():
        pairs = ((a, b) for a in names for b in others[domain] if a != b and not pending.isdisjoint((a, b)))
        clash = next(pairs, None)
        if clash is not None:
            yield Fault(Kind.ANTI_AFFINITY, clash[0], f"{rule}: {clash[1]} may share {domain} with it")
