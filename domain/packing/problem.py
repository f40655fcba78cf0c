"""The problem: what the packer is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import HostPort, Pod, PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import ANYTHING, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint

# What a node costs beside its price and its volumes, $/h: agents' licences, addresses, watches, care.
NODE_OVERHEAD_COST: Final = 0.02


class Packing(StrEnum):
    """The way in which node sizes are chosen."""

    CHEAPEST = "cheapest"
    FIRST_FIT_DESCENDING = "first-fit-descending"


class PackingOrder(StrEnum):
    """By what first-fit-descending calls a pod large."""

    CPU = "cpu"
    MEMORY = "memory"
    EUCLIDEAN = "euclidean"


class PreferencePolicy(StrEnum):
    """The policy on preferences (of nodes, of pods, ScheduleAnyway): kept while possible, or never seen."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


class MinValuesPolicy(StrEnum):
    """The policy on minValues: a new node needs all the flexibility its pool asks for, or what there is."""

    STRICT = "Strict"
    BEST_EFFORT = "BestEffort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A pod that has its place, as it counts for others. Alike pods are one object.

    `labels` are sorted. `anti_affinity` are its required terms. A pod that is `leaving` (terminating) counts
    in no topology, but keeps its host ports.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeNeeds:
    """The needs of a pod's volumes and resource claims of its node.

    The node's labels must meet one of `alternatives`, in which the volumes' agree with one of `device_nodes`,
    the claims'. `known` are volumes that exist, as (driver, handle): one that is attached already takes no
    place. `fresh` has, by driver, how many volumes are still to be made. `devices` has how many devices of
    each kind the pod asks for; nodes have them as resources of that name. Of the pods that share a claim
    without devices, one `leads` and asks for them; the others `follow` it, and must be on its node.

    `problem`, if not empty, says why no node would do for the volumes, `device_problem` for the claims.
    """

    alternatives: tuple[Requirements, ...] = (ANYTHING,)
    known: tuple[tuple[str, str], ...] = ()
    fresh: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    devices: tuple[tuple[str, int], ...] = ()
    leads: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    device_nodes: tuple[Requirements, ...] = (ANYTHING,)
    device_problem: str = ""

    def of(self, driver: str) -> tuple[int, tuple[tuple[str, str], ...]]:
        """Return how many fresh volumes of `driver` there are, and its known ones."""
        fresh = sum(count for of, count in self.fresh if of == driver)
        return fresh, tuple(one for one in self.known if one[0] == driver)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNode:
    """A node that is there or on its way, and what is free on it.

    `free` is allocatable less bound pods, less promises, less what daemons still to come will take.
    `residents` are the pods bound or promised there, and how many of each, without those to be placed
    anew. A node that is not `open` takes no pods; its residents count all the same. A `cordoned` node would
    be open otherwise; `free` is filled in for it too. `attachable` is how many volumes can still be
    attached, by driver, where that is limited; `attached` are those that are, as (driver, handle).
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    free: Resources
    initialized: bool = True
    pool: str = ""
    residents: tuple[tuple[Resident, int], ...] = ()
    open: bool = True
    cordoned: bool = False
    attachable: Mapping[str, int] = field(default_factory=dict)
    attached: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOffer:
    """A pool that may buy nodes. `limits_left` names only limited resources; None is no limit at all.

    `instance_types` are those usable now: offerings that ran out are marked unavailable. `volume_cost` ($/h)
    is what the volumes of each node cost. A pool may come several times: first with its reserved capacity,
    one offer for each `reservation` (by id), and last with everything else. No more than `reserved_left`
    nodes may be bought in a reservation, by all pools together.
    """

    pool: NodePool
    instance_types: tuple[InstanceType, ...]
    limits_left: Resources | None = None
    volume_cost: float = 0.0
    reservation: str = ""
    reserved_left: int = 0

    def surcharge(self, settings: PackingSettings) -> float:
        """Return what each node of the offer costs beside its price, $/h: its volumes and its overhead."""
        return self.volume_cost + self.pool.overhead_cost(settings.node_overhead_cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingSettings:
    """The settings of packing.

    `steps` bounds the work, so that equal problems give equal plans; None is no bound. `node_overhead_cost`
    ($/h) is what a node costs beside its price and its volumes, unless its pool says otherwise. Pods that
    have no topology spread have `default_spread`, among the pods of their workload. `spot_is_replaced` says
    that consolidation may replace a spot node with a smaller one.
    """

    packing: Packing = Packing.CHEAPEST
    order: PackingOrder = PackingOrder.CPU
    steps: int | None = None
    node_overhead_cost: float = NODE_OVERHEAD_COST
    preferences: PreferencePolicy = PreferencePolicy.RESPECT
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT
    default_spread: tuple[TopologySpread, ...] = ()
    spot_is_replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything a packing decision may depend on.

    `existing_nodes` come in the order Karpenter fills them: initialized first, then by name. `offers` come
    heaviest first. `daemons` are the specs of the DaemonSets; which run on a new node is for the
    packer to tell. `volumes` are the needs of those pods that have volumes or resource claims, by uid;
    `namespaces` the labels of namespaces, by name. `to_come` are the uids of pods that are still to be made.
    `ordinary_offers` are the offers as they would be had no capacity run out, and were all claims launched:
    only filled in where pods are to come, and that makes a difference to them.
    """

    pods: tuple[Pod, ...]
    existing_nodes: tuple[ExistingNode, ...] = ()
    offers: tuple[PoolOffer, ...] = ()
    daemons: tuple[PodSpec, ...] = ()
    volumes: Mapping[str, VolumeNeeds] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: PackingSettings = field(default_factory=PackingSettings)
    to_come: frozenset[str] = frozenset()
    ordinary_offers: tuple[PoolOffer, ...] = ()
