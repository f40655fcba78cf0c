"""`treenail simulate`: one scheduling decision for the manifests as they stand, and nothing done."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, TypeAlias

import typer

from treenail.adapters.api.manifests import Manifest, decode_all
from treenail.adapters.cli.manifest_files import manifests_of
from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, warn, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.region_option import Region, home_meant
from treenail.adapters.cli.report_file import ReportFile, names_of, writable, write_page
from treenail.adapters.cli.simulation_report import as_json, write_report
from treenail.adapters.cli.told_settings import told_by
from treenail.adapters.embed.home import not_known
from treenail.adapters.embed.simulation import Catalogues, FixedCatalogue, ShippedCatalogues, Simulation
from treenail.adapters.embed.simulation_story import tell_simulation
from treenail.adapters.embed.told_settings import sizes_of
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.problem import (
    NODE_OVERHEAD_COST,
    MinValuesPolicy,
    Packing,
    PackingOrder,
    PackingSettings,
    PreferencePolicy,
)

_MOST_REPEATS = 1000


_InstanceTypes: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Instance types in the JSON of KWOK's provider; without it, those of the node classes."
    ),
]
_Packing: TypeAlias = Annotated[
    Packing, typer.Option(envvar="PACKING", help="The choice of node sizes: by cost, or first-fit.")
]
_Order: TypeAlias = Annotated[
    PackingOrder, typer.Option(envvar="PACKING_ORDER", help="The size by which first-fit-descending sorts.")
]
_Preferences: TypeAlias = Annotated[
    PreferencePolicy,
    typer.Option(
        envvar="PREFERENCE_POLICY",
        case_sensitive=False,
        help="Preferences of pods: met if possible, or ignored.",
    ),
]
_MinValues: TypeAlias = Annotated[
    MinValuesPolicy,
    typer.Option(
        envvar="MIN_VALUES_POLICY",
        case_sensitive=False,
        help="The choice that minValues ask for: kept strictly, or as far as possible.",
    ),
]


def simulate(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Annotated[list[str], typer.Option("--file", "-f", help="Manifests to decide on; - is stdin.")],
    instance_types: _InstanceTypes = None,
    output: Output = OutputFormat.TABLE,
    report: ReportFile = None,
    repeat: Annotated[int, typer.Option(help="The number of decisions, each from fresh objects.")] = 1,
    packing: _Packing = Packing.CHEAPEST,
    packing_order: _Order = PackingOrder.CPU,
    preference_policy: _Preferences = PreferencePolicy.RESPECT,
    min_values_policy: _MinValues = MinValuesPolicy.STRICT,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    seed: Annotated[int, typer.Option(help="The seed of the fake EC2's spot prices.")] = 0,
    region: Region = "",
    price_overrides_file: PriceOverridesFile = None,
) -> None:
    """Show which nodes would be bought, which pods would go where, and why others would not."""
    if not 1 <= repeat <= _MOST_REPEATS:
        raise BadInputError(f"--repeat {repeat} is not between 1 and {_MOST_REPEATS}")
    writable(report)
    manifests = manifests_of(file)
    prices = own_prices(price_overrides_file)
    decoded = decode_all(manifests, node_classes_optional=instance_types is not None)
    told = told_by(decoded, manifests)
    home = home_meant(decoded, region)
    catalogues: Catalogues = (
        ShippedCatalogues(seed=seed, home=home, prices=prices, sizes=sizes_of(told))
        if instance_types is None
        else FixedCatalogue(prices.applied(read_catalogue(instance_types)))
    )
    settings = PackingSettings(
        packing=packing,
        order=packing_order,
        preferences=preference_policy,
        min_values=min_values_policy,
        node_overhead_cost=node_overhead_cost,
    )
    simulation, seconds = _decided(
        manifests, catalogues, settings, repeat, optional=instance_types is not None
    )
    simulation.advise()
    warn(
        (*simulation.warnings, *told.warnings, *home.warnings, *not_known(decoded), *simulation.plan.problems)
    )
    if report is not None:
        write_page(report, tell_simulation(simulation, f"Simulation of {names_of(file)}"))
    if output is OutputFormat.JSON:
        write_json(as_json(simulation, seconds))
    else:
        write_report(simulation, sys.stdout)


def _decided(
    manifests: tuple[Manifest, ...],
    catalogues: Catalogues,
    settings: PackingSettings,
    repeat: int,
    *,
    optional: bool,
) -> tuple[Simulation, list[float]]:
    """Decide so often, from fresh objects each time; return the last decision, and how long each took (s)."""
    seconds: list[float] = []
    with Waiting("deciding", repeat, sys.stderr) as waiting:
        for done in range(repeat):
            waiting.at(done)
            decoded = decode_all(manifests, node_classes_optional=optional)
            simulation = Simulation(decoded, catalogues, settings, manifests=manifests)
            began = perf_counter()
            simulation.decide()
            seconds.append(perf_counter() - began)
    return simulation, seconds
