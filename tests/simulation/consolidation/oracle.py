"""The oracle: what the pods of a rehearsal would cost at each moment if all were packed anew for nothing.

It buys of the same EC2: of spot what a fleet takes that is cheap and has capacity, not what is cheapest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from math import fsum

from tests.simulation.consolidation.whole_cost import volumes_of
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2.allocation import Option, candidates, draw_one
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import PoolOffer, Problem
from treenail.domain.scheduling.reserved_offers import Stock


class Oracle:
    """Packs all pods there are as if there was no node, at present prices."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._dice = random.Random(1)

    def cost(self) -> float:
        """Return what the nodes cost that it would have now, $/h, volumes and overhead included."""
        rehearsal = self._rehearsal
        snapshot = rehearsal.system.model.snapshot(rehearsal.world.now())
        offers = tuple(self._offers(snapshot))
        plan = InlineSolver().solve(
            Problem(
                pods=tuple(pod for pod in rehearsal.pods() if pod.active),
                existing_nodes=(),
                offers=offers,
                daemons=tuple(daemon.spec for daemon in snapshot.daemons),
                namespaces=snapshot.namespaces,
            )
        )
        assert not plan.refused
        types = {offer.pool.name: {one.name: one for one in offer.instance_types} for offer in offers}
        return fsum(self._price(claim, types[claim.pool]) + claim.surcharge for claim in plan.claims)

    def _price(self, claim: PlannedClaim, types: Mapping[str, InstanceType]) -> float:
        """Return what a launch of the claim comes to, $/h."""
        sold = [
            (Option(o.price, name, o.zone), o.capacity_type)
            for name in claim.instance_types
            for o in types[name].offerings
            if o.available and claim.requirements.intersects(o.requirements())
        ]
        way = labels.SPOT if any(kind == labels.SPOT for _, kind in sold) else labels.ON_DEMAND
        among = candidates(sorted(option for option, kind in sold if kind == way), way)
        return draw_one(among, self._dice).price

    def _offers(self, snapshot: Snapshot) -> Iterator[PoolOffer]:
        rehearsal = self._rehearsal
        for pool in snapshot.pools:
            node_class = snapshot.node_classes[str(pool.node_class)]
            types = rehearsal.ec2.instance_types(node_class, pool.kubelet or node_class.kubelet)
            yield from Stock.of(types).offers(
                pool, None, taken=snapshot.in_reservations, volume_cost=volumes_of(rehearsal, pool)
            )
