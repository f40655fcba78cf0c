"""`treenail rehearse`: the whole system on fakes, in virtual time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from treenail.actors.system import SystemSettings
from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.adapters.cli.at_option import taken_apart
from treenail.adapters.cli.node_overhead_cost import NodeOverheadCost
from treenail.adapters.cli.output_format import Output, OutputFormat, warn, write_json
from treenail.adapters.cli.price_overrides import PriceOverridesFile, own_prices
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.progress import Waiting
from treenail.adapters.cli.rehearsal_report import as_json, write_report, write_summary
from treenail.adapters.cli.report_file import ReportFile, names_of, writable, write_page
from treenail.adapters.cli.told_settings import told_by
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.embed.actions import Action, parse_action
from treenail.adapters.embed.node_class_problems import check_node_classes
from treenail.adapters.embed.rehearsal import Conditions, Rehearsal
from treenail.adapters.embed.rehearsal_story import tell_story
from treenail.adapters.embed.rehearsal_summary import summarize
from treenail.adapters.embed.told_settings import sizes_of
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterSettings
from treenail.adapters.settings.settings import ProvisionFor, Settings
from treenail.domain.disruption.node_repair import EC2_POLICIES
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.errors import PortError
from treenail.domain.packing.problem import NODE_OVERHEAD_COST, PackingSettings

_LONGEST_HOURS: Final = 24 * 31
# Virtual seconds from one look at how far it has come to the next.
_LOOK_EVERY: Final = 10.0


_At: TypeAlias = Annotated[
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


def rehearse(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    file: Annotated[
        list[str], typer.Option("--file", "-f", help="Manifests to apply at the start; - is stdin.")
    ],
    duration: Annotated[str, typer.Option("--for", help="How long to rehearse, in virtual time.")] = "10m",
    at: _At = None,
    early_binding: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--early-binding", help="Bind pods to their nodes before the machines join.")
    ] = False,
    node_repair: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--node-repair", help="Replace nodes that stay unhealthy.")
    ] = False,
    provision_for: Annotated[
        ProvisionFor,
        typer.Option("--provision-for", help="Plan nodes for pods still to come, or for those there."),
    ] = ProvisionFor.WISHES,
    pod_writes: Annotated[
        float | None,
        typer.Option(
            "--pod-writes",
            min=1,
            help="How many pods a second are made of ReplicaSets and StatefulSets; else all at once.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed: equal seeds give equal rehearsals.")] = 0,
    price_overrides_file: PriceOverridesFile = None,
    node_overhead_cost: NodeOverheadCost = NODE_OVERHEAD_COST,
    output: Output = OutputFormat.TABLE,
    report: ReportFile = None,
    quiet: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--quiet", "-q", help="Print the summary alone.")
    ] = False,
    events: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--events", help="Print the events that the controller published, too.")
    ] = False,
) -> None:
    """Run the whole system on a fake cluster and a fake EC2, and tell what happens and when."""
    seconds = _seconds(duration)
    writable(report)
    actions = _actions([taken_apart(one) for one in at or []], seconds)
    manifests = read_manifests([Path(f) if f != "-" else f for f in file])
    decoded = decode_all(manifests)
    told = told_by(decoded, manifests)
    conditions = Conditions(
        system=_system(
            told, early_binding=early_binding, node_repair=node_repair, overhead_cost=node_overhead_cost
        ),
        cluster=ClusterSettings(
            system_daemons=EKS_DAEMONS,
            pod_writes=pod_writes,
            tells_workloads=provision_for is ProvisionFor.WISHES,
        ),
        catalogue=Catalogue.shipped(settings=sizes_of(told)),
        prices=own_prices(price_overrides_file),
    )
    with Rehearsal(seed=seed, conditions=conditions) as rehearsal:
        check_node_classes(
            decoded, manifests, lambda p, c: rehearsal.ec2.instance_types(c, p.kubelet or c.kubelet)
        )
        warn((*decoded.warnings, *told.warnings))
        rehearsal.cluster.apply(*decoded.objects())
        with Waiting("rehearsing", seconds, sys.stderr) as waiting:
            _run(rehearsal, actions, seconds, waiting)
        summary = summarize(rehearsal)
        if report is not None:
            write_page(report, tell_story(rehearsal, summary, *_titles(file, duration, seed)))
        if output is OutputFormat.JSON:
            write_json(as_json(rehearsal, summary), sort_keys=True)
        elif quiet:
            write_summary(summary, sys.stdout)
        else:
            write_report(rehearsal, summary, sys.stdout, events=events)


def _titles(files: list[str], duration: str, seed: int) -> tuple[str, str]:
    """Return the title of a report, and the line below it."""
    return f"Rehearsal of {names_of(files)}", f"{duration} of virtual time, seed {seed}"


def _seconds(duration: str) -> float:
    span = parse_duration(duration)
    if span is None or not 0 < span.total_seconds() <= _LONGEST_HOURS * 3600:
        raise BadInputError(f"--for {duration!r} is not a duration between 1s and 744h, such as 10m")
    return span.total_seconds()


def _system(
    told: Settings, *, early_binding: bool, node_repair: bool, overhead_cost: float
) -> SystemSettings:
    return SystemSettings(
        cluster_name=told.cluster_name,
        batch_idle_seconds=told.batch_idle_duration,
        batch_max_seconds=told.batch_max_duration,
        tags=told.aws_tags,
        early_binding=early_binding,
        repair=EC2_POLICIES if node_repair else (),
        packing=PackingSettings(node_overhead_cost=overhead_cost),
    )


def _actions(written: list[tuple[str, str]], seconds: float) -> list[Action]:
    """Read the actions, in the order of their times; what can be checked before the run is."""
    try:
        actions = [parse_action(at, text) for at, text in written]
    except ValueError as error:
        raise BadInputError(f"--at: {error}") from None
    for action in actions:
        if action.at > seconds:
            raise BadInputError(f"--at {action.at:g}s {action}: comes after the end, at {seconds:g}s")
        if action.name == "apply":
            read_manifests([Path(action.argument)])
    return sorted(actions, key=lambda a: a.at)


def _run(rehearsal: Rehearsal, actions: list[Action], seconds: float, waiting: Waiting) -> None:
    for action in actions:
        _advance(rehearsal, action.at, waiting)
        try:
            action.do(rehearsal)
        except (ValueError, PortError) as error:
            raise BadInputError(f"--at {action.at:g}s {action}: {error}") from None
    _advance(rehearsal, seconds, waiting)


def _advance(rehearsal: Rehearsal, to: float, waiting: Waiting) -> None:
    while rehearsal.seconds < to:
        rehearsal.run(min(_LOOK_EVERY, to - rehearsal.seconds))
        waiting.at(rehearsal.seconds)
