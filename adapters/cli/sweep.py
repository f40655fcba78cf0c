"""`treenail sweep`: many rehearsals that differ in their seed alone, and the spread of their numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Annotated, Final

import typer

from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.region_option import Region
from treenail.adapters.cli.rehearsal_options import (
    At,
    Duration,
    EarlyBinding,
    NodeRepair,
    Others,
    OtherSettings,
    PodWrites,
    ProvisionForOption,
    RehearsalOptions,
    options_of,
)
from treenail.adapters.cli.rehearsal_run import RehearsalRun, check
from treenail.adapters.cli.rehearsals import rehearse_all
from treenail.adapters.cli.sweep_files import placed_files
from treenail.adapters.cli.sweep_job import job_text
from treenail.adapters.cli.sweep_report import command_for, write_sweep
from treenail.adapters.cli.sweep_shares import MOST_SEEDS, Side, header_of, lines_of, merged, share_of
from treenail.adapters.cli.told_settings import SettingsSaid
from treenail.adapters.embed.fail_conditions import FailCondition, fail_condition
from treenail.adapters.embed.seed_results import result_of
from treenail.adapters.embed.sweep import Sweep, as_json
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

_SEEDS: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def sweep(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    context: typer.Context,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="Manifests to apply at the start; - is stdin."),
    ] = None,
    others: Others = None,
    seeds: Annotated[str, typer.Option(metavar="FIRST-LAST", help="The seeds, such as 1-1000.")] = "1-100",
    duration: Duration = "1h",
    at: At = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="End with exit code 1 where this holds, such as pending>0."),
    ] = None,
    setting: SettingsSaid = None,
    with_setting: OtherSettings = None,
    early_binding: EarlyBinding = False,  # noqa: FBT002 (a flag)
    node_repair: NodeRepair = False,  # noqa: FBT002 (a flag)
    provision_for: ProvisionForOption = None,
    pod_writes: PodWrites = None,
    region: Region = "",
    price_overrides_file: PriceOverridesFile = None,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    processes: Annotated[
        int | None, typer.Option(min=1, help="The number of processes that share the work; else one a core.")
    ] = None,
    shares: Annotated[
        int | None,
        typer.Option(min=1, help="Into how many shares the seeds are divided; rehearse one of them."),
    ] = None,
    index: Annotated[
        int | None, typer.Option(envvar="JOB_COMPLETION_INDEX", min=0, help="The share to run, from 0 on.")
    ] = None,
    kubernetes: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--kubernetes", help="Write a Kubernetes Job that rehearses a share in each pod.")
    ] = False,
    image: Annotated[str, typer.Option(help="The image of treenail that the Job's pods run.")] = "",
    merge: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Print the results of shares; rehearse nothing.")
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Rehearse with many seeds: the spread of cost, waiting, nodes and evictions, and the worst seeds."""
    said = locals()
    conditions = tuple(_condition(one) for one in fail_if or ())
    if merge:
        _alone(context, "--merge reads what shares were told", ("merge", "fail_if", "output"))
        header, results = merged(merge)
        _tell(Sweep(results["a"], results.get("b", ()), conditions), header.options, output)
        return
    options = options_of(said)
    if not options.files:
        raise BadInputError("sweep needs -f FILE, or --merge FILE with the results of shares")
    if fail_if and (kubernetes or shares):
        raise BadInputError("--fail-if is for all seeds: give it with --merge")
    if image and not kubernetes:
        raise BadInputError("--image goes with --kubernetes")
    if "--index" in _written(context) and (kubernetes or shares is None):
        raise BadInputError("--index says which of --shares is rehearsed: it goes with --shares alone")
    if "--output" in _written(context) and (kubernetes or shares):
        raise BadInputError("--output is for all seeds: give it with --merge")
    if processes and kubernetes:
        raise BadInputError("--processes is for this machine: each pod of a Job has one")
    all_seeds = _seeds(seeds)
    if shares is not None and shares > len(all_seeds):
        raise BadInputError(f"--shares {shares} is more than the {len(all_seeds):,} seeds")
    if kubernetes:
        _write_job(options, all_seeds, shares, image)
    elif shares is not None:
        _write_share(options, all_seeds, shares, index, processes)
    else:
        found = tuple(rehearse_all(_checked(options, all_seeds), result_of, processes=processes))
        a, b = (found[::2], found[1::2]) if options.two_sides else (found, ())
        _tell(Sweep(a, b, conditions), options, output)


def _written(context: typer.Context, but: Sequence[str] = ()) -> list[str]:
    """Return the options that the command line has, less those of the parameters `but`."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name not in but
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    ]


def _alone(context: typer.Context, why: str, those: Sequence[str]) -> None:
    """Refuse options that would be ignored."""
    others = _written(context, those)
    if others:
        raise BadInputError(f"{why}; only --fail-if and -o go with it, not {', '.join(others)}")


def _condition(written: str) -> FailCondition:
    try:
        return fail_condition(written)
    except ValueError as error:
        raise BadInputError(f"--fail-if {written!r}: {error}") from None


def _seeds(written: str) -> range:
    found = _SEEDS.fullmatch(written.strip())
    if found is None:
        raise BadInputError(f"--seeds {written!r} is not FIRST-LAST, such as 1-1000")
    first = int(found[1])
    seeds = range(first, int(found[2] or first) + 1)
    if not 1 <= len(seeds) <= MOST_SEEDS:
        raise BadInputError(f"--seeds {written!r} are {len(seeds):,} seeds, not 1 to {MOST_SEEDS:,}")
    return seeds


def _checked(options: RehearsalOptions, seeds: Sequence[int]) -> list[RehearsalRun]:
    """Return the runs of all seeds, those of a seed side by side, once each side is known to begin."""
    sides = options.runs()
    for side in sides:
        check(side)
    return [replace(side, seed=seed) for seed in seeds for side in sides]


def _write_job(options: RehearsalOptions, seeds: range, shares: int | None, image: str) -> None:
    if shares is None or not image:
        raise BadInputError("--kubernetes needs --shares N, one for each pod, and --image IMAGE")
    files = placed_files(options)
    _checked(options, seeds[:1])
    sys.stdout.write(job_text(header_of(files.options, seeds, files.contents.values()), files, shares, image))


def _write_share(
    options: RehearsalOptions, seeds: range, shares: int, index: int | None, processes: int | None
) -> None:
    if index is None or index >= shares:
        said = "is missing" if index is None else f"is {index}"
        raise BadInputError(f"--index (JOB_COMPLETION_INDEX) {said}: it says which share, 0 to {shares - 1}")
    runs = _checked(options, share_of(seeds, index, shares))
    header = header_of(options, seeds, placed_files(options).contents.values())
    sides: tuple[Side, ...] = ("a", "b") if options.two_sides else ("a",)
    results = zip(cycle(sides), rehearse_all(runs, result_of, processes=processes), strict=False)
    for line in lines_of(header, results):
        sys.stdout.write(f"{line}\n")


def _tell(found: Sweep, options: RehearsalOptions, output: OutputFormat) -> None:
    """Write a sweep; exit with 1 where a condition holds."""
    commands = {one: command_for(one, options, found) for one in found.worst()}
    if output is OutputFormat.JSON:
        write_json(as_json(found, commands), sort_keys=True)
    else:
        write_sweep(found, f"{options.title}, {options.duration} of virtual time", commands)
    if any(found.failed()):
        raise typer.Exit(1)
