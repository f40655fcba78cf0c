from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.ec2.discovery.account import Account
from tests.permitted import only_what_is_permitted_is_called

__all__ = ["only_what_is_permitted_is_called"]


@pytest.fixture
def account() -> Iterator[Account]:
    with Account() as account:
        yield account
