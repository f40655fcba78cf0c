"""The account of a rehearsal, as a test tells it: an object, a file or the text of one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treenail.adapters.api.account import Account
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import Decoded, decode_all, parse_manifests, read_manifests
from treenail.adapters.embed.home import Home, RegionError, home_of

_WRITE: Final = "write one object of kind: Account, and apply all else to the rehearsal"


def account_of(told: Account | str | Path | None) -> Account | None:
    """Return the account that is told.

    Raises:
        ValueError: the file or text cannot be read, or is not one Account.
    """
    if told is None or isinstance(told, Account):
        return told
    try:
        if isinstance(told, Path):
            manifests = read_manifests([told])
        else:
            manifests = parse_manifests(told.encode(), "account")
        decoded = decode_all(manifests)
    except ManifestError as error:
        raise ValueError(f"Conditions: account: {error}") from None
    if len(decoded.accounts) != 1 or len(manifests) != 1:
        raise ValueError(f"Conditions: account: {_WRITE}")
    return decoded.accounts[0]


def home_of_account(account: Account) -> Home:
    """Return the region and the zones of an account.

    Raises:
        ValueError: nothing is known of its region.
    """
    try:
        return home_of(Decoded(accounts=(account,)))
    except RegionError as error:
        raise ValueError(f"Conditions: account: {error}") from None
