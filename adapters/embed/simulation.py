"""A simulation: one decision on manifests, by the domain's model and packer, without actors or time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from treenail.actors.runtime.world import World
from treenail.adapters.api.manifests import Decoded, Manifest
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.volume_costs import volume_cost, written_volume_cost
from treenail.adapters.embed.home import USUAL_HOME, Home
from treenail.adapters.embed.manifest_cluster import ManifestCluster
from treenail.adapters.embed.node_class_problems import problem_of
from treenail.adapters.embed.priced_catalogue import PricedCatalogue
from treenail.adapters.fake.ec2 import FakeEC2
from treenail.adapters.fake.queue import FakeQueue
from treenail.adapters.kwok.generic_types import generic_types
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import DeviceObject, Resynced
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.disruption.pool_sizes import size_of
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import overlaid
from treenail.domain.model.pods import Pod
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.scheduling.reserved_offers import Stock

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_CLUSTER: Final = "demo"
_SIZES: Final = NodeSizing()


class Catalogues(Protocol):
    """The source of the instance types of a pool, and of what the volumes of its nodes cost."""

    def types_for(self, pool: NodePool, node_class: NodeClass | None) -> tuple[InstanceType, ...]:
        """Return what the pool could buy; NodeClassNotReadyError where its class leads nowhere."""
        ...

    def volume_cost(self, node_class: NodeClass | None) -> float:
        """Return what the volumes of a node of the class cost, $/h."""
        ...


class FixedCatalogue:
    """The same types for every pool, whatever its node class."""

    def __init__(self, types: tuple[InstanceType, ...]) -> None:
        self._types = types

    def types_for(self, pool: NodePool, node_class: NodeClass | None) -> tuple[InstanceType, ...]:
        """Return all types there are."""
        del pool, node_class
        return self._types

    def volume_cost(self, node_class: NodeClass | None) -> float:
        """Return the cost of the volumes that the class maps: others are unknown."""
        return 0.0 if node_class is None else written_volume_cost(node_class)


class ShippedCatalogues:
    """The types that EC2 sells at `home`, sized by `sizes`, at prices of the fake of that seed and `prices`.

    A pool of a KWOKNodeClass has those that are offered where KWOK plays the nodes.
    """

    def __init__(
        self,
        *,
        seed: int,
        home: Home = USUAL_HOME,
        prices: PriceOverrides = NO_OVERRIDES,
        sizes: NodeSizing = _SIZES,
    ) -> None:
        world = World(seed)
        dice = random.Random(seed)  # noqa: S311
        queue = FakeQueue(agenda=world, dice=dice)
        self._ec2 = FakeEC2(
            agenda=world,
            dice=dice,
            catalogue=PricedCatalogue(home.catalogue(sizes), prices),
            cluster_name=_CLUSTER,
            queue=queue,
            zones=home.zones,
            account=home.account,
        )
        self._prices = prices

    def types_for(self, pool: NodePool, node_class: NodeClass | None) -> tuple[InstanceType, ...]:
        """Return the types that the pool's node class could launch."""
        if node_class is None:
            raise NodeClassNotReadyError(f"{pool.node_class} is missing")
        if pool.node_class.played:
            return self._prices.applied(generic_types())
        return self._ec2.instance_types(node_class, pool.kubelet or node_class.kubelet)

    def volume_cost(self, node_class: NodeClass | None) -> float:
        """Return what the volumes cost that EC2 would make."""
        return 0.0 if node_class is None else volume_cost(node_class)


class Simulation:
    """A decision to be made on manifests: `decide` makes it, `plan` is it.

    `manifests` are what was decoded, for complaints to name their files.

    Raises:
        ManifestError: a pool's node class leads nowhere.
    """

    def __init__(
        self,
        decoded: Decoded,
        catalogues: Catalogues,
        settings: PackingSettings,
        *,
        manifests: Sequence[Manifest] = (),
    ) -> None:
        self.plan = PackingPlan()
        self._problem = Problem(pods=())
        self._decoded = decoded
        self._settings = settings
        self._cluster = ManifestCluster(decoded, _NOW)
        self.warnings = self._cluster.warnings
        self._types = self._read_types(catalogues, manifests)
        classes = {str(c.ref): c for c in decoded.node_classes}
        self._volume_costs = {
            pool.name: catalogues.volume_cost(classes.get(str(pool.node_class)))
            for pool in decoded.node_pools
        }

    def _read_types(
        self, catalogues: Catalogues, manifests: Sequence[Manifest]
    ) -> dict[str, tuple[InstanceType, ...]]:
        classes = {str(c.ref): c for c in self._decoded.node_classes}
        types: dict[str, tuple[InstanceType, ...]] = {}
        for pool in self._decoded.node_pools:
            try:
                found = catalogues.types_for(pool, classes.get(str(pool.node_class)))
                types[pool.name] = overlaid(found, replace(pool, overlays=self._decoded.node_overlays)).types
            except NodeClassNotReadyError as error:
                raise problem_of(pool.node_class, error, manifests) from None
        return types

    @property
    def pod_names(self) -> dict[str, str]:
        """The pods decided on as namespace/name, by uid: waiting pods, and pods that lose their node."""
        return {pod.uid: pod.key for pod in self._problem.pods}

    @property
    def terminating(self) -> tuple[str, ...]:
        """The pods that are being deleted and get no new place, as namespace/name, sorted.

        Those on a node hold their room there until they are gone.
        """
        return tuple(sorted(p.key for p in self._left_alone() if p.deleting_since is not None))

    @property
    def nominated(self) -> dict[str, str]:
        """The pods that get no new place as the scheduler makes room for them: the node by namespace/name."""
        waiting = (p for p in self._left_alone() if p.active and not p.node_name and p.nominated_node)
        return {p.key: p.nominated_node for p in sorted(waiting, key=lambda p: p.key)}

    def sized(self) -> tuple[tuple[NodePool, int, int], ...]:
        """Return the pools that are to have a number of nodes, by name, with that and how many there are.

        That counts for all pools with replicas, as where the feature gate StaticCapacity is on.
        """
        there = Counter(claim.pool for claim in self._decoded.node_claims if not claim.leaving)
        sizes = ((pool, size_of(pool, static_capacity=True)) for pool in self._decoded.node_pools)
        found = [(pool, size, there[pool.name]) for pool, size in sizes if size is not None]
        return tuple(sorted(found, key=lambda one: one[0].name))

    def _left_alone(self) -> Iterator[Pod]:
        decided = self.pod_names
        for pod in self._cluster.pods:
            if pod.uid not in decided and not (pod.terminal or pod.daemon or pod.mirror):
                yield pod

    def node_of(self, existing_node: str) -> str:
        """Return the node a room of the plan is on."""
        return self._cluster.node_names.get(existing_node, existing_node)

    def onto_existing(self) -> dict[str, list[str]]:
        """Return the pods that go to existing nodes, by node, all sorted."""
        found: dict[str, list[str]] = {}
        for uid, existing_node in self.plan.nominations.items():
            found.setdefault(self.node_of(existing_node), []).append(self.pod_names[uid])
        return {node: sorted(pods) for node, pods in sorted(found.items())}

    def decide(self) -> None:
        """Build the problem and solve it; what would help those it refuses is left to `advise`."""
        snapshot = self._snapshot(self._cluster.listed())
        offers = tuple(
            offer
            for pool in snapshot.pools
            if not pool.static
            for offer in Stock.of(self._types[pool.name]).offers(
                pool,
                snapshot.limits_left.get(pool.name),
                taken=snapshot.in_reservations,
                volume_cost=self._volume_costs[pool.name],
            )
        )
        self._problem = snapshot.problem(offers, self._settings)
        self.plan = InlineSolver().solve(self._problem)

    def _snapshot(self, listed: Resynced) -> Snapshot:
        claims = any(isinstance(thing, ResourceClaim | DeviceObject) for thing in listed.objects)
        model = ClusterModel(promise_lasts=timedelta(seconds=20), resource_claims=claims)
        model.learn(listed, _NOW)
        snapshot = model.snapshot(_NOW)
        # In a cluster places of buffers are looked for after all pods; here they are the last of all.
        places = model.buffers.offer(model.buffers.short(), _NOW)
        volumes = {**snapshot.volumes, **model.capacity.volume_needs(places)}
        return replace(snapshot, pods=(*snapshot.pods, *places), volumes=volumes)

    def advise(self) -> None:
        """Complete the plan with what would help those it refuses."""
        self.plan = InlineSolver().advise(self._problem, self.plan)
