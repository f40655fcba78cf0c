"""`treenail catalogue`: instance types, the room they leave to pods, and their prices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from treenail.adapters.cli.output_format import OutputFormat
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices, warn_of_idle
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import (
    DEFAULT_KUBELET,
    AmiFamily,
    BlockDevice,
    NodeClass,
    NodeClassRef,
)
from treenail.domain.model.resources import CPU, EPHEMERAL_STORAGE, PODS, amount_of, format_amount

# What EBS makes volumes of.
_SMALLEST_VOLUME: Final = 2**30
_LARGEST_VOLUME: Final = 64 * 2**40
# These are of an offering, and differ between nodes of one type.
_OF_OFFERINGS: Final = frozenset((labels.ZONE, labels.ZONE_ID, labels.CAPACITY_TYPE))
# A file or a pipe has no width of its own; this one holds every row unbroken.
_UNBOUNDED_WIDTH: Final = 120


def catalogue(
    *,
    family: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="Only this instance family, such as m5.")
    ] = None,
    ami_family: Annotated[
        AmiFamily, typer.Option(case_sensitive=False, help="The AMI family of the nodes.")
    ] = AmiFamily.AL2023,
    root_volume: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Size of the root volume, such as 50Gi.")
    ] = None,
    price_overrides_file: PriceOverridesFile = None,
    output: Annotated[
        OutputFormat, typer.Option("--output", "-o", help="A table for people, or JSON.")
    ] = OutputFormat.TABLE,
) -> None:
    """List EC2's instance types in us-east-1: labels, capacity, overhead, allocatable and prices.

    Spot prices are not known without AWS. JSON has the on-demand price for them.
    """
    node_class = NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        ami_family=ami_family,
        block_devices=() if root_volume is None else (_root_device(root_volume),),
    )
    prices, public = own_prices(price_overrides_file), Catalogue.shipped()
    known = prices.applied(public.instance_types(node_class, DEFAULT_KUBELET))
    warn_of_idle(price_overrides_file, prices, known)
    types = _of_family(known, family)
    if output is OutputFormat.JSON:
        text = msgspec.json.encode([as_json(one) for one in types])
        typer.echo(msgspec.json.format(text, indent=2))
    else:
        _print_table(types)


def _root_device(size: str) -> BlockDevice:
    try:
        amount = amount_of(EPHEMERAL_STORAGE, size)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--root-volume") from None
    if not _SMALLEST_VOLUME <= amount <= _LARGEST_VOLUME:
        raise typer.BadParameter(
            f"{size} is not from 1Gi to 64Ti, as volumes are", param_hint="--root-volume"
        )
    return BlockDevice(device_name="", root_volume=True, volume_size=amount)


def _of_family(types: Sequence[InstanceType], family: str | None) -> Sequence[InstanceType]:
    if family is None:
        return types
    chosen = [one for one in types if one.label(labels.INSTANCE_FAMILY) == family]
    if not chosen:
        families = sorted({one.label(labels.INSTANCE_FAMILY) or "" for one in types})
        near = get_close_matches(family, families, n=3)
        hint = f"; there is {', '.join(near)}" if near else ""
        raise typer.BadParameter(f"there is no instance family {family!r}{hint}", param_hint="--family")
    return chosen


def as_json(instance_type: InstanceType) -> dict[str, object]:
    """Return what a script gets of a type: quantities as kubectl writes them, prices in US dollars an hour.

    Labels are those every node of the type has, offerings those that can be bought.
    """
    own = (r for r in instance_type.requirements.in_order() if r.key not in _OF_OFFERINGS)
    return {
        "name": instance_type.name,
        "labels": {r.key: r.single for r in own if r.single is not None},
        "capacity": instance_type.capacity.format(),
        "overhead": instance_type.overhead.total.format(),
        "allocatable": instance_type.allocatable.format(),
        "offerings": [
            {"zone": o.zone, "capacityType": o.capacity_type, "price": o.price}
            for o in instance_type.offerings
            if o.available
        ],
    }


def _print_table(types: Iterable[InstanceType]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("TYPE", no_wrap=True)
    table.add_column("ARCH")
    for heading in ("VCPU", "MEMORY", "PODS", "ON-DEMAND $/H", "SPOT $/H"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in sorted(types, key=_by_size):
        table.add_row(
            one.name,
            one.label(labels.ARCH),
            format_amount(CPU, one.capacity[CPU]),
            f"{_memory_mib(one) / 1024:g} GiB",
            str(one.allocatable[PODS]),
            _price_range(one, labels.ON_DEMAND),
            _price_range(one, labels.SPOT),
        )
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _UNBOUNDED_WIDTH)
    console.print(table)


def _by_size(instance_type: InstanceType) -> tuple[str, int, int, str]:
    family = instance_type.label(labels.INSTANCE_FAMILY) or ""
    return family, instance_type.capacity[CPU], _memory_mib(instance_type), instance_type.name


def _memory_mib(instance_type: InstanceType) -> int:
    return int(instance_type.label(labels.INSTANCE_MEMORY) or 0)


def _prices(instance_type: InstanceType, capacity_type: str) -> dict[str, float]:
    """Return the prices by zone."""
    sold = (o for o in instance_type.offerings if o.available and o.capacity_type == capacity_type)
    return {o.zone: o.price for o in sold}


def _price_range(instance_type: InstanceType, capacity_type: str) -> str:
    """Return the lowest and the highest price over all zones, as one figure where they are the same.

    A spot price that is the on-demand price stands for one that is not known.
    """
    if (
        capacity_type == labels.SPOT
        and _prices(instance_type, labels.SPOT) == _prices(instance_type, labels.ON_DEMAND) != {}
    ):
        return "not known"
    prices = sorted({f"{price:.4f}" for price in _prices(instance_type, capacity_type).values()}, key=float)
    if not prices:
        return "-"
    return prices[0] if len(prices) == 1 else f"{prices[0]} - {prices[-1]}"
