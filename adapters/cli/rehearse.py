"""`treenail rehearse`: the whole system on fakes, in virtual time."""

from __future__ import annotations

import sys
from typing import Annotated, TypeAlias

import typer

from treenail.adapters.cli.manifest_files import manifests_of
from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.otlp import OtlpUrl, checked, send_spans
from treenail.adapters.cli.output_format import Output, OutputFormat, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices
from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.rehearsal_report import as_json, write_report, write_summary
from treenail.adapters.cli.rehearsal_run import (
    RehearsalRun,
    actions_of,
    check,
    rehearsed,
    seconds_of,
)
from treenail.adapters.cli.report_file import ReportFile, names_of, writable, write_page
from treenail.adapters.cli.told_settings import SettingsSaid, said_by
from treenail.adapters.embed.rehearsal_story import tell_story
from treenail.adapters.embed.rehearsal_summary import summarize
from treenail.adapters.settings.settings import ProvisionFor
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

Files: TypeAlias = Annotated[
    list[str], typer.Option("--file", "-f", help="Manifests to apply at the start; - is stdin.")
]
Duration: TypeAlias = Annotated[str, typer.Option("--for", help="How long to rehearse, in virtual time.")]
At: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="TIME ACTION",
        help="Do something at this time: spot-interruption[=NODE], scale=NAME:REPLICAS, delete=KIND/NAME, "
        "apply=FILE, ice=TYPE/ZONE, rebalance[=NODE], terminate[=NODE], impaired[=NODE], "
        "unhealthy[=NODE], api-away=DURATION, queue-gone=DURATION, templates-gone, crash[=DURATION], and "
        "ec2-WHAT=DURATION, where WHAT is away, throttled, slow, answers-lost, hidden, no-templates or "
        "no-profile.",
    ),
]
EarlyBinding: TypeAlias = Annotated[
    bool, typer.Option("--early-binding", help="Bind pods to their nodes before the machines join.")
]
NodeRepair: TypeAlias = Annotated[
    bool, typer.Option("--node-repair", help="Replace nodes that stay unhealthy.")
]
ProvisionForOption: TypeAlias = Annotated[
    ProvisionFor | None,
    typer.Option("--provision-for", help="Plan nodes for pods still to come, or for those there."),
]
PodWrites: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--pod-writes",
        min=1,
        help="How many pods a second are made of ReplicaSets and StatefulSets; else all at once.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="The seed: equal seeds give equal rehearsals.")]


def rehearse(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Files,
    duration: Duration = "10m",
    at: At = None,
    early_binding: EarlyBinding = False,  # noqa: FBT002 (a flag)
    node_repair: NodeRepair = False,  # noqa: FBT002 (a flag)
    provision_for: ProvisionForOption = None,
    pod_writes: PodWrites = None,
    seed: Seed = 0,
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
    seconds = seconds_of(duration)
    writable(report)
    collector = checked(otlp)
    run = RehearsalRun(
        actions=actions_of(at or (), seconds),
        manifests=manifests_of(file),
        seconds=seconds,
        seed=seed,
        said=said_by(setting),
        early_binding=early_binding,
        node_repair=node_repair,
        provision_for=provision_for,
        pod_writes=pod_writes,
        node_overhead_cost=node_overhead_cost,
        prices=own_prices(price_overrides_file),
    )
    check(run)
    with Waiting("rehearsing", seconds, sys.stderr) as waiting, rehearsed(run, waiting.at) as rehearsal:
        waiting.over()
        summary = summarize(rehearsal)
        if report is not None:
            title, below = f"Rehearsal of {names_of(file)}", f"{duration} of virtual time, seed {seed}"
            write_page(report, tell_story(rehearsal, summary, title, below))
        if output is OutputFormat.JSON:
            write_json(as_json(rehearsal, summary), sort_keys=True)
        elif quiet:
            write_summary(summary, sys.stdout)
        else:
            write_report(rehearsal, summary, sys.stdout, events=events)
        if collector is not None:
            cluster = rehearsal.conditions.system.cluster_name
            sent = send_spans(collector, rehearsal.telemetry.spans(), rehearsal.world.now(), cluster)
            sys.stderr.write(f"treenail: sent {sent} spans to {collector}\n")
