"""Costs of a node's EBS volumes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.adapters.ec2.launch.hardware import usual_devices
from treenail.adapters.ec2.records import Tiers, shipped_volume_prices
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, NodeClass

_GIB: Final = 2**30
# As AWS counts: prices are of a month, volumes are paid by the second.
_HOURS_A_MONTH: Final = 730
# What EC2 makes where a mapping names no type. One that we do not know costs as much.
_USUAL_TYPE: Final = "gp2"


def volume_cost(node_class: NodeClass) -> float:
    """Return the cost of the volumes of a node of the class, $/h.

    The volumes are those the class maps, or else the usual ones of its image family. The volume of a custom
    image, and one without a size, is assumed to be as large as the room promised to pods there.
    """
    if node_class.ref.played:
        return written_volume_cost(node_class)
    family = node_class.ami_family
    return _cost(node_class.block_devices or usual_devices(family) or _unknown_root(family), family)


def written_volume_cost(node_class: NodeClass) -> float:
    """Return what those volumes cost that the class itself maps, $/h."""
    return _cost(node_class.block_devices, node_class.ami_family)


def _unknown_root(family: AmiFamily) -> tuple[BlockDevice, ...]:
    return (BlockDevice(device_name="", volume_size=TRAITS[family].volume_size, volume_type="gp3"),)


def _cost(devices: Sequence[BlockDevice], family: AmiFamily) -> float:
    a_month = sum(_monthly(device, TRAITS[family].volume_size) for device in devices)
    return a_month / _HOURS_A_MONTH


def _monthly(device: BlockDevice, usual_size: int) -> float:
    """Return what a volume costs a month, with what it is given beyond what is free."""
    prices = shipped_volume_prices()
    of = prices.get(device.volume_type or _USUAL_TYPE, prices[_USUAL_TYPE])
    size = usual_size if device.volume_size is None else device.volume_size
    return size / _GIB * of.gib + _tiered(device.iops, of.iops) + _tiered(device.throughput, of.throughput)


def _tiered(amount: int | None, tiers: Tiers) -> float:
    """Return the cost of an amount by tiers: each has the units it begins at, and a price per unit."""
    ends = [*(above for above, _ in tiers[1:]), inf]
    return sum(
        max(min(amount or 0, end) - above, 0) * price
        for (above, price), end in zip(tiers, ends, strict=False)
    )
