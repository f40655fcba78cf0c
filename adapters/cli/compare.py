"""`treenail compare`: two sets of pools, or two settings, over the same history, side by side."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Final

import typer
from rich.table import Table

from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, console_on, warn, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.region_option import Region
from treenail.adapters.cli.rehearsal_options import (
    At,
    Duration,
    EarlyBinding,
    Files,
    NodeRepair,
    Others,
    OtherSettings,
    PodWrites,
    ProvisionForOption,
    Seed,
    options_of,
)
from treenail.adapters.cli.rehearsal_run import RehearsalRun, check
from treenail.adapters.cli.rehearsals import rehearse_all
from treenail.adapters.cli.report_file import ReportFile, writable, write_page
from treenail.adapters.cli.told_settings import SettingsSaid
from treenail.adapters.cli.wrapped_lines import write_hanging
from treenail.adapters.embed.comparison import Comparison, as_json, outcome_of
from treenail.adapters.embed.comparison_story import COLUMNS, rows, tell_comparison
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

_MOST_SEEDS: Final = 1000


def compare(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Files,
    others: Others = None,
    duration: Duration = "24h",
    at: At = None,
    setting: SettingsSaid = None,
    with_setting: OtherSettings = None,
    early_binding: EarlyBinding = False,  # noqa: FBT002 (a flag)
    node_repair: NodeRepair = False,  # noqa: FBT002 (a flag)
    provision_for: ProvisionForOption = None,
    pod_writes: PodWrites = None,
    seed: Seed = 0,
    region: Region = "",
    seeds: Annotated[int, typer.Option(help="The number of seeds, from --seed on.")] = 1,
    price_overrides_file: PriceOverridesFile = None,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    output: Output = OutputFormat.TABLE,
    report: ReportFile = None,
) -> None:
    """Rehearse two sides over the same history: the costs of both, and the waiting of pods on each."""
    said = locals()
    writable(report)
    if not others and not with_setting:
        raise BadInputError("compare needs --with FILE or --with-setting NAME=VALUE: what side B has")
    if not 1 <= seeds <= _MOST_SEEDS:
        raise BadInputError(f"--seeds {seeds} is not between 1 and {_MOST_SEEDS}")
    options = options_of(said)
    a, b = options.runs()
    for side in (a, b):
        check(side)
    comparison = _compared(a, b, range(seed, seed + seeds))
    neither = {one for o in comparison.a for one in o.skipped} & {
        one for o in comparison.b for one in o.skipped
    }
    warn(f"--at: done on neither side, {one}" for one in sorted(neither))
    title = options.title
    if report is not None:
        with_seeds = f"seeds {seed} to {seed + seeds - 1}" if seeds > 1 else f"seed {seed}"
        below = f"{duration} of virtual time, {with_seeds}"
        write_page(report, tell_comparison(comparison, title, below))
    if output is OutputFormat.JSON:
        write_json(as_json(comparison), sort_keys=True)
    else:
        _write(comparison, title)


def _compared(a: RehearsalRun, b: RehearsalRun, seeds: range) -> Comparison:
    """Rehearse both sides with each seed."""
    runs = [replace(side, seed=seed) for seed in seeds for side in (a, b)]
    outcomes = tuple(rehearse_all(runs, outcome_of))
    return Comparison(outcomes[::2], outcomes[1::2])


def _write(comparison: Comparison, title: str) -> None:
    console = console_on(sys.stdout)
    for line in (*comparison.verdict(), *comparison.skipped()):
        write_hanging(console, "", line)
    write_hanging(console, "\n", f"{title}\n")
    table = Table(*COLUMNS, box=None)
    for row in rows(comparison):
        table.add_row(*row)
    console.print(table, highlight=False)
