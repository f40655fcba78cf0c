"""`treenail explain`: why a pod or a node of a cluster is where it is, and in the state it is in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treenail.adapters.cli.kubeconfig import Context, Kubeconfig
from treenail.adapters.cli.output_format import Output, OutputFormat, console_on, write_json
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.wrapped_lines import write_hanging
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.restoring import restore_expected
from treenail.domain.explain.explanation import Statement, ago
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.explain.pod_explanation import explain_pod

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.cli.live_cluster import LiveCluster, ToldEvent

explain = typer.Typer(help="Explain why a pod or a node of the cluster is where it is.")


@explain.command()
def pod(
    name: Annotated[str, typer.Argument(metavar="NAMESPACE/NAME")],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Explain why a pod is on its node, or on none, and what keeps it there."""
    namespace, _, short = name.rpartition("/")
    namespace = namespace or "default"
    if not short or "/" in namespace:
        raise BadInputError(f"Pod {name!r}: write NAMESPACE/NAME")
    now = datetime.now(UTC)
    with _open(kubeconfig, context) as cluster:
        look = cluster.look()
        events = cluster.events(short, namespace)
    pods = look.model.objects.pods.values()
    there = next((p for p in pods if (p.namespace, p.name) == (namespace, short)), None)
    unclear = _unclear(look.problems((Kind.POD,), (short,), namespace))
    if there is None and not events and not unclear:
        raise BadInputError(f"Pod {namespace}/{short}: is not there, and no event tells of it")
    if there is not None:
        statements = tuple(explain_pod(look.model, there, now, claims_known=look.knows_claims))
    else:
        statements = unclear or (Statement("place", "It is not there any more."),)
    _print(f"Pod {namespace}/{short}", statements, events, now, output)


@explain.command()
def node(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of a node, a NodeClaim or a Machine.")
    ],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Explain why a node is there, whether it may go, and why it goes or went."""
    now = datetime.now(UTC)
    with _open(kubeconfig, context) as cluster:
        look = cluster.look(buffers=True)
        restore_expected(look.model, now, lasts_until=now)
        view = look.model.objects.view(name) or look.model.objects.view(look.model.objects.view_name(name))
        names = dict.fromkeys((name, *((view.name, view.node_name) if view is not None else ())))
        events = tuple(sorted(event for one in names if one for event in cluster.events(one)))
    unclear = _unclear(look.problems((Kind.NODE, Kind.NODE_CLAIM), names))
    if view is None and not events and not unclear:
        raise BadInputError(f"Node {name}: is not there, and no event tells of it")
    if view is not None:
        statements = tuple(explain_node(look.model, view, now, claims_known=look.knows_claims))
    else:
        statements = unclear or (Statement("end", "It is not there any more."),)
    _print(f"Node {name}", statements, events, now, output)


def _unclear(problems: Sequence[str]) -> tuple[Statement, ...]:
    return tuple(Statement("object", f"It is not understood: {problem}.") for problem in problems)


def _open(kubeconfig: Path | None, context: str | None) -> LiveCluster:
    from treenail.adapters.cli.live_cluster import LiveCluster  # noqa: PLC0415

    return LiveCluster.open(kubeconfig, context)


def _print(
    subject: str,
    statements: Sequence[Statement],
    events: Sequence[ToldEvent],
    now: datetime,
    output: OutputFormat,
) -> None:
    if output is OutputFormat.JSON:
        report = {
            "subject": subject,
            "statements": [{"about": one.about, "says": one.says} for one in statements],
            "events": [
                {
                    "at": one.at.isoformat(),
                    "about": one.about,
                    "reason": one.reason,
                    "message": one.message,
                    "count": one.count,
                }
                for one in events
            ],
        }
        write_json(report, sort_keys=True)
        return
    console = console_on(sys.stdout)
    write_hanging(console, "", subject)
    for statement in statements:
        write_hanging(console, "  ", statement.says)
    if events:
        write_hanging(console, "", "Events")
    for event in events:
        write_hanging(console, "  ", _line(event, now))


def _line(event: ToldEvent, now: datetime) -> str:
    times = f" (x{event.count})" if event.count > 1 else ""
    return f"{ago(event.at, now)}{times}, {event.about} {event.reason}: {event.message}"
