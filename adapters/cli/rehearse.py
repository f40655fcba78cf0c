"""`treenail rehearse`: the whole system on fakes, in virtual time."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.otlp import OtlpUrl, checked, send_spans
from treenail.adapters.cli.output_format import Output, OutputFormat, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile
from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.region_option import Region
from treenail.adapters.cli.rehearsal_options import (
    At,
    Duration,
    EarlyBinding,
    Files,
    NodeRepair,
    PodWrites,
    ProvisionForOption,
    Seed,
    options_of,
)
from treenail.adapters.cli.rehearsal_report import as_json, write_report, write_summary
from treenail.adapters.cli.rehearsal_run import check, rehearsed
from treenail.adapters.cli.report_file import ReportFile, writable, write_page
from treenail.adapters.cli.told_settings import SettingsSaid
from treenail.adapters.embed.rehearsal_story import tell_story
from treenail.adapters.embed.rehearsal_summary import summarize
from treenail.domain.model.counted import counted
from treenail.domain.packing.problem import NODE_OVERHEAD_COST


def rehearse(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Files,
    duration: Duration = "10m",
    at: At = None,
    early_binding: EarlyBinding = False,  # noqa: FBT002 (a flag)
    node_repair: NodeRepair = False,  # noqa: FBT002 (a flag)
    provision_for: ProvisionForOption = None,
    pod_writes: PodWrites = None,
    seed: Seed = 0,
    region: Region = "",
    price_overrides_file: PriceOverridesFile = None,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    setting: SettingsSaid = None,
    output: Output = OutputFormat.TABLE,
    report: ReportFile = None,
    otlp: OtlpUrl = None,
    quiet: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--quiet", "-q", help="Print the summary alone.")
    ] = False,
    events: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--events", help="Print the events that the controller published, too.")
    ] = False,
) -> None:
    """Run the whole system on a fake cluster and a fake EC2, and tell what happens and when."""
    said = locals()
    writable(report)
    collector = checked(otlp)
    options = options_of(said)
    [run] = (replace(one, seed=seed) for one in options.runs(skips=False))
    check(run)
    with Waiting("rehearsing", run.seconds, sys.stderr) as waiting, rehearsed(run, waiting.at) as rehearsal:
        waiting.over()
        summary = summarize(rehearsal)
        if report is not None:
            title, below = f"Rehearsal of {options.title}", f"{duration} of virtual time, seed {seed}"
            write_page(report, tell_story(rehearsal, summary, title, below))
        if output is OutputFormat.JSON:
            write_json(as_json(rehearsal, summary), sort_keys=True)
        elif quiet:
            write_summary(summary, sys.stdout)
        else:
            write_report(rehearsal, summary, sys.stdout, events=events)
        if collector is not None:
            cluster = rehearsal.conditions.system.cluster_name
            spans, end = rehearsal.telemetry.spans(), rehearsal.world.now()
            sent = send_spans(collector, spans, end, cluster, rehearsal.ec2.region)
            sys.stderr.write(f"treenail: sent {counted(sent, 'span')} to {collector}\n")
