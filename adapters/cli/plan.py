"""`treenail plan`: what consolidation would move now, on a cluster or on files, and nothing done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from treenail.adapters.api.manifests import decode_all
from treenail.adapters.cli.kubeconfig import Context, Kubeconfig, no_cluster_beside
from treenail.adapters.cli.manifest_files import manifests_of
from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, warn, write_json
from treenail.adapters.cli.plan_report import as_json, write_report
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.told_settings import told_by
from treenail.adapters.embed.consolidation_preview import preview
from treenail.adapters.embed.home import not_known
from treenail.adapters.embed.manifest_cluster import ManifestCluster
from treenail.adapters.embed.previewed_cluster import PreviewRules
from treenail.adapters.embed.regional_catalogues import ClusterMarket, RegionalCatalogues
from treenail.adapters.embed.told_settings import sizes_of
from treenail.adapters.embed.unknown_types import unknown_types
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.durations import format_duration, parse_duration
from treenail.domain.model.instants import read_instant
from treenail.domain.model.price_overrides import PriceOverrides
from treenail.domain.packing.consolidation.worth import PAYBACK
from treenail.domain.packing.problem import NODE_OVERHEAD_COST, PackingSettings

_PROMISE_LASTS: Final = timedelta(seconds=20)
_DEFAULT_PAYBACK: Final = format_duration(PAYBACK)


def _duration(written: str) -> timedelta:
    span = parse_duration(written)
    if span is None or span <= timedelta(0):
        raise BadInputError(
            f'--payback (CONSOLIDATION_PAYBACK) {written!r} is no duration above 0, such as "2h"'
        )
    return span


def _instant(written: str) -> datetime:
    at = read_instant(written)
    if at is None:
        raise BadInputError(f"--as-of {written!r} is no time such as 2026-01-31T09:00:00Z")
    return at


_Files: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--file", "-f", help="Manifests in place of a cluster, such as what kubectl get prints; - is stdin."
    ),
]
_Whole: TypeAlias = Annotated[
    bool, typer.Option("--whole", help="As if budgets of pools let everything go at once.")
]
_Payback: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar="CONSOLIDATION_PAYBACK",
        metavar="DURATION",
        help="The time within which a move must save what it costs, for pools that name none.",
    ),
]
_AsOf: TypeAlias = Annotated[
    datetime | None,
    typer.Option(parser=_instant, metavar="TIME", help="The time to plan for; the present, if not given."),
]


def plan(  # noqa: PLR0913 (each is an option of the command)
    *,
    file: _Files = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = OutputFormat.TABLE,
    whole: _Whole = False,
    payback: _Payback = _DEFAULT_PAYBACK,
    spot_to_spot: Annotated[
        bool, typer.Option("--spot-to-spot", help="Replace spot nodes with cheaper spot nodes, too.")
    ] = False,
    node_overlays: Annotated[
        bool,
        typer.Option(
            "--node-overlays", help="Heed the cluster's NodeOverlays. Those of files are heeded in any case."
        ),
    ] = False,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    price_overrides_file: PriceOverridesFile = None,
    as_of: _AsOf = None,
    ctx: typer.Context,
) -> None:
    """Show the nodes that would be given up or replaced, the saving, and what blocks other nodes."""
    prices = own_prices(price_overrides_file)
    rules = PreviewRules(
        packing=PackingSettings(node_overhead_cost=node_overhead_cost),
        payback=_duration(payback),
        spot_to_spot=spot_to_spot,
        whole=whole,
    )
    no_cluster_beside(file, ctx)
    if file:
        model, catalogues, now, warnings = _of_files(file, as_of, prices)
    else:
        now = as_of or datetime.now(UTC)
        model, catalogues, warnings = _of_cluster(kubeconfig, context, prices, overlays=node_overlays)
    made = preview(model, catalogues, rules, now)
    warn((*warnings, *filter(None, (catalogues.warning,)), *made.warnings))
    if output is OutputFormat.JSON:
        write_json(as_json(made))
    else:
        write_report(made, sys.stdout, whole=whole)


def _of_files(
    files: Sequence[str], as_of: datetime | None, prices: PriceOverrides
) -> tuple[ClusterModel, RegionalCatalogues, datetime, tuple[str, ...]]:
    """Return the cluster of files and its catalogues, at a time: of a snapshot, when it was taken."""
    manifests = manifests_of(files)
    decoded = decode_all(manifests)
    told = told_by(decoded, manifests)
    taken = next((one.taken_at for one in decoded.snapshots), None)
    now = as_of or taken or datetime.now(UTC)
    cluster = ManifestCluster(decoded, now, workloads=False)
    model = ClusterModel(promise_lasts=_PROMISE_LASTS)
    model.learn(cluster.listed(), now)
    market = ClusterMarket.of(model.objects.views(), next(iter(decoded.accounts), None))
    catalogues = RegionalCatalogues(market, prices=prices, sizes=sizes_of(told))
    odd = (line for one in decoded.accounts for line in unknown_types(one))
    return model, catalogues, now, (*cluster.warnings, *told.warnings, *not_known(decoded), *odd)


def _of_cluster(
    kubeconfig: Path | None, context: str | None, prices: PriceOverrides, *, overlays: bool
) -> tuple[ClusterModel, RegionalCatalogues, tuple[str, ...]]:
    # The library for it takes a third of a second to import.
    from treenail.adapters.cli.live_cluster import LiveCluster  # noqa: PLC0415

    with LiveCluster.open(kubeconfig, context) as cluster:
        look = cluster.look(overlays=overlays)
    aside = (f"{one.about}: is not understood: {one.problem}" for one in look.set_aside)
    catalogues = RegionalCatalogues(ClusterMarket.of(look.model.objects.views()), prices=prices)
    return look.model, catalogues, tuple(aside)
