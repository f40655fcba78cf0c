from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.ec2.accounts import Account, node_class
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.live_catalogue import LiveCatalogue
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, SelectorTerm

CLASS = node_class(SelectorTerm(alias="al2023@latest"))
HALF_A_DAY = 12 * 3600
READ = {"DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "GetProducts", "DescribeSpotPriceHistory"}


@pytest.fixture(scope="module")
def account(lab_process: Lab) -> Iterator[Account]:
    """An account whose catalogue was read once, for all tests here: that takes seconds."""
    lab_process.reset()
    account = Account(lab_process)
    account.catalogue.refresh()
    yield account
    lab_process.check()


@pytest.fixture(autouse=True)
def no_faults(account: Account) -> Iterator[None]:
    yield
    account.lab.clear_faults()


def large(catalogue: LiveCatalogue) -> InstanceType:
    types = catalogue.instance_types(CLASS, DEFAULT_KUBELET)
    return next(one for one in types if one.name == "m5.large")


def prices(one: InstanceType, capacity_type: str) -> set[float]:
    return {o.price for o in one.offerings if o.capacity_type == capacity_type}


def reads(lab: Lab) -> dict[str, int]:
    """Return how often types, offerings and prices were asked for."""
    named = {action.partition(":")[2]: n for action, n in lab.calls().items()}
    return {action: n for action, n in named.items() if action in READ}


def test_prices_that_changed_show_after_the_next_reading_and_not_before(account: Account) -> None:
    before = large(account.catalogue)
    account.lab.set_on_demand_price("m5.large", 0.5)
    account.lab.set_spot_price("m5.large", "us-east-1a", 0.2)
    calls = reads(account.lab)

    account.time.seconds += HALF_A_DAY
    meanwhile = large(account.catalogue)
    assert reads(account.lab) == calls
    account.catalogue.refresh(ahead=600)
    after = large(account.catalogue)

    assert meanwhile.offerings == before.offerings
    assert prices(after, labels.ON_DEMAND) == {0.5} != prices(before, labels.ON_DEMAND)
    assert 0.2 in prices(after, labels.SPOT)
    assert reads(account.lab).keys() == READ
    assert all(n > calls[action] for action, n in reads(account.lab).items())


def test_where_the_price_list_fails_its_last_prices_hold_and_the_others_are_read(account: Account) -> None:
    before = large(account.catalogue)
    account.lab.fault("pricing", "GetProducts", code="InternalErrorException", status=500, times=None)
    account.lab.set_on_demand_price("m5.large", 0.7)
    account.lab.set_spot_price("m5.large", "us-east-1a", 0.3)

    account.time.seconds += HALF_A_DAY
    account.catalogue.refresh(ahead=600)
    without = large(account.catalogue)
    account.lab.clear_faults()
    account.time.seconds += 600
    account.catalogue.refresh()
    at_last = large(account.catalogue)

    assert prices(without, labels.ON_DEMAND) == prices(before, labels.ON_DEMAND)
    assert 0.3 in prices(without, labels.SPOT)
    assert prices(at_last, labels.ON_DEMAND) == {0.7}
    told = [message for message, _ in account.lines]
    assert "cannot look up on-demand prices, going on with what is known" in told


def test_where_nothing_is_old_nothing_is_read(account: Account) -> None:
    calls = reads(account.lab)

    account.catalogue.refresh(ahead=600)

    assert reads(account.lab) == calls
