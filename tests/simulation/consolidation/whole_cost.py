"""What the cluster of a rehearsal costs, volumes and overhead included, and what it costs at least."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tests.simulation.consolidation.move_watch import hourly_price
from treenail.adapters.ec2.volume_costs import volume_cost
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.problem import NODE_OVERHEAD_COST


def volumes_of(rehearsal: Rehearsal, pool: NodePool) -> float:
    """Return what the volumes of each node of a pool cost, $/h."""
    node_class = rehearsal.system.model.objects.node_class(pool.node_class)
    assert node_class is not None
    return volume_cost(node_class)


def surcharge(rehearsal: Rehearsal, pool: NodePool) -> float:
    """Return what each node of a pool costs beside its price, $/h."""
    return volumes_of(rehearsal, pool) + pool.overhead_cost(NODE_OVERHEAD_COST)


def whole_cost(rehearsal: Rehearsal) -> float:
    """Return what all instances there are cost at their present prices, $/h."""
    pools = rehearsal.system.model.objects.pools
    beside = (surcharge(rehearsal, pools[claim.pool]) for claim in rehearsal.claims() if claim.launched)
    return hourly_price(rehearsal) + math.fsum(beside)


def rooms(rehearsal: Rehearsal) -> Iterator[tuple[Resources, float]]:
    """Yield what pods may have of each node that can be bought, and what it costs at least, $/h."""
    daemons = total(daemon.spec.requests for daemon in rehearsal.conditions.cluster.system_daemons or ())
    objects = rehearsal.system.model.objects
    for pool in objects.pools.values():
        node_class = objects.node_class(pool.node_class)
        assert node_class is not None
        beside = surcharge(rehearsal, pool)
        for one in rehearsal.ec2.instance_types(node_class, pool.kubelet or node_class.kubelet):
            cheapest = one.cheapest(pool.requirements)
            if cheapest is not None and pool.requirements.intersects(one.requirements):
                yield one.allocatable.minus(daemons), cheapest.price + beside


def least_cost(rehearsal: Rehearsal) -> float:
    """Return what nodes for all pods there are cost at least, $/h: by each resource, where it is cheapest."""
    load = total(pod.spec.requests for pod in rehearsal.pods() if pod.active)
    units = dict.fromkeys(load, math.inf)
    for room, cost in rooms(rehearsal):
        for name in load:
            amount = room.get(name, 0)
            if amount > 0:
                units[name] = min(units[name], cost / amount)
    return max(amount * units[name] for name, amount in load.items())
