"""`--region`: where manifests are meant for."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.embed.home import Home, RegionError, home_of

Region: TypeAlias = Annotated[
    str,
    typer.Option(
        help="The region to buy nodes in; by default that of an Account, or of the zones that objects name."
    ),
]


def home_meant(decoded: Decoded, region: str) -> Home:
    """Return the home of manifests; BadInputError where nothing is known of the region."""
    try:
        return home_of(decoded, region)
    except RegionError as error:
        raise BadInputError(f"{error}") from None
