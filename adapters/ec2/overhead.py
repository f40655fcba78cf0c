"""Overhead of a node: capacity reserved for the kubelet and the system, or kept free."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.adapters.ec2.capacity import pods_by_interfaces
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import TypeRecord
from treenail.domain.model.instance_types import Overhead
from treenail.domain.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources, amount_of

_MIB: Final = 2**20
_GIB: Final = 2**30
_RESERVED_MIB: Final = 255
_RESERVED_MIB_PER_POD: Final = 11
# Thousandths of a core, up to where, and how many ten-thousandths of that are reserved.
_CPU_TIERS: Final = ((1000, 600), (2000, 100), (4000, 50), (None, 25))
_MEMORY_KEPT_FREE: Final = "100Mi"
_STORAGE_KEPT_FREE: Final = "10%"


def overhead_of(record: TypeRecord, capacity: Resources, node: NodeSettings) -> Overhead:
    """Return the overhead of a node that has `capacity`."""
    return Overhead(
        kube_reserved=_kube_reserved(record, capacity, node),
        system_reserved=node.system_reserved,
        eviction_threshold=Resources(
            {
                MEMORY: _kept_free(capacity, MEMORY, node.memory_threshold or _MEMORY_KEPT_FREE),
                EPHEMERAL_STORAGE: _kept_free(
                    capacity, EPHEMERAL_STORAGE, node.storage_threshold or _STORAGE_KEPT_FREE
                ),
            }
        ),
    )


def _kube_reserved(record: TypeRecord, capacity: Resources, node: NodeSettings) -> Resources:
    """Return the reserve of the kubelet and the container runtime; what the user names replaces ours."""
    # Interfaces left to others are not taken off here, as the images' own start scripts do not either.
    by_interfaces = TRAITS[node.family].reserved_by_interfaces
    pods = pods_by_interfaces(record, reserved=node.without_addresses) if by_interfaces else capacity[PODS]
    ours = {
        CPU: _reserved_cpu(capacity[CPU]),
        MEMORY: (_RESERVED_MIB_PER_POD * pods + _RESERVED_MIB) * _MIB,
        EPHEMERAL_STORAGE: _GIB,
    }
    return Resources(ours | dict(node.kube_reserved))


def _reserved_cpu(capacity: int) -> int:
    """Return the reserve out of `capacity`, in thousandths of a core: of each core less than before."""
    reserved, start = 0, 0
    for end, share in _CPU_TIERS:
        within = capacity - start if end is None else min(capacity, end) - start
        reserved += max(within, 0) * share // 10_000
        start = end or capacity
    return reserved


def _kept_free(capacity: Resources, resource: str, threshold: str) -> int:
    """Return the amount below which the kubelet evicts: a percentage of capacity, or as written.

    100 % turns the threshold off.
    """
    if not threshold.endswith("%"):
        return amount_of(resource, threshold)
    numerator, denominator = _share(threshold)
    return 0 if numerator == denominator else -(-capacity[resource] * numerator // denominator)


@lru_cache(maxsize=64)
def _share(percentage: str) -> tuple[int, int]:
    """Return a percentage as an exact fraction: the same few are asked for once for every type."""
    share = Fraction(percentage.removesuffix("%")) / 100
    return share.numerator, share.denominator
