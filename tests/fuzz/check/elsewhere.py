"""Where else a pod could go when all others have their places: nodes there are or will be, or one more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from tests.fuzz.check.amounts import Amounts, add, amounts, short_of
from tests.fuzz.check.decision import Claim, Decision
from tests.fuzz.check.homes import Home, NewNode, Node, Way
from tests.fuzz.check.label_values import Term
from tests.fuzz.check.limits import committed, largest
from tests.fuzz.check.places import requests_of, short_with
from tests.fuzz.check.pods import Pod, Shape
from tests.fuzz.check.pools import Pool
from tests.fuzz.check.ports import clash
from tests.fuzz.check.taints import first_refused
from tests.fuzz.check.topology.check import Rule, Topology
from tests.fuzz.check.topology.rules import Tally, TermRule
from tests.fuzz.check.volumes import Volumes

Written: TypeAlias = Mapping[str, Any]

_NODES: Final = "nodes"


@dataclass(frozen=True)
class Wish:
    """What a pod may be looked a place for beyond what it must have."""

    term: Term = ()
    rules: tuple[Rule, ...] = ()
    apart: tuple[TermRule, ...] = ()
    untainted: bool = False


NOTHING_MORE: Final = Wish()


class Elsewhere:
    """Looks for places with all pods of a decision where they are."""

    def __init__(self, decision: Decision, topology: Topology, volumes: Volumes) -> None:
        self._decision = decision
        self._scenario = decision.scenario
        self._topology = topology
        self._volumes = volumes
        self._daemons: dict[str, dict[str, list[Shape]]] = {}
        self._residents = [(pod.shape, home) for pod, home in decision.residents()]

    # --- whole searches

    def anywhere(self, pod: Pod) -> str | None:
        """Return a node, claim or pool that would have the pod, or None."""
        return self.among_these(pod) or self.anew(pod)

    def among_these(self, pod: Pod) -> str | None:
        """Return a node or claim that would have the pod, or None."""
        between = self._between(pod, NOTHING_MORE)
        for node in self._scenario.nodes.values():
            if self._on_node(pod, node, between):
                return node.name
        for claim in self._decision.claims:
            if self._on_claim(pod, claim, between):
                return claim.name
        return None

    def anew(self, pod: Pod) -> str | None:
        """Return a pool a new node of which would have the pod, or None."""
        return self._on_new_node(pod, NOTHING_MORE, self._between(pod, NOTHING_MORE))

    def alone(self, pod: Pod, wish: Wish, leaving: Home) -> str | None:
        """Return a pool a new node of which would have the pod, taken from where it is, with its wish."""
        residents = list(self._residents)
        residents.remove((pod.shape, leaving))
        return self._on_new_node(pod, wish, _Between(self._topology, residents, pod.shape, wish))

    def _between(self, pod: Pod, wish: Wish) -> _Between:
        return _Between(self._topology, self._residents, pod.shape, wish)

    # --- places

    def _on_node(self, pod: Pod, node: Node, between: _Between) -> bool:
        new, there = self._decision.newcomers(node), self._decision.bound(node)
        return (
            first_refused(pod.shape.tolerations, node.taints) is None
            and node.meets(pod.shape.terms)
            and self._volumes.needs(pod).met_by(node)
            and not short_of(requests_of([*new, pod]), node.free)
            and not clash(pod.shape, [other.shape for other in (*there, *new)])
            and not self._volumes.over_limit(node.name, there, [*new, pod])
            and between.allows(node)
        )

    def _on_claim(self, pod: Pod, claim: Claim, between: _Between) -> bool:
        new = self._decision.newcomers(claim.home)
        if clash(pod.shape, [other.shape for other in new]):
            return False
        joined = between.joining([(other.shape, claim.home) for other in new])
        return self._fits(pod, claim.home, claim.pool, requests_of([*new, pod]), NOTHING_MORE, joined)

    def _on_new_node(self, pod: Pod, wish: Wish, between: _Between) -> str | None:
        for pool in self._scenario.pools.values():
            left = self._left(pool)
            if left is None:
                continue
            types = [
                name
                for name, one in self._scenario.catalogue.items()
                if all(one.capacity.get(resource, 0) <= value for resource, value in left.items())
            ]
            home = pool.new_node("a new node", self._scenario.catalogue, {}, types)
            if self._fits(pod, home, pool, pod.shape.requests, wish, between):
                return pool.name
        return None

    def _left(self, pool: Pool) -> Amounts | None:
        """Return what is left of a pool's limits with each claim as large as it may be; None if nothing."""
        if not pool.limits:
            return {}
        left = dict(pool.limits)
        used = committed(self._decision, pool, largest)
        add(left, {name: value for name, value in used.items() if name in pool.limits}, -1)
        if left.pop(_NODES, amounts({_NODES: 1})[_NODES]) < amounts({_NODES: 1})[_NODES]:
            return None
        return left

    # --- one node to come

    def _fits(
        self, pod: Pod, home: NewNode, pool: Pool, needed: Amounts, wish: Wish, between: _Between
    ) -> bool:
        if first_refused(pod.shape.tolerations, home.taints, preferred=wish.untainted) is not None:
            return False
        ways = list(self._ways(pod, home, needed, wish))
        domains: defaultdict[tuple[str, ...], list[Home]] = defaultdict(list)
        types: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for way in ways:
            for one in _settled(home, way, between.keys):
                where = tuple(min(one.landings(key), default="") for key in between.keys)
                domains[where].append(one)
                types[where].add(way.type.name)
        return any(
            self._choice(pool, types[where]) and between.allows(homes[0]) for where, homes in domains.items()
        )

    def _ways(self, pod: Pod, home: NewNode, needed: Amounts, wish: Wish) -> Iterator[Way]:
        """Yield the ways in which the node would have the pod, rules between pods aside."""
        needs = self._volumes.needs(pod)
        terms = [(*term, *wish.term) for term in pod.shape.terms]
        could_run = self._could_run(home.pool)
        for way in home.ways:
            one = Home(home.name, home.taints, (way.labels,), home.unsettled)
            daemons = could_run.get(way.type.name, ())
            if (
                _may_meet(one, terms)
                and not needs.problem
                and all(_may_meet(one, volume) for volume in needs.terms)
                and not short_with(needed, daemons, way.type.allocatable)
                and not clash(pod.shape, daemons)
            ):
                yield way

    def _could_run(self, pool: str) -> dict[str, list[Shape]]:
        """Return, by type, the daemons that would run on it in some way the pool may make it."""
        if pool not in self._daemons:
            found = self._daemons[pool] = {}
            whole = self._scenario.pools[pool].new_node("a new node", self._scenario.catalogue, {})
            for way in whole.ways if self._scenario.daemons else ():
                known = found.setdefault(way.type.name, [])
                known += [d for d in self._scenario.daemons_on(whole, way) if d not in known]
        return self._daemons[pool]

    def _choice(self, pool: Pool, types: Iterable[str]) -> bool:
        """Return whether types leave the choice that the pool's minValues ask for."""
        names = list(types)
        return all(
            len({value for name in names for value in self._scenario.catalogue[name].values(key)}) >= least
            for key, least in pool.min_values.items()
        )


def _may_meet(home: Home, terms: Sequence[Term]) -> bool:
    """Return whether labels not settled yet could be settled so that one of the terms is met."""
    return any(
        home.meets([tuple(line for line in term if line[0] not in home.unsettled)])
        and all(home.unsettled[key].shares(values) for key, values in term if key in home.unsettled)
        for term in terms
    )


def _settled(home: NewNode, way: Way, keys: Sequence[str]) -> Iterator[Home]:
    """Yield the node as it may turn out, with each label of `keys` that pools list values for settled."""
    listed = {
        key: sorted(values.listed)
        for key, values in home.unsettled.items()
        if key in keys and not values.others
    }
    rest = {key: values for key, values in home.unsettled.items() if key not in listed}
    for values in product(*listed.values()):
        labels = {**way.labels, **dict(zip(listed, values, strict=True))}
        yield Home(home.name, home.taints, (labels,), rest)


class _Between:
    """The rules between one pod and all that are there."""

    def __init__(
        self, topology: Topology, residents: Sequence[tuple[Shape, Home]], shape: Shape, wish: Wish
    ) -> None:
        self._shape = shape
        self._orderly = [(rule, _tally(rule, residents)) for rule in (*topology.orderly[shape], *wish.rules)]
        self._apart: list[tuple[TermRule, set[str]]] = []
        for rule in (*topology.apart, *wish.apart):
            taken: set[str] = set()
            for other, home in residents:
                hit = rule.owner is shape and rule.selects(other)
                if hit or (other is rule.owner and rule.selects(shape)):
                    taken |= home.landings(rule.key)
            if taken:
                self._apart.append((rule, taken))
        used = [rule.key for rule, _ in self._orderly] + [rule.key for rule, _ in self._apart]
        self.keys = list(dict.fromkeys(used))
        self._mates: Sequence[tuple[Shape, Home]] = ()

    def joining(self, mates: Sequence[tuple[Shape, Home]]) -> _Between:
        """Return the same for a node on which these are to be: once it is settled, they may count."""
        joined = copy(self)
        joined._mates = mates
        return joined

    def allows(self, home: Home) -> bool:
        return all(
            rule.allows(home, tally, more=int(rule.selects(self._shape)) + self._turned(rule, home))
            for rule, tally in self._orderly
        ) and not any(home.landings(rule.key) & taken for rule, taken in self._apart)

    def _turned(self, rule: Rule, home: Home) -> int:
        """Return how many mates count on the node as `home`, and did not as it was."""
        if not rule.passes(home):
            return 0
        return sum(rule.selects(shape) and not rule.passes(before) for shape, before in self._mates)


def _tally(rule: Rule, residents: Sequence[tuple[Shape, Home]]) -> Tally:
    tally = Tally(rule)
    for shape, home in residents:
        tally.add(shape, home)
    return tally
