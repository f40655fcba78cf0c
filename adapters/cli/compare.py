"""`treenail compare`: two sets of pools, or two settings, over the same history, side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Annotated, Final

import typer
from rich.table import Table

from treenail.adapters.api.manifests import Manifest
from treenail.adapters.cli.manifest_files import manifests_of
from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, console_on, warn, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.rehearsal_run import (
    RehearsalRun,
    actions_of,
    check,
    rehearsed,
    seconds_of,
)
from treenail.adapters.cli.rehearse import (
    At,
    Duration,
    EarlyBinding,
    Files,
    NodeRepair,
    PodWrites,
    ProvisionForOption,
    Seed,
)
from treenail.adapters.cli.report_file import ReportFile, names_of, writable, write_page
from treenail.adapters.cli.timeline_report import write_hanging
from treenail.adapters.cli.told_settings import SettingsSaid, said_by
from treenail.adapters.embed.comparison import Comparison, Outcome, as_json, outcome_of
from treenail.adapters.embed.comparison_story import COLUMNS, rows, tell_comparison
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

_MOST_SEEDS: Final = 1000
_POOLS: Final = ("NodePool", "Provisioner")


def compare(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Files,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Manifests of side B; those of a name that -f has too take its place, and pools take "
            "the place of all pools.",
        ),
    ] = None,
    duration: Duration = "24h",
    at: At = None,
    setting: SettingsSaid = None,
    with_setting: Annotated[
        list[str] | None,
        typer.Option("--with-setting", metavar="NAME=VALUE", help="A setting of side B alone."),
    ] = None,
    early_binding: EarlyBinding = False,  # noqa: FBT002 (a flag)
    node_repair: NodeRepair = False,  # noqa: FBT002 (a flag)
    provision_for: ProvisionForOption = None,
    pod_writes: PodWrites = None,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(help="With how many seeds, from --seed on.")] = 1,
    price_overrides_file: PriceOverridesFile = None,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    output: Output = OutputFormat.TABLE,
    report: ReportFile = None,
) -> None:
    """Rehearse two sides over the same history: which costs less, and what that costs in waiting."""
    seconds = seconds_of(duration)
    writable(report)
    if not others and not with_setting:
        raise BadInputError("compare needs --with FILE or --with-setting NAME=VALUE: what side B has")
    if not 1 <= seeds <= _MOST_SEEDS:
        raise BadInputError(f"--seeds {seeds} is not between 1 and {_MOST_SEEDS}")
    shared = said_by(setting)
    a = RehearsalRun(
        actions=actions_of(at or (), seconds),
        manifests=manifests_of(file),
        seconds=seconds,
        said=shared,
        early_binding=early_binding,
        node_repair=node_repair,
        provision_for=provision_for,
        pod_writes=pod_writes,
        node_overhead_cost=node_overhead_cost,
        prices=own_prices(price_overrides_file),
        # What one side has, such as spot nodes, the other may lack.
        skips=True,
    )
    b = replace(
        a,
        manifests=in_place_of(a.manifests, manifests_of(others or [])),
        said={**shared, **said_by(with_setting, "--with-setting")},
    )
    for side in (a, b):
        check(side)
    comparison = _compared(a, b, range(seed, seed + seeds))
    neither = {one for o in comparison.a for one in o.skipped} & {
        one for o in comparison.b for one in o.skipped
    }
    warn(f"--at: done on neither side, {one}" for one in sorted(neither))
    title = f"A: {names_of(file)}; B: {_named(others or [], with_setting or [])}"
    if report is not None:
        with_seeds = f"seeds {seed} to {seed + seeds - 1}" if seeds > 1 else f"seed {seed}"
        below = f"{duration} of virtual time, {with_seeds}"
        write_page(report, tell_comparison(comparison, title, below))
    if output is OutputFormat.JSON:
        write_json(as_json(comparison), sort_keys=True)
    else:
        _write(comparison, title)


def _named(files: list[str], settings: list[str]) -> str:
    return ", ".join((*([names_of(files)] if files else []), *settings))


def in_place_of(before: Iterable[Manifest], after: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return the manifests of side B: those of `before`, less what those of `after` take the place of.

    A pool among `after` takes the place of all pools; any other object, that of the one of its kind and name.
    """
    new = tuple(after)
    named: Mapping[tuple[str, str, str], None] = {(m.kind, m.namespace, m.name): None for m in new}
    pools = any(m.kind in _POOLS for m in new)
    kept = (
        m for m in before if (m.kind, m.namespace, m.name) not in named and not (pools and m.kind in _POOLS)
    )
    return (*kept, *new)


def _compared(a: RehearsalRun, b: RehearsalRun, seeds: range) -> Comparison:
    """Rehearse both sides with each seed, on two processes."""
    runs = [replace(side, seed=seed) for seed in seeds for side in (a, b)]
    outcomes: list[Outcome] = []
    with (
        Waiting("comparing", len(runs), sys.stderr) as waiting,
        # Nothing is inherited: a process starts in the same state as one that was started by hand.
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        for done, outcome in enumerate(pool.map(_outcome, runs), 1):
            outcomes.append(outcome)
            waiting.at(done)
    return Comparison(tuple(outcomes[::2]), tuple(outcomes[1::2]))


def _outcome(run: RehearsalRun) -> Outcome:
    with rehearsed(run) as rehearsal:
        return outcome_of(rehearsal, run.seed)


def _write(comparison: Comparison, title: str) -> None:
    console = console_on(sys.stdout)
    for line in (*comparison.verdict(), *comparison.skipped()):
        write_hanging(console, "", line)
    write_hanging(console, "\n", f"{title}\n")
    table = Table(*COLUMNS, box=None)
    for row in rows(comparison):
        table.add_row(*row)
    console.print(table, highlight=False)
