"""The command line: `treenail COMMAND`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Annotated, Final

import typer

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.cli.at_option import joined
from treenail.adapters.cli.problems import BAD_INPUT, BadInputError

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
_MOST_PROBLEMS: Final = 20


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


def main() -> None:
    """Run a command; bad input ends with a line on stderr for each error, and exit code 2."""
    try:
        arguments = joined(sys.argv[1:]) or ["--help"]
        if arguments[0] == "controller":
            arguments = import_module("treenail.adapters.cli.controller").spelled_out(arguments)
        code = app_of(commands_for(arguments))(arguments, standalone_mode=False)
    except ManifestError as error:
        problems = [str(one) for one in (error, *error.others)]
    except BadInputError as error:
        problems = [str(error)]
    except ModuleNotFoundError as error:
        if (error.name or "treenail").startswith("treenail"):
            raise
        problems = [
            f"this command needs {error.name}, which is not installed: pip install 'treenail[controller]'"
        ]
    except Exception as error:
        # Typer and click say in a `show` method that an error is the user's.
        if not hasattr(error, "format_message"):
            raise
        problems = [str(error.format_message())]
    else:
        sys.exit(code if isinstance(code, int) else 0)
    for problem in problems[:_MOST_PROBLEMS]:
        sys.stderr.write("treenail: " + " ".join(problem.split()) + "\n")
    if len(problems) > _MOST_PROBLEMS:
        sys.stderr.write(f"treenail: and {len(problems) - _MOST_PROBLEMS} more errors\n")
    sys.exit(BAD_INPUT)
