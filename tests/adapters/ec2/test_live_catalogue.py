from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import Account, node_class
from tests.adapters.ec2.discovery.test_types import described
from tests.agenda import START
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.live_catalogue import LiveCatalogue, Periods
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, UnavailableError
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import DEFAULT_KUBELET, Kubelet, NodeClass, SelectorTerm
from treenail.domain.model.observed_capacity import AllocatableObserved, MemoryObserved
from treenail.domain.model.price_overrides import PriceOverride, PriceOverrides
from treenail.domain.model.resources import MEMORY, PODS, Resources
from treenail.domain.model.template_hash import sizing_hash

OWN = SelectorTerm(id="ami-1")
CLASS = node_class(images=(OWN,))
TYPES, OFFERINGS = "ec2.describe_instance_types", "ec2.describe_instance_type_offerings"
GIB = 2**30
HISTORY, SUBNETS = "ec2.describe_spot_price_history", "ec2.describe_subnets"


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sources be asked in their order, as the account must be told of the calls in order."""
    monkeypatch.setattr("treenail.adapters.ec2.live_catalogue._MOST_THREADS", 1)


def catalogue(account: Account) -> LiveCatalogue:
    cluster = Cluster(account.aws, account.caches, ClusterIdentity(name="demo"), lambda: "1.34")
    return LiveCatalogue(account.aws, account.caches, cluster, isolated=True)


def has_network(account: Account, *zones: str) -> None:
    subnets = [
        {
            "SubnetId": f"subnet-{zone}",
            "AvailabilityZone": zone,
            "AvailabilityZoneId": f"id-{zone}",
            "AvailableIpAddressCount": 9,
        }
        for zone in zones
    ]
    account.answers(SUBNETS, {"Subnets": subnets})


def has_class(account: Account, *zones: str, arch: str = "x86_64") -> None:
    has_network(account, *zones)
    account.answers("ec2.describe_security_groups", {"SecurityGroups": [{"GroupId": "sg-1"}]})
    image = {"ImageId": "ami-1", "Architecture": arch, "CreationDate": "2026-01-01T00:00:00.000Z"}
    account.answers("ec2.describe_images", {"Images": [image]})


def sells(account: Account, *names: str, arm: str = "", spot: float | None = 0.03) -> None:
    """Sell these types in zone a, and the first of them in b."""
    types = [described(name) for name in names] + ([described(arm, "arm64")] if arm else [])
    account.answers(TYPES, {"InstanceTypes": types})
    sold = [(one, "a") for one in (*names, *([arm] if arm else []))] + [(names[0], "b")]
    account.answers(
        OFFERINGS, {"InstanceTypeOfferings": [{"InstanceType": one, "Location": zone} for one, zone in sold]}
    )
    if spot is None:
        account.refuses(HISTORY, "UnauthorizedOperation")
        return
    entry = {"InstanceType": names[0], "AvailabilityZone": "a", "SpotPrice": str(spot), "Timestamp": START}
    account.answers(HISTORY, {"SpotPriceHistory": [entry]})


def types_of(account: Account, of: NodeClass = CLASS) -> tuple[InstanceType, ...]:
    return catalogue(account).instance_types(of, DEFAULT_KUBELET)


def test_a_type_is_offered_where_it_is_sold_and_the_class_has_subnets(account: Account) -> None:
    has_class(account, "a", "b", "c")
    sells(account, "m5.large")

    (found,) = types_of(account)

    # Zone b has no history of spot prices.
    assert [replace(one, price=min(one.price, 99)) for one in found.offerings] == [
        Offering("a", labels.ON_DEMAND, 0.096, zone_id="id-a"),
        Offering("a", labels.SPOT, 0.03, zone_id="id-a"),
        Offering("b", labels.ON_DEMAND, 0.096, zone_id="id-b"),
        Offering("b", labels.SPOT, 99, available=False, zone_id="id-b"),
    ]
    assert found.label(labels.REGION) == "us-east-1"


def test_types_that_are_sold_elsewhere_are_left_out(account: Account) -> None:
    has_class(account, "b")
    sells(account, "m5.large", "c5.large")

    assert [one.name for one in types_of(account)] == ["m5.large"]


@pytest.mark.parametrize(("arch", "names"), [("x86_64", ["c5.large", "m5.large"]), ("arm64", ["m6g.large"])])
def test_types_that_run_no_image_of_the_class_are_left_out(
    account: Account, arch: str, names: list[str]
) -> None:
    has_class(account, "a", arch=arch)
    sells(account, "m5.large", "c5.large", arm="m6g.large")

    assert [one.name for one in types_of(account)] == names


def test_a_launch_template_of_the_users_says_which_images_and_groups(account: Account) -> None:
    has_network(account, "a")
    sells(account, "m5.large", arm="m6g.large")

    assert [one.name for one in types_of(account, node_class(launch_template="own"))] == [
        "m5.large",
        "m6g.large",
    ]


def test_before_spot_prices_could_be_read_spot_costs_as_much_as_on_demand(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", spot=None)

    (found,) = types_of(account)

    assert [(one.price, one.available) for one in found.offerings] == [(0.096, True), (0.096, True)]


def test_the_same_answer_is_given_while_nothing_changed_though_addresses_did(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    has_class(account, "a")
    live = catalogue(account)
    first = live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 50
    assert live.instance_types(node_class(images=(OWN,)), DEFAULT_KUBELET) is first
    account.time.seconds = 310
    has_class_again = live.instance_types(replace(CLASS, resource_version=7), DEFAULT_KUBELET)

    assert has_class_again is first


def test_kubelets_of_other_sizes_make_other_types_of_the_same_readings(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    live = catalogue(account)

    (few,) = live.instance_types(CLASS, Kubelet(max_pods=8))
    (many,) = live.instance_types(CLASS, DEFAULT_KUBELET)

    assert (few.capacity["pods"], many.capacity["pods"]) == (8, 29)


def test_what_a_refresh_reads_is_what_types_are_made_of_from_then_on(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    live = catalogue(account)
    live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 12 * 3600
    sells(account, "m5.large", "c5.large", spot=0.01)
    live.refresh()
    has_class(account, "a")

    found = live.instance_types(CLASS, DEFAULT_KUBELET)

    assert [one.name for one in found] == ["c5.large", "m5.large"]
    assert min(one.price for one in found[1].offerings) == 0.01


def test_nobody_who_asks_for_types_waits_for_a_reading_that_is_old(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    live = catalogue(account)
    live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 48 * 3600
    has_class(account, "a")

    assert [one.name for one in live.instance_types(CLASS, DEFAULT_KUBELET)] == ["m5.large"]


def test_nor_for_prices_that_could_not_be_read_before(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", spot=None)
    live = catalogue(account)
    live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 30 * 60
    has_class(account, "a")

    assert [one.name for one in live.instance_types(CLASS, DEFAULT_KUBELET)] == ["m5.large"]


def test_prices_that_take_long_to_read_hold_up_nobody(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treenail.adapters.ec2.discovery.regional._PATIENCE_SECONDS", 0.0)
    has_class(account, "a")
    account.answers(TYPES, {"InstanceTypes": [described("m5.large")]})
    account.answers(OFFERINGS, {"InstanceTypeOfferings": [{"InstanceType": "m5.large", "Location": "a"}]})
    live = catalogue(account)
    # As where another thread has asked, and EC2 does not answer.
    live._spot._found._flights["us-east-1"] = Future()

    (found,) = live.instance_types(CLASS, DEFAULT_KUBELET)

    assert [(one.price, one.available) for one in found.offerings] == [(0.096, True), (0.096, True)]


def test_reading_ahead_spares_the_sources_that_stay_fresh(account: Account) -> None:
    sells(account, "m5.large")
    live = catalogue(account)
    live.refresh()
    account.time.seconds = 12 * 3600 * 0.9 - 300
    live.refresh()
    sells(account, "c5.large")
    live.refresh(ahead=600)
    has_class(account, "a")

    assert [one.name for one in live.instance_types(CLASS, DEFAULT_KUBELET)] == ["c5.large"]


def test_types_have_the_memory_that_nodes_of_their_images_had(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", "c5.large")
    live = catalogue(account)
    before = {one.name: one for one in live.instance_types(CLASS, DEFAULT_KUBELET)}

    live.learn(MemoryObserved(instance_type="m5.large", image_id="ami-1", memory=7 * GIB))
    live.learn(MemoryObserved(instance_type="c5.large", image_id="ami-2", memory=GIB))
    after = {one.name: one for one in live.instance_types(CLASS, DEFAULT_KUBELET)}

    assert after["m5.large"].capacity[MEMORY] == 7 * GIB != before["m5.large"].capacity[MEMORY]
    assert after["m5.large"].offerings == before["m5.large"].offerings
    assert after["c5.large"] == before["c5.large"]


def room(account: Account, kubelet: Kubelet) -> AllocatableObserved:
    return AllocatableObserved(
        instance_type="m5.large",
        image_id="ami-1",
        sized_by=sizing_hash(CLASS, kubelet),
        node="n1",
        came_at=account.time.now(),
        room=Resources({PODS: 8}),
    )


def test_types_have_no_more_room_than_nodes_of_their_node_class_had(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", "c5.large")
    live = catalogue(account)
    before = live.instance_types(CLASS, DEFAULT_KUBELET)

    news = live.learn(room(account, DEFAULT_KUBELET)), live.learn(room(account, DEFAULT_KUBELET))
    after = {one.name: one for one in live.instance_types(CLASS, DEFAULT_KUBELET)}

    assert news == (True, False)
    assert after["m5.large"].allocatable[PODS] == 8
    assert after["c5.large"] == next(one for one in before if one.name == "c5.large")


def test_nodes_with_other_settings_of_their_kubelet_say_nothing_of_room(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", "c5.large")
    live = catalogue(account)
    before = live.instance_types(CLASS, DEFAULT_KUBELET)

    live.learn(room(account, Kubelet(max_pods=8)))

    assert live.instance_types(CLASS, DEFAULT_KUBELET) == before


def test_ones_own_prices_take_the_place_of_the_public_ones(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large", "c5.large")
    cluster = Cluster(account.aws, account.caches, ClusterIdentity(name="demo"), lambda: "1.34")
    own = PriceOverrides((PriceOverride(instance_types=("m5.*",), factor=0.5),))
    live = LiveCatalogue(account.aws, account.caches, cluster, isolated=True, prices=own)

    fast, large = live.instance_types(CLASS, DEFAULT_KUBELET)

    assert [o.price for o in large.offerings] == [0.048, 0.015]
    assert fast.offerings[0].price == 0.085


def test_what_selectors_mean_is_looked_at_again_when_its_time_is_over(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    cluster = Cluster(account.aws, account.caches, ClusterIdentity(name="demo"), lambda: "1.34")
    periods = Periods(subnets=120.0, images=300.0)
    live = LiveCatalogue(account.aws, account.caches, cluster, periods=periods, isolated=True)
    live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 100
    live.instance_types(CLASS, DEFAULT_KUBELET)
    account.time.seconds = 121
    has_network(account, "a")
    live.instance_types(CLASS, DEFAULT_KUBELET)


def test_a_kubelet_that_makes_no_sense_is_the_classes_problem(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")

    with pytest.raises(NodeClassNotReadyError, match="EC2NodeClass/default"):
        catalogue(account).instance_types(CLASS, Kubelet(eviction_hard=(("memory.available", "much"),)))


def test_while_types_were_never_read_that_is_told(account: Account) -> None:
    has_class(account, "a")
    account.refuses(TYPES, "InternalError", status=500, times=4)
    account.answers(OFFERINGS, {"InstanceTypeOfferings": []})
    account.answers(HISTORY, {"SpotPriceHistory": []})

    with pytest.raises(UnavailableError):
        types_of(account)


def test_a_selector_that_finds_nothing_costs_no_reading_of_types(account: Account) -> None:
    account.answers(SUBNETS, {"Subnets": []})

    with pytest.raises(NodeClassNotReadyError, match="subnets"):
        types_of(account)


def test_no_thread_is_left_when_sources_were_read(account: Account) -> None:
    has_class(account, "a")
    sells(account, "m5.large")
    types_of(account)

    assert not [one for one in threading.enumerate() if one.name.startswith("catalogue")]


RESERVING = replace(CLASS, reservation_terms=(SelectorTerm(id="cr-1"),))
RESERVATIONS = "ec2.describe_capacity_reservations"


def reservation(of: str = "m5.large", zone: str = "a", left: int = 3) -> dict[str, object]:
    return {
        "CapacityReservationId": "cr-1",
        "InstanceType": of,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone,
        "AvailableInstanceCount": left,
    }


def reserved_in(types: tuple[InstanceType, ...]) -> list[tuple[str, str, int]]:
    return [(one.name, o.zone_id, o.left) for one in types for o in one.offerings if o.reservation]


def test_what_is_reserved_is_on_offer_beside_the_rest_for_a_minute_as_it_was_counted(
    account: Account,
) -> None:
    has_class(account, "a")
    account.answers(RESERVATIONS, {"CapacityReservations": [reservation()]})
    sells(account, "m5.large", "c5.large")
    live = catalogue(account)

    types = live.instance_types(RESERVING, DEFAULT_KUBELET)

    assert reserved_in(types) == [("m5.large", "id-a", 3)]
    assert live.instance_types(RESERVING, DEFAULT_KUBELET) is types


def test_what_is_reserved_where_a_class_has_no_subnet_is_of_no_use(account: Account) -> None:
    has_class(account, "a")
    account.answers(RESERVATIONS, {"CapacityReservations": [reservation(zone="b")]})
    sells(account, "m5.large")

    assert reserved_in(types_of(account, RESERVING)) == []


def test_a_type_without_any_other_offering_is_there_where_it_is_reserved(account: Account) -> None:
    has_class(account, "a")
    account.answers(RESERVATIONS, {"CapacityReservations": [reservation("p6.large")]})
    types = [described("m5.large"), {**described("p6.large"), "SupportedUsageClasses": ["capacity-block"]}]
    account.answers(TYPES, {"InstanceTypes": types})
    sold = [{"InstanceType": name, "Location": "a"} for name in ("m5.large", "p6.large")]
    account.answers(OFFERINGS, {"InstanceTypeOfferings": sold})
    account.answers(HISTORY, {"SpotPriceHistory": []})

    assert reserved_in(types_of(account, RESERVING)) == [("p6.large", "id-a", 3)]


def test_a_class_whose_reservations_nobody_may_look_up_launches_nothing(account: Account) -> None:
    has_class(account, "a")
    account.refuses(RESERVATIONS, "UnauthorizedOperation")

    with pytest.raises(InvalidError, match="DescribeCapacityReservations"):
        types_of(account, RESERVING)


def test_types_that_cannot_be_placed_as_the_group_wants_are_left_out(account: Account) -> None:
    has_class(account, "a")
    group = {"GroupId": "pg-1", "State": "available", "Strategy": "cluster"}
    account.answers("ec2.describe_placement_groups", {"PlacementGroups": [group]})
    apart = {"SupportedStrategies": ["partition", "spread"]}
    types = [described("m5.large"), described("t3.large", PlacementGroupInfo=apart)]
    account.answers(TYPES, {"InstanceTypes": types})
    sold = [{"InstanceType": name, "Location": "a"} for name in ("m5.large", "t3.large")]
    account.answers(OFFERINGS, {"InstanceTypeOfferings": sold})
    account.answers(HISTORY, {"SpotPriceHistory": []})
    close = replace(CLASS, placement_group=SelectorTerm(id="pg-1"))

    assert [one.name for one in types_of(account, close)] == ["m5.large"]
