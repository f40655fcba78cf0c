"""The forms in which a command prints its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, TextIO, TypeAlias

import typer
from rich.console import Console

# A file or a pipe has no width: one row is one line there, to be searched for.
_UNWRAPPED: Final = 100_000


class OutputFormat(StrEnum):
    """A table for people, JSON for scripts."""

    TABLE = "table"
    JSON = "json"


Output: TypeAlias = Annotated[OutputFormat, typer.Option("--output", "-o", help="The output format.")]


def console_on(stream: TextIO) -> Console:
    """Return a console that writes to `stream`: in colour and wrapped only on a terminal."""
    if stream.isatty():
        return Console(file=stream)
    return Console(file=stream, width=_UNWRAPPED, force_terminal=False, color_system=None)


def write_json(report: object, *, sort_keys: bool = False) -> None:
    """Write a report for scripts on stdout."""
    sys.stdout.write(json.dumps(report, indent=1, sort_keys=sort_keys) + "\n")


def warn(warnings: Iterable[str]) -> None:
    """Write warnings on stderr, a line each."""
    sys.stderr.writelines(f"treenail: warning: {warning}\n" for warning in warnings)
