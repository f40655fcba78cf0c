from __future__ import annotations

import pytest

from tests.adapters.ec2.discovery.account import Account
from treenail.adapters.ec2.discovery.types import InstanceTypes, Offerings
from treenail.adapters.ec2.records import shipped_types
from treenail.domain.model.errors import UnavailableError

TYPES, OFFERINGS = "ec2.describe_instance_types", "ec2.describe_instance_type_offerings"
HALF_A_DAY = 12 * 3600


def described(
    name: str, arch: str = "x86_64", virtualization: str = "hvm", **more: object
) -> dict[str, object]:
    return {
        "InstanceType": name,
        "Hypervisor": "nitro",
        "MemoryInfo": {"SizeInMiB": 8192},
        "VCpuInfo": {"DefaultVCpus": 2},
        "ProcessorInfo": {
            "SupportedArchitectures": [arch],
            "Manufacturer": "Intel",
            "SustainedClockSpeedInGhz": 3.1,
        },
        "NetworkInfo": {
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": [{"MaximumNetworkInterfaces": 3, "BaselineBandwidthInGbps": 0.75}],
            "Ipv4AddressesPerInterface": 10,
        },
        "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 4750}},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": [virtualization],
        **more,
    }


def test_types_come_sorted_from_all_pages_but_for_those_no_node_runs_on(account: Account) -> None:
    account.answers(
        TYPES,
        {"InstanceTypes": [described("z9.large"), described("mac9.metal", "arm64_mac")], "NextToken": "2"},
        MaxResults=100,
    )
    account.answers(
        TYPES,
        {
            "InstanceTypes": [
                described("b9.large", "arm64"),
                described("t0.old", virtualization="paravirtual"),
            ]
        },
        MaxResults=100,
        NextToken="2",
    )

    found = InstanceTypes(account.aws, account.caches).read()

    assert [(one.name, one.arch) for one in found] == [("b9.large", "arm64"), ("z9.large", "amd64")]


def test_a_type_that_cannot_be_understood_is_left_out_and_told_of(account: Account) -> None:
    strange = described("q1.qubit", VCpuInfo={})
    account.answers(TYPES, {"InstanceTypes": [strange, described("z9.large")]})

    found = InstanceTypes(account.aws, account.caches).read()

    assert [one.name for one in found] == ["z9.large"]
    ((message, fields),) = account.lines
    assert message == "leaving out an instance type that cannot be understood"
    assert fields["instance_type"] == "q1.qubit"


def test_what_no_api_tells_comes_from_the_package_where_it_knows_the_type(account: Account) -> None:
    account.answers(TYPES, {"InstanceTypes": [described("m5.large"), described("z9.large")]})

    known, new = InstanceTypes(account.aws, account.caches).read()

    shipped = next(one for one in shipped_types() if one.name == "m5.large")
    assert (known.branch_interfaces, known.network_mbps) == (
        shipped.branch_interfaces,
        shipped.network_mbps,
    )
    assert known.branch_interfaces > 0
    assert (new.branch_interfaces, new.network_mbps) == (0, 750)


@pytest.mark.parametrize(
    ("cards", "mbps"),
    [
        ([{"BaselineBandwidthInGbps": 100.0}, {"BaselineBandwidthInGbps": 66.66}], 166_660),
        ([{"BaselineBandwidthInGbps": 100.0}, {}], None),
    ],
)
def test_the_bandwidth_of_a_new_type_is_that_of_all_its_cards(
    account: Account, cards: list[dict[str, object]], mbps: int | None
) -> None:
    network = {
        "NetworkCards": [{"MaximumNetworkInterfaces": 8, **card} for card in cards],
        "Ipv4AddressesPerInterface": 50,
    }
    account.answers(TYPES, {"InstanceTypes": [described("z9.large", NetworkInfo=network)]})

    (found,) = InstanceTypes(account.aws, account.caches).read()

    assert found.network_mbps == mbps


def test_types_are_read_once_in_half_a_day_and_stay_known_when_that_fails(account: Account) -> None:
    account.answers(TYPES, {"InstanceTypes": [described("z9.large")]})
    account.answers(TYPES, {"InstanceTypes": [described("y9.large")], "NextToken": "2"})
    account.refuses(TYPES, "InternalError", status=500, times=4)
    types = InstanceTypes(account.aws, account.caches)
    first = types.read()
    account.time.seconds = 10 * 3600
    assert types.read() is first
    account.time.seconds = HALF_A_DAY

    assert types.read() is first


def test_without_any_types_ever_read_the_failure_is_told(account: Account) -> None:
    account.refuses(TYPES, "InternalError", status=500, times=4)

    with pytest.raises(UnavailableError, match="InternalError"):
        InstanceTypes(account.aws, account.caches).read()


def test_the_zones_that_sell_a_type_come_sorted_from_all_pages(account: Account) -> None:
    def sold(name: str, zone: str) -> dict[str, str]:
        return {"InstanceType": name, "LocationType": "availability-zone", "Location": zone}

    account.answers(
        OFFERINGS,
        {"InstanceTypeOfferings": [sold("a", "z2"), sold("b", "z1")], "NextToken": "2"},
        LocationType="availability-zone",
        MaxResults=1000,
    )
    account.answers(
        OFFERINGS,
        {"InstanceTypeOfferings": [sold("a", "z1")]},
        LocationType="availability-zone",
        MaxResults=1000,
        NextToken="2",
    )
    offerings = Offerings(account.aws, account.caches)

    assert offerings.read() == {"a": ("z1", "z2"), "b": ("z1",)}
    account.time.seconds = 10 * 3600
    assert offerings.fresh()
