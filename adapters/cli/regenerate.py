"""Writes the shipped catalogue anew from AWS: `python -m treenail.adapters.cli.regenerate us-east-1`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, TypeVar

import boto3
import msgspec
import typer

from treenail.adapters.ec2 import data
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.clients import Clients
from treenail.adapters.ec2.data.generate import all_of, region_record, with_figures, write, write_prices
from treenail.adapters.ec2.data.survey import Survey, survey
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.prices import OnDemand
from treenail.adapters.ec2.records import shipped_price_lists, shipped_types
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.model.errors import PortError

T = TypeVar("T")

_SHIPPED: Final = Path(data.__file__ or "").parent
Figures = Annotated[Path | None, typer.Option(exists=True, dir_okay=False, metavar="FILE")]


def regenerate(
    regions: Annotated[list[str], typer.Argument(metavar="REGION...", help="The regions to write.")],
    *,
    into: Annotated[
        Path, typer.Option(exists=True, file_okay=False, metavar="DIR", help="The folder to write into.")
    ] = _SHIPPED,
    spot: Annotated[bool, typer.Option(help="Write the latest spot prices too.")] = True,
    prices_of: Annotated[
        list[str],
        typer.Option(metavar="REGION", help="Write the prices of these regions too, but not their types."),
    ] = [],  # noqa: B006 (typer's way; nobody changes it)
    prune: Annotated[bool, typer.Option(help="Leave out types that these regions no longer have.")] = False,
    branch_interfaces: Figures = None,
    network_mbps: Figures = None,
    endpoint_url: Annotated[str | None, typer.Option(metavar="URL", help="The endpoint of AWS.")] = None,
) -> None:
    """Write the shipped data of all instance types, and of REGIONs, as AWS tells them now.

    What no API tells is as it is shipped, but for what is in the files of --branch-interfaces and
    --network-mbps: JSON objects that map types to a number of interfaces, and to Mbit/s. --prices-of is
    for regions these credentials are not for, as GovCloud's. Nothing is written before all is known.
    """
    branch, mbps = _figures(branch_interfaces), _figures(network_mbps)
    try:
        surveys = [survey(*_account(region, endpoint_url), spot=spot) for region in regions]
        lists = {region: OnDemand(*_account(region, endpoint_url)).listed() for region in prices_of}
    except PortError as error:
        typer.echo(f"nothing is written: {error}", err=True)
        raise typer.Exit(1) from None
    described = all_of(*(one.types for one in surveys))
    kept = () if prune else shipped_types()
    records = with_figures(all_of(described, kept), branch, mbps)
    write(
        into,
        records,
        [
            region_record(one.region, records, one.by_zone, one.by_zone_id, one.prices, one.spot_prices)
            for one in surveys
        ],
    )
    write_prices(into, shipped_price_lists() | lists)
    _tell(described, len(records), surveys)


def _account(region: str, endpoint_url: str | None) -> tuple[Aws, AnswerCaches]:
    clock, dice = SystemClock(), SystemDice()
    clients = Clients.open(region=region, endpoint_url=endpoint_url, session=boto3.Session())
    return Aws(clients, CallRetries(clock, dice)), AnswerCaches(clock, dice, _log)


def _figures(file: Path | None) -> dict[str, int]:
    if file is None:
        return {}
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, int])
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"{file}: {error}") from None


def _log(message: str, /, **fields: object) -> None:
    said = ", ".join(f"{key}: {fields[key]}" for key in ("instance_type", "error") if key in fields)
    typer.echo(f"{message} ({said})" if said else message, err=True)


def _tell(described: Sequence[object], written: int, surveys: Sequence[Survey]) -> None:
    typer.echo(f"{written} types, of which {written - len(described)} are known to none of these regions")
    for one in surveys:
        typer.echo(f"{one.region}: {len(one.by_zone)} zones, {len(one.prices)} prices")


if __name__ == "__main__":
    typer.run(regenerate)
