"""The connection to the cluster that a kubeconfig names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.kubernetes.connection import Connection

Kubeconfig: TypeAlias = Annotated[
    Path | None, typer.Option(envvar="KUBECONFIG", help="The kubeconfig of the cluster.")
]
Context: TypeAlias = Annotated[str | None, typer.Option(help="The context of the kubeconfig.")]


def connect(kubeconfig: Path | None, context: str | None, *, writes_per_second: int = 1) -> Connection:
    """Return a connection to the cluster of a kubeconfig, by default of the usual one.

    Raises:
        NotConnectedError: it says nothing usable.
    """
    from treenail.adapters.kubernetes.connection import Connection  # noqa: PLC0415

    usual = Path.home() / ".kube/config"
    return Connection.open(
        kubeconfig=kubeconfig or usual, context=context, qps=writes_per_second, burst=writes_per_second
    )
