"""Components: pod groups that could share a new node. Different components are planned apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats
from treenail.domain.packing.identity import IdentityMap, numbering
from treenail.domain.packing.nodes.bound import Apart, lower_bound
from treenail.domain.packing.offers.node_options import NodeOption, NodeOptions, may_meet
from treenail.domain.packing.offers.templates import NodeTemplate
from treenail.domain.packing.planned.planned_nodes import Bound
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.pods.terms import Term, TermKind

# So many groups of pods that keep apart are looked at: those that need the most nodes.
_MOST_APART: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Pod groups that may share new nodes with each other, directly or through others, but with no others.

    `reach`, in the order of `pod_groups`, are all node options that each may be on, also where others open
    the node.
    """

    pod_groups: tuple[PodGroup, ...]
    reach: tuple[tuple[NodeOption, ...], ...]

    @property
    def limited(self) -> bool:
        """True if limits count for any of its nodes."""
        return any(option.template.limited for reached in self.reach for option in reached)

    def lower_bound(self, units: Mapping[int, int], terms: Mapping[int, Term]) -> Bound:
        """Return the bound of all nodes that hold so many `units` of each pod group (by index).

        `terms` are those that keep units apart, by the number of their group.
        """
        # Groups of equal requests, reach and rules are one to the bound, and equal rules are one object. The
        # linear program grows with what is left.
        alike: dict[tuple[int, int, int], int] = {}
        counts: dict[tuple[int, int, int], int] = {}
        apart = IdentityMap(_keeping_apart)
        numbers = numbering()
        for i, pod_group in enumerate(self.pod_groups):
            if units.get(pod_group.index):
                known = apart[pod_group.rules]
                key = (numbers[pod_group.requests], numbers[self.reach[i]], numbers[known])
                alike.setdefault(key, i)
                counts[key] = counts.get(key, 0) + units[pod_group.index]
        if not alike:
            return Bound()
        held = list(alike.values())
        # Rows of types are stacked pool by pool: the same type of two pools is two rows, for daemons and
        # prices differ.
        templates = {f.template.index: f.template for i in held for f in self.reach[i]}
        requests = np.array([self.pod_groups[i].requests for i in held])
        reached = {f.index: f for i in held for f in self.reach[i]}
        room = np.vstack([_room(template, reached.values()) for template in templates.values()])
        # Prices are looked up once for each different reach, for hundreds of groups share a few.
        of_reach = IdentityMap(partial(_prices, list(templates.values())))
        prices = np.array([of_reach[self.reach[i]] for i in held])
        pods = np.array(list(counts.values()), dtype=np.float64)
        rules = [apart[self.pod_groups[i].rules] for i in held]
        kept_apart = _apart(rules, pods, terms)
        price = lower_bound(pods, requests, room, prices, kept_apart)
        # Two programs, for two bounds: of the prices together, which plans show, and of the whole cost, which
        # the search goes by.
        surcharges = np.concatenate([np.full(len(t.room), t.surcharge) for t in templates.values()])
        # Without surcharges prices and costs are the same: one program instead of two.
        if not np.logical_or.reduce(surcharges):
            return Bound(price, price)
        return Bound(price, lower_bound(pods, requests, room, prices + surcharges, kept_apart))


def _keeping_apart(rules: Rules) -> Rules:
    """Return rules that keep units apart from their own kind; all other rules become `FREE`."""
    # Terms that keep pods from others, not from their own kind, force no number of nodes.
    if rules is FREE or not any(group in rules.owned for group, _ in rules.counted):
        return FREE
    return rules


def _apart(rules: Sequence[Rules], units: Floats, terms: Mapping[int, Term]) -> list[Apart]:
    """Return which pod groups need how many nodes together, those that need the most first."""
    found: dict[int, tuple[list[int], float]] = {}
    for i, each in enumerate(rules):
        for group, count in each.counted:
            # Only a term that counts its own pods keeps units from their own kind, and so forces a number of
            # nodes.
            if group in each.owned:
                members, pods = found.get(group, ([], 0.0))
                found[group] = ([*members, i], pods + count * float(units[i]))
    needed = []
    for group, (members, pods) in found.items():
        most = terms[group].max_skew if terms[group].kind is TermKind.SPREAD else 1
        # A term that counts its own pods allows `most` on a node, so together they need that many nodes.
        needed.append((ceil(pods / max(most, 1)), members))
    needed.sort(key=lambda each: -each[0])
    return [Apart(_mask(members, len(rules)), nodes) for nodes, members in needed[:_MOST_APART] if nodes > 1]


def _mask(members: Sequence[int], size: int) -> Bools:
    mask: Bools = np.zeros(size, dtype=np.bool_)
    mask[members] = True
    return mask


def _room(template: NodeTemplate, reached: Iterable[NodeOption]) -> Floats:
    """Return the room (T, R) of each type of a template, in that of the options with the most room."""
    options = [option for option in reached if option.template is template]
    steady = frozenset[int]().union(*(option.aside.at_baseline for option in options))
    if not steady:
        return template.room
    whole = (option.rows - option.aside.at_baseline for option in options)
    at = sorted(steady.difference(*whole))
    room = template.room.copy()
    room[at] = template.steady_room[at]
    return room


def _prices(templates: Sequence[NodeTemplate], reach: Sequence[NodeOption]) -> Floats:
    """Return what each type of each template costs at least with a pod of the group on it, or infinity."""
    first, rows = {}, 0
    for template in templates:
        first[template.index], rows = rows, rows + len(template.room)
    prices: Floats = np.empty(rows)
    prices.fill(np.inf)
    for option in reach:
        at = option.types + first[option.template.index]
        prices[at] = np.minimum(prices[at], option.prices)
    return prices


def components(
    pod_groups: Sequence[PodGroup], options: NodeOptions, templates: Iterable[int] = ()
) -> list[Component]:
    """Part `pod_groups`, each of which has a node option, into components.

    `templates` are more templates of which nodes may be opened.
    """
    # Only pools that some group opens nodes in: the others have no nodes to share.
    opened = sorted(
        {link.option.template.index for pod_group in pod_groups for link in pod_group.options_in_order}.union(
            templates
        )
    )
    numbers = numbering()
    known_reach: dict[tuple[tuple[tuple[Demand, ...], ...], int, int], tuple[NodeOption, ...]] = {}
    reach = []
    for pod_group in pod_groups:
        last = pod_group.options_in_order[-1].alternative
        key = (pod_group.alternatives, last, numbers[pod_group.requests])
        if key not in known_reach:
            known_reach[key] = _reach(pod_group, opened, options)
        reach.append(known_reach[key])
    known = {option.index: option for reached in reach for option in reached}
    # Flexible options first, and by index among equals: the same components each time.
    root = _connected(sorted(known.values(), key=lambda option: (-option.choices, option.index)), reach)
    parts: dict[int, list[int]] = {}
    for i, reached in enumerate(reach):
        parts.setdefault(root[reached[0].index], []).append(i)
    return [
        Component(tuple(pod_groups[i] for i in part), tuple(reach[i] for i in part))
        for part in parts.values()
    ]


def _reach(pod_group: PodGroup, opened: Sequence[int], options: NodeOptions) -> tuple[NodeOption, ...]:
    """Return the options a pod group may be in without giving up more preferences than its own options do.

    A group may join a node of a pool that it would not open one of: another group may have opened it.
    """
    found: dict[int, NodeOption] = {}
    # Only the alternatives that the group will try: looser ones would connect components for nothing.
    for demands in pod_group.alternatives[: pod_group.options_in_order[-1].alternative + 1]:
        for template in opened:
            option = options.of_all(template, demands)
            if option is None or option.index in found:
                continue
            if any(link.option is option for link in pod_group.options_in_order) or option.holds(
                pod_group.requests
            ):
                found[option.index] = option
    return tuple(found.values())


def _connected(known: Sequence[NodeOption], reach: Sequence[tuple[NodeOption, ...]]) -> dict[int, int]:
    """Return, for each node option by index, the index that stands for all options connected with it."""
    parent = {option.index: option.index for option in known}

    def root(index: int) -> int:
        while parent[index] != index:
            # Path halving: the trees stay flat.
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for reached in reach:
        for option in reached[1:]:
            parent[root(option.index)] = root(reached[0].index)
    # The most flexible come first: they connect the most, and the rest need no look then.
    for number, one in enumerate(known):
        for other in known[number + 1 :]:
            if root(one.index) != root(other.index) and _share_nodes(one, other):
                parent[root(other.index)] = root(one.index)
    return {option.index: root(option.index) for option in known}


def _share_nodes(one: NodeOption, other: NodeOption) -> bool:
    return one.template is other.template and may_meet(one, other) and not one.rows.isdisjoint(other.rows)
