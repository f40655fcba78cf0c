"""The application that reads the command line: its commands, each imported when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Annotated, Final

import typer

# Each is a function, or a group of commands, in the module of its name: only the one that is called is
# imported, since some bring the whole system.
COMMANDS: Final = (
    "controller",
    "rehearse",
    "simulate",
    "compare",
    "sweep",
    "plan",
    "snapshot",
    "catalogue",
    "convert",
    "explain",
    "takeover",
    "top",
)
_VERSION: Final = "--version"


def _version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        typer.echo(f"treenail {metadata.version('treenail')}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option(_VERSION, callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Decide, rehearse and explain the nodes of a cluster."""
    del version


def commands_for(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the commands that arguments are read with: the one they name, or all, to be listed."""
    first = arguments[0] if arguments else ""
    if first == _VERSION:
        return ()
    return (first,) if first in COMMANDS else COMMANDS


def app_of(names: Sequence[str]) -> typer.Typer:
    """Return the application with some of the commands, which are imported for it."""
    app = typer.Typer(
        name="treenail",
        help="A node autoscaler for Kubernetes on EC2 that says why.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names:
        command = getattr(import_module(f"treenail.adapters.cli.{name}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app
