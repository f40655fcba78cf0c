"""The option `--price-overrides-file`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from treenail.adapters.cli.output_format import warn
from treenail.adapters.settings.price_overrides import read_price_overrides
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides

PriceOverridesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--price-overrides-file",
        envvar="PRICE_OVERRIDES_FILE",
        metavar="FILE",
        help="A file with your own prices, in place of the public ones.",
    ),
]


def own_prices(file: Path | None) -> PriceOverrides:
    """Return what `file` says; nothing where there is none.

    Raises:
        ManifestError: it cannot be read, or something in it makes no sense.
    """
    return NO_OVERRIDES if file is None else read_price_overrides(file)


def warn_of_idle(file: Path | None, overrides: PriceOverrides, types: Collection[InstanceType]) -> None:
    """Warn on stderr of each override that matches none of `types`: a name may be mistyped."""
    warn(f"{file}: overrides[{n}]: is about no instance type there is" for n in overrides.idle(types))
