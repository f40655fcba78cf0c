"""The cost bound: what a cluster costs at least once consolidated, whatever the rules of its pods."""

from __future__ import annotations

import math
from collections.abc import Iterator

from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.consolidation.cheapest_launches import cheapest_launches
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem


def cost_bound(problem: ConsolidationProblem) -> float:
    """Return what nodes for the pods of all candidates cost at least, $/h.

    What is free on nodes that stay in any case costs nothing. Beyond that each resource costs no less than
    where it is cheapest, among the candidates themselves and all that pools may buy.
    """
    going = {one.name for one in problem.candidates}
    moving = {uid for one in problem.candidates for uid in one.pods}
    free = total(
        one.free.at_least_zero()
        for one in problem.problem.existing_nodes
        if one.name not in going and one.open
    )
    asked = total(pod.spec.requests for pod in problem.problem.pods if pod.uid in moving)
    load = {name: amount - free.get(name, 0) for name, amount in asked.items()}
    load = {name: amount for name, amount in load.items() if amount > 0}
    if not load:
        return 0.0
    units = dict.fromkeys(load, math.inf)
    for room, cost in _rooms(problem):
        for name in load:
            amount = room.get(name, 0)
            if amount > 0:
                units[name] = min(units[name], cost / amount)
    return max(amount * units[name] for name, amount in load.items())


def _rooms(problem: ConsolidationProblem) -> Iterator[tuple[Resources, float]]:
    """Yield how much room each node has that may stay or be bought, and what it costs, $/h."""
    costs = {one.name: one.cost for one in problem.candidates}
    for node in problem.problem.existing_nodes:
        if node.name in costs:
            yield node.free, costs[node.name]
    yield from cheapest_launches(problem.problem.offers, problem.problem.settings)
