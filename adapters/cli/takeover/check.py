"""`treenail takeover check`: what would change where Karpenter runs now. It reads, and never writes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from treenail.adapters.cli.kubeconfig import Context, Kubeconfig
from treenail.adapters.cli.output_format import OutputFormat
from treenail.adapters.cli.takeover.definitions import definitions
from treenail.adapters.cli.takeover.estate import of_cluster, of_files
from treenail.adapters.cli.takeover.findings import as_json, as_table, is_in_the_way
from treenail.adapters.cli.takeover.karpenter_settings import settings_of
from treenail.adapters.cli.takeover.leaders import leaders
from treenail.adapters.cli.takeover.objects import objects


def check(
    *,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="Manifests in place of a cluster; - is stdin."),
    ] = None,
    output: Annotated[
        OutputFormat, typer.Option("--output", "-o", help="How to print it.")
    ] = OutputFormat.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say of a cluster that Karpenter runs what becomes of each object and setting; it changes nothing.

    The exit code is 0 where nothing is in the way, 1 where something must be done first, 2 for bad input.
    """
    estate = of_files(file) if file else of_cluster(kubeconfig, context)
    findings = [*leaders(estate), *settings_of(estate), *definitions(estate), *objects(estate)]
    sys.stdout.write(as_json(findings) if output is OutputFormat.JSON else as_table(findings))
    if is_in_the_way(findings):
        raise typer.Exit(1)
