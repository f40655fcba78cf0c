"""`treenail takeover`: taking a cluster over from Karpenter, and giving it back."""

from __future__ import annotations

from typing import Final

import typer

from treenail.adapters.cli.takeover.back import back
from treenail.adapters.cli.takeover.check import check
from treenail.adapters.cli.takeover.convert import convert

takeover: Final = typer.Typer(help="Take a cluster over from Karpenter, or give it back.")
takeover.command()(check)
takeover.command()(convert)
takeover.command()(back)
