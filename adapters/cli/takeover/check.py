"""`treenail takeover check`: what would change where Karpenter runs now. It reads, and never writes."""

from __future__ import annotations

from typing import Annotated

import typer

from treenail.adapters.cli.kubeconfig import Context, Kubeconfig, no_cluster_beside
from treenail.adapters.cli.output_format import Output, OutputFormat
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.takeover.definitions import definitions
from treenail.adapters.cli.takeover.estate import of_cluster, of_files
from treenail.adapters.cli.takeover.findings import print_findings
from treenail.adapters.cli.takeover.karpenter_settings import settings_of
from treenail.adapters.cli.takeover.objects import objects
from treenail.adapters.cli.takeover.running_karpenter import leaders, webhooks


def check(
    *,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="Manifests in place of a cluster; - is stdin."),
    ] = None,
    output: Output = OutputFormat.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    ctx: typer.Context,
) -> None:
    """Check what becomes of each object and setting of a cluster that Karpenter runs. Nothing is changed.

    The exit code is 0 where nothing is in the way, 1 where something must be done first, 2 for bad input.
    """
    no_cluster_beside(file, ctx)
    estate = of_files(file) if file else of_cluster(kubeconfig, context)
    parts = (leaders, webhooks, settings_of, definitions, objects)
    findings = [finding for part in parts for finding in part(estate)]
    if not findings:
        raise BadInputError("nothing of Karpenter's was found")
    print_findings(findings, output)
