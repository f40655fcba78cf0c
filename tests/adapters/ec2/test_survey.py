from __future__ import annotations

import pytest

from tests.adapters.ec2.discovery.account import ANY, Account
from tests.adapters.ec2.discovery.test_prices import HISTORY, listed, lists
from tests.adapters.ec2.discovery.test_types import OFFERINGS, TYPES, described
from tests.agenda import START
from treenail.adapters.ec2.data.survey import survey
from treenail.domain.model.errors import UnavailableError


def sells(account: Account, by: str, **sold: str) -> None:
    """Answer in pages of one zone each."""
    for n, (place, types) in enumerate(sold.items()):
        offered = [{"InstanceType": one, "LocationType": by, "Location": place} for one in types.split()]
        answer: dict[str, object] = {"InstanceTypeOfferings": offered}
        if n < len(sold) - 1:
            answer["NextToken"] = str(n + 1)
        more = {"NextToken": str(n)} if n else {}
        account.answers(OFFERINGS, answer, LocationType=by, MaxResults=1000, **more)


def answers_all_but_prices(account: Account) -> None:
    account.answers(TYPES, {"InstanceTypes": [described("z9.large"), described("b9.large")]})
    sells(account, "availability-zone", a="z9.large b9.large", b="z9.large")
    sells(account, "availability-zone-id", id1="z9.large", id2="b9.large z9.large")


def test_a_survey_asks_for_types_zones_by_name_and_id_and_all_prices(account: Account) -> None:
    answers_all_but_prices(account)
    lists(account, listed("z9.large", "0.7"))
    said = {"InstanceType": "z9.large", "SpotPrice": "0.2", "AvailabilityZone": "a", "Timestamp": START}
    account.answers(
        HISTORY, {"SpotPriceHistory": [said]}, StartTime=ANY, ProductDescriptions=ANY, MaxResults=ANY
    )

    found = survey(account.aws, account.caches, spot=True)

    assert found.region == "us-east-1"
    assert [one.name for one in found.types] == ["b9.large", "z9.large"]
    assert found.by_zone == {"a": {"z9.large", "b9.large"}, "b": {"z9.large"}}
    assert found.by_zone_id == {"id1": {"z9.large"}, "id2": {"z9.large", "b9.large"}}
    assert found.prices == {"z9.large": 0.7}
    assert found.spot_prices == {("z9.large", "a"): 0.2}


def test_spot_is_asked_for_only_where_it_is_wanted(account: Account) -> None:
    answers_all_but_prices(account)
    lists(account, listed("z9.large", "0.7"))

    assert survey(account.aws, account.caches, spot=False).spot_prices == {}


def test_shipped_prices_never_stand_in_for_a_list_that_cannot_be_read(account: Account) -> None:
    answers_all_but_prices(account)
    account.refuses("pricing.get_products", "InternalErrorException", status=500, times=4)

    with pytest.raises(UnavailableError, match="InternalErrorException"):
        survey(account.aws, account.caches, spot=False)
