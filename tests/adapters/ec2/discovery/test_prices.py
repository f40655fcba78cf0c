from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from tests.adapters.ec2.discovery.account import Account
from tests.agenda import START
from treenail.adapters.ec2.clients import pricing_region
from treenail.adapters.ec2.discovery.prices import OnDemand, Spot, shipped_prices

PRODUCTS, HISTORY = "pricing.get_products", "ec2.describe_spot_price_history"
HALF_A_DAY = 12 * 3600


def listed(name: str, price: str, currency: str = "USD") -> str:
    dimension = {"unit": "Hrs", "pricePerUnit": {currency: price}}
    terms = {"OnDemand": {"X.Y": {"priceDimensions": {"X.Y.Z": dimension}}}}
    return json.dumps({"product": {"attributes": {"instanceType": name, "vcpu": "2"}}, "terms": terms})


def asked(tenancy: str, family: str, region: str) -> list[dict[str, str]]:
    wanted = {
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "productFamily": family,
        "regionCode": region,
        "tenancy": tenancy,
    }
    return [{"Field": name, "Type": "TERM_MATCH", "Value": value} for name, value in wanted.items()]


def lists(account: Account, *virtual: str, metal: tuple[str, ...] = (), region: str = "us-east-1") -> None:
    """List these items of virtual machines, each on a page of its own, and those of bare metal."""
    pages = [({"PriceList": [item]}, n) for n, item in enumerate(virtual)] or [({"PriceList": []}, 0)]
    for answer, n in pages:
        more = {"NextToken": str(n)} if n else {}
        last = n == len(pages) - 1
        account.answers(
            PRODUCTS,
            answer if last else {**answer, "NextToken": str(n + 1)},
            ServiceCode="AmazonEC2",
            Filters=asked("Shared", "Compute Instance", region),
            MaxResults=100,
            **more,
        )
    account.answers(
        PRODUCTS,
        {"PriceList": list(metal)},
        ServiceCode="AmazonEC2",
        Filters=asked("Dedicated", "Compute Instance (bare metal)", region),
        MaxResults=100,
    )


def test_prices_on_demand_are_those_of_the_list_and_those_it_lacks_stay(account: Account) -> None:
    lists(account, listed("m5.large", "0.5"), listed("z9.large", "0.7"), metal=(listed("z9.metal", "9"),))

    prices = OnDemand(account.aws, account.caches).read()

    assert (prices["m5.large"], prices["z9.large"], prices["z9.metal"]) == (0.5, 0.7, 9.0)
    assert prices["c5.large"] == shipped_prices("us-east-1")["c5.large"] > 0


@pytest.mark.parametrize(
    "item",
    [
        "{",
        '{"product": []}',
        '{"product": {"attributes": {}}}',
        listed("m5.large", "0.0000000000"),
        listed("m5.large", "free"),
        listed("m5.large", "3", currency="CNY"),
    ],
)
def test_an_item_that_tells_no_price_is_passed_over(account: Account, item: str) -> None:
    lists(account, item, listed("z9.large", "0.7"))

    prices = OnDemand(account.aws, account.caches).read()

    assert prices == {**shipped_prices("us-east-1"), "z9.large": 0.7}


def test_in_china_prices_are_in_yuan() -> None:
    with Account("cn-north-1") as account:
        lists(account, listed("m5.large", "3", currency="CNY"), region="cn-north-1")

        assert OnDemand(account.aws, account.caches).read()["m5.large"] == 3.0


def test_while_the_list_cannot_be_read_shipped_prices_stand_in_and_it_is_tried_again(
    account: Account,
) -> None:
    account.refuses(PRODUCTS, "AccessDeniedException")
    on_demand = OnDemand(account.aws, account.caches)
    found = [on_demand.read()["m5.large"], on_demand.read()["m5.large"]]
    lists(account, listed("m5.large", "0.5"))
    account.time.seconds = 601
    found.append(on_demand.read()["m5.large"])

    shipped = shipped_prices("us-east-1")["m5.large"]
    assert found == [shipped, shipped, 0.5]
    ((message, fields),) = account.lines
    assert message == "cannot look up on-demand prices, going on with what is known"
    assert fields["stand_in"] is True


def test_a_list_that_breaks_off_changes_nothing(account: Account) -> None:
    lists(account, listed("m5.large", "0.5"))
    account.answers(PRODUCTS, {"PriceList": [listed("m5.large", "0.9")], "NextToken": "1"})
    account.refuses(PRODUCTS, "InternalErrorException", status=500, times=4)
    on_demand = OnDemand(account.aws, account.caches)
    on_demand.read()
    account.time.seconds = HALF_A_DAY

    assert on_demand.read()["m5.large"] == 0.5


def test_an_empty_list_is_no_list(account: Account) -> None:
    lists(account)

    assert OnDemand(account.aws, account.caches).read() == shipped_prices("us-east-1")
    assert account.lines[0][1]["error"] == "the price list has nothing for us-east-1"


def test_govcloud_has_prices_of_its_own_and_those_of_us_east_1_for_what_they_lack() -> None:
    here, there = shipped_prices("us-gov-west-1"), shipped_prices("us-east-1")

    assert (here["m5.large"], there["m5.large"]) == (0.121, 0.096)
    assert here["c5ad.large"] == there["c5ad.large"] > 0


@pytest.mark.parametrize(("region", "isolated"), [("us-east-1", True), ("us-gov-west-1", False)])
def test_where_no_list_can_be_asked_none_is(region: str, isolated: bool) -> None:  # noqa: FBT001
    with Account(region) as account:
        on_demand = OnDemand(account.aws, account.caches, isolated=isolated)

        assert on_demand.fresh(ahead=HALF_A_DAY)
        assert on_demand.read() == shipped_prices(region)


def test_few_regions_answer_for_prices() -> None:
    regions = ("us-west-2", "eu-west-1", "ap-northeast-1", "cn-north-1", "sa-east-1")

    assert [pricing_region(one) for one in regions] == [
        "us-east-1",
        "eu-central-1",
        "ap-south-1",
        "cn-northwest-1",
        "us-east-1",
    ]


def sold(name: str, zone: str, price: str, at: datetime = START) -> dict[str, object]:
    return {"InstanceType": name, "AvailabilityZone": zone, "SpotPrice": price, "Timestamp": at}


def test_of_spot_prices_the_latest_of_each_type_and_zone_counts_whatever_the_product(
    account: Account,
) -> None:
    linux = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
    earlier = START - timedelta(hours=1)
    account.answers(
        HISTORY,
        {
            "SpotPriceHistory": [
                sold("m5.large", "a", "0.03"),
                sold("m5.large", "a", "0.04", earlier),
                sold("m5.large", "b", "0.05", earlier),
            ],
            "NextToken": "2",
        },
        StartTime=START,
        ProductDescriptions=linux,
        MaxResults=1000,
    )
    account.answers(
        HISTORY,
        {"SpotPriceHistory": [sold("m5.large", "b", "0.06")]},
        StartTime=START,
        ProductDescriptions=linux,
        MaxResults=1000,
        NextToken="2",
    )

    prices = Spot(account.aws, account.caches).read()

    assert prices == {("m5.large", "a"): 0.03, ("m5.large", "b"): 0.06}


def test_a_spot_price_that_is_told_no_more_stays(account: Account) -> None:
    for zone in ("a", "b"):
        account.answers(HISTORY, {"SpotPriceHistory": [sold("m5.large", zone, "0.03")]})
    spot = Spot(account.aws, account.caches)
    spot.read()
    account.time.seconds = HALF_A_DAY

    assert sorted(spot.read()) == [("m5.large", "a"), ("m5.large", "b")]


def test_there_are_no_spot_prices_before_they_could_be_read(account: Account) -> None:
    account.refuses(HISTORY, "UnauthorizedOperation")
    spot = Spot(account.aws, account.caches)

    assert spot.read() == {}
    assert spot.fresh()


def test_a_history_of_nothing_is_no_history(account: Account) -> None:
    account.answers(HISTORY, {"SpotPriceHistory": [sold("m5.large", "a", "0.03")]})
    account.answers(HISTORY, {"SpotPriceHistory": []})
    spot = Spot(account.aws, account.caches)
    spot.read()
    account.time.seconds = HALF_A_DAY

    assert spot.read() == {("m5.large", "a"): 0.03}
    assert account.lines[0][1]["error"] == "the history of spot prices is empty"
