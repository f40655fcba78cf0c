"""What the packer is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from treenail.domain.instance_types import InstanceType
from treenail.domain.node_pools import NodePool
from treenail.domain.pods import Pod, PodSpec
from treenail.domain.resources import Resources
from treenail.domain.taints import Taint


class Packing(StrEnum):
    """How node sizes are chosen."""

    CHEAPEST = "cheapest"
    FIRST_FIT_DESCENDING = "first-fit-descending"


class PackingOrder(StrEnum):
    """By what first-fit-descending calls a pod large."""

    CPU = "cpu"
    MEMORY = "memory"
    EUCLIDEAN = "euclidean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A node that is there or on its way, and what is free on it.

    `free` is allocatable less bound pods, less promises, less what daemons still to come will take.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    free: Resources
    initialized: bool = True
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOffer:
    """A pool that may buy nodes. `limits_left` names only limited resources; None is no limit at all.

    `instance_types` are those usable now: offerings that ran out are marked unavailable.
    """

    pool: NodePool
    instance_types: tuple[InstanceType, ...]
    limits_left: Resources | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to pack. `steps` bounds the work, so that equal problems give equal plans; None is no bound."""

    packing: Packing = Packing.CHEAPEST
    order: PackingOrder = PackingOrder.CPU
    steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything a packing decision may depend on.

    `rooms` come in the order Karpenter fills them: initialized first, then by name. `offers` come
    heaviest first. `daemons` are the specs of the DaemonSets; which run on a new node is for the
    packer to tell.
    """

    pods: tuple[Pod, ...]
    rooms: tuple[Room, ...] = ()
    offers: tuple[PoolOffer, ...] = ()
    daemons: tuple[PodSpec, ...] = ()
    settings: Settings = field(default_factory=Settings)
