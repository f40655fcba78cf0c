"""Instance types that an account names and nothing is known of: what it says of them changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.api.account import Account
from treenail.adapters.api.diagnosis import meant
from treenail.adapters.ec2.records import shipped_types

# The account of a snapshot may name many that are newer than the package.
_MOST: Final = 3


def unknown_types(account: Account) -> Iterator[str]:
    """Yield a warning for each field of an account that names instance types which are not known."""
    known = {one.name for one in shipped_types()}
    named = {
        "prices.onDemand": set(account.on_demand_prices),
        "prices.spot": {name for name, _ in account.spot_prices},
        "capacityReservations": {one.instance_type for one in account.capacity_reservations},
    }
    for field, names in named.items():
        odd = sorted(names - known)
        if odd:
            shown = ", ".join(odd[:_MOST]) + (f" and {len(odd) - _MOST} more" if len(odd) > _MOST else "")
            near = meant(odd[0], known) if len(odd) == 1 else ""
            yield (
                f"Account {account.name}: spec.{field}: not known, so that it changes nothing: {shown}{near}"
            )
