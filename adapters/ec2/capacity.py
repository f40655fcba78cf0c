"""Capacity of a node by instance type, before anything is reserved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import TypeRecord
from treenail.domain.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

POD_ENI: Final = "vpc.amazonaws.com/pod-eni"
PRIVATE_IPV4: Final = "vpc.amazonaws.com/PrivateIPv4Address"
EFA: Final = "vpc.amazonaws.com/efa"
NEURON: Final = "aws.amazon.com/neuron"
NEURON_CORE: Final = "aws.amazon.com/neuroncore"
GPU_RESOURCES: Final = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}

_MIB: Final = 2**20
_GB: Final = 10**9
# Arm kernels set this much aside for contiguous allocation, before the node sees its memory.
_ARM_CONTIGUOUS_MIB: Final = 64
_WINDOWS_PODS: Final = 110
# Of the pods that interfaces allow, two use the node's own address: the network plugin and the proxy.
_HOST_NETWORK_PODS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSizing:
    """Settings of the controller on which the size of nodes depends.

    `vm_memory_overhead_percent` is the share of memory that hypervisor and kernel keep from the node (a
    fraction, in spite of its name); `reserved_enis` is how many interfaces carry no pods.
    """

    vm_memory_overhead_percent: float = 0.075
    reserved_enis: int = 0


def capacity_of(
    record: TypeRecord, node: NodeSettings, cluster: NodeSizing, *, learned_memory: int | None = None
) -> Resources:
    """Return the capacity of a node. Resources that the type does not have are left out.

    `learned_memory` (bytes) is what nodes of the type were seen to have; it replaces our estimate.
    """
    amounts = {
        CPU: record.cpus * 1000,
        MEMORY: _memory(record, cluster) if learned_memory is None else learned_memory,
        EPHEMERAL_STORAGE: _ephemeral_storage(record, node),
        PODS: pods(record, node, cluster),
    }
    amounts.update((name, amount) for name, amount in _devices(record, node) if amount)
    return Resources(amounts)


def pods(record: TypeRecord, node: NodeSettings, cluster: NodeSizing) -> int:
    """Return how many pods the kubelet admits."""
    if node.max_pods is not None:
        count = node.max_pods
    elif TRAITS[node.family].pods_by_interfaces:
        count = pods_by_interfaces(record, reserved=cluster.reserved_enis + node.without_addresses)
    else:
        count = _WINDOWS_PODS
    return count if node.pods_per_core is None else min(count, node.pods_per_core * record.cpus)


def pods_by_interfaces(record: TypeRecord, *, reserved: int) -> int:
    """Return how many pods get an address when `reserved` interfaces are left to others.

    Each interface keeps one of its addresses for itself.
    """
    interfaces = record.interfaces - reserved
    if interfaces <= 0:
        return 0
    return interfaces * (record.ipv4_per_interface - 1) + _HOST_NETWORK_PODS


def _memory(record: TypeRecord, cluster: NodeSizing) -> int:
    mib = record.memory_mib - (_ARM_CONTIGUOUS_MIB if record.arch == "arm64" else 0)
    return (mib - math.ceil(mib * cluster.vm_memory_overhead_percent)) * _MIB


def _ephemeral_storage(record: TypeRecord, node: NodeSettings) -> int:
    if node.raid0 and record.local_storage_gb is not None:
        return record.local_storage_gb * _GB
    return node.volume_size


def _devices(record: TypeRecord, node: NodeSettings) -> Iterator[tuple[str, int]]:
    yield POD_ENI, record.branch_interfaces
    yield EFA, node.fabric_interfaces if node.interfaces else record.efa_interfaces
    for manufacturer, resource in GPU_RESOURCES.items():
        yield resource, sum(gpu.count for gpu in record.gpus if gpu.manufacturer == manufacturer)
    neurons = [one for one in record.accelerators if one.neuron_cores]
    yield NEURON, sum(one.count for one in neurons)
    yield NEURON_CORE, sum(one.count * one.neuron_cores for one in neurons)
    if node.family.windows and record.arch == "amd64":
        yield PRIVATE_IPV4, record.ipv4_per_interface - 1
