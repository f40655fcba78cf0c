"""`--region`: where manifests are meant for, and what is not known of the cluster they were written from."""

from __future__ import annotations

from collections.abc import Iterator
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


def not_known(decoded: Decoded) -> Iterator[str]:
    """Yield a line on what a snapshot could not read, and on classes whose reservations are not declared."""
    if not any(account.capacity_reservations for account in decoded.accounts):
        for node_class in decoded.node_classes:
            if node_class.reservation_terms:
                what = f"{node_class.ref.kind} {node_class.ref.name}: spec.capacityReservationSelectorTerms"
                yield f"{what}: selects none: an object of kind Account declares the reservations there are"
    for one in decoded.snapshots:
        if one.not_read:
            yield f"ClusterSnapshot {one.name}: some of it could not be read: {'; '.join(one.not_read)}"
