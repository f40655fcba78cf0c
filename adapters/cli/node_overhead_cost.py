"""The option `--node-overhead-cost`: the cost of a node beside its price and its volumes."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from treenail.adapters.api.amounts import dollars_an_hour
from treenail.adapters.cli.problems import BadInputError


def _read(written: str | float) -> float:
    try:
        return dollars_an_hour(str(written))
    except ValueError as error:
        raise BadInputError(f"--node-overhead-cost (NODE_OVERHEAD_COST) {written!r} {error}") from None


NodeOverheadCost: TypeAlias = Annotated[
    float,
    typer.Option(
        envvar="NODE_OVERHEAD_COST",
        parser=_read,
        metavar="DOLLARS",
        help="The cost of a node beside its price and its volumes, in $/h; a pool may have its own.",
    ),
]
