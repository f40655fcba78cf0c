"""The connection to the cluster that a kubeconfig names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.cli.problems import BadInputError

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.kubernetes.connection import Connection

Kubeconfig: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        envvar="KUBECONFIG", help="The kubeconfig of the cluster, or several, merged as by kubectl."
    ),
]
Context: TypeAlias = Annotated[str | None, typer.Option(help="The context of the kubeconfig.")]


def no_cluster_beside(files: Sequence[str] | None, command: typer.Context) -> None:
    """Make sure that no option of a command names a cluster where `files` stand in place of one.

    KUBECONFIG may be set for other commands.

    Raises:
        BadInputError: there are both.
    """
    for name in ("kubeconfig", "context"):
        source = command.get_parameter_source(name)
        if files and source is not None and source.name == "COMMANDLINE":
            problem = f"--{name} names a cluster, --file stands in place of one: give one of the two"
            raise BadInputError(problem)


def connect(
    kubeconfig: Path | None, context: str | None, *, writes_per_second: int = 1, tell: bool = True
) -> Connection:
    """Return a connection to the cluster of a kubeconfig, by default of the usual one.

    Which cluster that is, is said on stderr if `tell`.

    Raises:
        NotConnectedError: it says nothing usable.
    """
    from treenail.adapters.kubernetes.connection import Connection  # noqa: PLC0415

    usual = Path.home() / ".kube/config"
    connection = Connection.open(
        kubeconfig=kubeconfig or usual, context=context, qps=writes_per_second, burst=writes_per_second
    )
    if tell:
        sys.stderr.write(f"treenail: context {quoted(connection.context)}, {connection.place}\n")
    return connection
