from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.embed.lived_cluster import Manifest, lived_cluster, of
from tests.scenarios.manifests import need, node_class, node_pool, text
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.embed.home import RegionError, home_of
from treenail.adapters.embed.regional_sales import known_regions


def decoded(*things: Manifest) -> Decoded:
    return decode_all(parse_manifests(text(*things).encode(), "here.yaml"))


def pool_in(*zones: str) -> Manifest:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["requirements"].append(need("topology.kubernetes.io/zone", *zones))
    return pool


def test_without_a_word_nodes_are_bought_in_the_region_of_the_shipped_prices() -> None:
    home = home_of(decoded(node_class(), node_pool()))

    assert (home.region, home.warnings) == ("us-east-1", ())
    assert home.zones == ("us-east-1a", "us-east-1b", "us-east-1c")


def test_zones_that_a_pool_asks_for_say_which_region_is_meant_and_are_used() -> None:
    home = home_of(decoded(node_class(), pool_in("us-west-2d")))

    assert home.region == "us-west-2"
    assert home.zones == ("us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d")


def test_nodes_say_it_too() -> None:
    assert home_of(decoded(*lived_cluster(1, zone="eu-north-1b"))).region == "eu-north-1"


def test_an_account_says_in_which_zones_there_are_subnets() -> None:
    subnet = {"id": "subnet-1", "zone": "ap-south-1b"}
    account = of("treenail.sh/v1alpha1", "Account", "mine", spec={"subnets": [subnet]})

    home = home_of(decoded(account, node_class(), node_pool()))

    assert (home.region, home.zones) == ("ap-south-1", ("ap-south-1b",))


RESERVED = {"id": "cr-1", "instanceType": "p9.huge", "zone": "us-east-1a", "instances": 1}
MANY = {f"{name}.large": 1 for name in ("m5", "x9a", "x9b", "x9c", "x9d")}


@pytest.mark.parametrize(
    ("spec", "field", "types"),
    [
        ({"prices": {"onDemand": {"m5.larg": 1}}}, "prices.onDemand", "m5.larg; did you mean m5.large?"),
        ({"prices": {"onDemand": MANY}}, "prices.onDemand", "x9a.large, x9b.large, x9c.large and 1 more"),
        ({"prices": {"spot": {"q1.large": {"us-east-1a": 0.1}}}}, "prices.spot", "q1.large"),
        ({"capacityReservations": [RESERVED]}, "capacityReservations", "p9.huge"),
    ],
)
def test_types_that_an_account_names_and_that_are_not_known_are_warned_of(
    spec: dict[str, Any], field: str, types: str
) -> None:
    account = of("treenail.sh/v1alpha1", "Account", "mine", spec={"region": "us-east-1", **spec})

    [warning] = home_of(decoded(account, node_class(), node_pool())).warnings

    assert warning.startswith(f"Account mine: spec.{field}: not known, so that it changes nothing: {types}")


def test_where_zones_are_of_several_regions_most_count_and_the_option_decides() -> None:
    things = decoded(node_class(), pool_in("eu-west-1a", "eu-west-1b", "us-west-2a"))

    assert home_of(things).region == "eu-west-1"
    assert home_of(things, "us-west-2").region == "us-west-2"
    assert "objects name zones of us-west-2" in " ".join(home_of(things).warnings)


def test_a_region_without_data_is_an_error_that_says_what_to_do() -> None:
    told = r"nothing is known of the region 'mars-1'.*make catalogue REGIONS=mars-1"
    with pytest.raises(RegionError, match=told):
        home_of(decoded(node_class(), node_pool()), "mars-1")


def test_an_account_of_another_region_than_the_option_is_an_error() -> None:
    account = of("treenail.sh/v1alpha1", "Account", "mine", spec={"region": "eu-west-1"})

    with pytest.raises(RegionError, match="Account mine is of eu-west-1"):
        home_of(decoded(account), "us-east-1")


def test_what_is_sold_where_is_known_of_thirty_regions() -> None:
    assert len(known_regions()) == 30
    for region in known_regions():
        home = home_of(decoded(node_class(), node_pool()), region)
        catalogue = home.catalogue()
        assert home.zones is not None
        assert 2 <= len(home.zones) <= 3
        assert any(map(catalogue.on_demand_price, ("m5.large", "m6g.large", "m7g.large", "m6i.large")))
        assert bool(home.warnings) == (region != "us-east-1")


def test_prices_of_the_account_are_those_of_the_region_and_the_others_stand_in() -> None:
    spec = {"region": "eu-west-1", "prices": {"onDemand": {"m5.large": 0.107}}}
    account = of("treenail.sh/v1alpha1", "Account", "mine", spec=spec)

    catalogue = home_of(decoded(account, node_class(), node_pool())).catalogue()

    assert catalogue.on_demand_price("m5.large") == 0.107
    assert catalogue.on_demand_price("m5.xlarge") == 0.192
