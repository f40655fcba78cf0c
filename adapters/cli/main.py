"""The command line: `treenail COMMAND`."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Annotated

import typer

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.cli.at_option import joined
from treenail.adapters.cli.catalogue import catalogue
from treenail.adapters.cli.controller import controller
from treenail.adapters.cli.convert import convert
from treenail.adapters.cli.explain import explain
from treenail.adapters.cli.plan import plan
from treenail.adapters.cli.problems import BAD_INPUT, BadInputError
from treenail.adapters.cli.rehearse import rehearse
from treenail.adapters.cli.simulate import simulate
from treenail.adapters.cli.takeover import takeover

app = typer.Typer(
    name="treenail",
    help="A node autoscaler for Kubernetes on EC2 that says why.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(controller)
app.command()(rehearse)
app.command()(simulate)
app.command()(plan)
app.command()(catalogue)
app.command()(convert)
app.add_typer(explain, name="explain")
app.add_typer(takeover, name="takeover")


def _version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        typer.echo(f"treenail {metadata.version('treenail')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Decide, rehearse and explain the nodes of a cluster."""
    del version


def main() -> None:
    """Run a command; bad input ends with one line on stderr and exit code 2."""
    try:
        code = app(joined(sys.argv[1:]) or ["--help"], standalone_mode=False)
    except (ManifestError, BadInputError) as error:
        problem = str(error)
    except ModuleNotFoundError as error:
        if (error.name or "treenail").startswith("treenail"):
            raise
        problem = (
            f"this command needs {error.name}, which is not installed: pip install 'treenail[controller]'"
        )
    except Exception as error:
        # Typer and click say in a `show` method that an error is the user's.
        if not hasattr(error, "format_message"):
            raise
        problem = str(error.format_message())
    else:
        sys.exit(code if isinstance(code, int) else 0)
    sys.stderr.write("treenail: " + " ".join(problem.split()) + "\n")
    sys.exit(BAD_INPUT)
