from __future__ import annotations

import pytest

from tests.adapters.ec2.discovery.account import ANY, CLUSTER_TAG, Account, node_class
from treenail.adapters.ec2.discovery.subnets_and_security_groups import SecurityGroups, Subnets
from treenail.adapters.ec2.resolved import Subnet
from treenail.domain.model.errors import NodeClassNotReadyError, TooManyRequestsError, UnavailableError
from treenail.domain.model.node_classes import SelectorTerm

DESCRIBE_SUBNETS, DESCRIBE_GROUPS = "ec2.describe_subnets", "ec2.describe_security_groups"
BY_CLUSTER = [{"Name": "tag:karpenter.sh/discovery", "Values": ["demo"]}]


def subnet(name: str, zone: str = "a", free: int = 100) -> dict[str, object]:
    return {
        "SubnetId": f"subnet-{name}",
        "AvailabilityZone": f"us-east-1{zone}",
        "AvailabilityZoneId": f"use1-az-{zone}",
        "AvailableIpAddressCount": free,
    }


def test_subnets_come_with_their_zones_those_with_most_free_addresses_first(account: Account) -> None:
    account.answers(
        DESCRIBE_SUBNETS,
        {"Subnets": [subnet("2", "b", 5), subnet("1", "b", 5), subnet("3", "a", 9)]},
        Filters=BY_CLUSTER,
        MaxResults=500,
    )

    assert Subnets(account.aws, account.caches).of(node_class()) == (
        Subnet(id="subnet-3", zone="us-east-1a", zone_id="use1-az-a", free_addresses=9),
        Subnet(id="subnet-1", zone="us-east-1b", zone_id="use1-az-b", free_addresses=5),
        Subnet(id="subnet-2", zone="us-east-1b", zone_id="use1-az-b", free_addresses=5),
    )


def test_all_pages_are_read_and_a_subnet_that_two_terms_mean_counts_once(account: Account) -> None:
    terms = (CLUSTER_TAG, SelectorTerm(id="subnet-2"), SelectorTerm(id="subnet-1"))
    account.answers(
        DESCRIBE_SUBNETS,
        {"Subnets": [subnet("1")]},
        Filters=[{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}],
        MaxResults=500,
    )
    account.answers(
        DESCRIBE_SUBNETS,
        {"Subnets": [subnet("1")], "NextToken": "more"},
        Filters=BY_CLUSTER,
        MaxResults=500,
    )
    account.answers(
        DESCRIBE_SUBNETS, {"Subnets": [subnet("4")]}, Filters=BY_CLUSTER, MaxResults=500, NextToken="more"
    )

    found = Subnets(account.aws, account.caches).of(node_class(subnets=terms))

    assert [one.id for one in found] == ["subnet-1", "subnet-4"]


def test_tags_of_one_term_must_all_match_and_a_star_is_any_value(account: Account) -> None:
    term = SelectorTerm(tags=(("Name", "private-*"), ("kubernetes.io/cluster/demo", "*")), id="subnet-1")
    account.answers(
        DESCRIBE_SUBNETS,
        {"Subnets": [subnet("1")]},
        Filters=[
            {"Name": "subnet-id", "Values": ["subnet-1"]},
            {"Name": "tag:Name", "Values": ["private-*"]},
            {"Name": "tag-key", "Values": ["kubernetes.io/cluster/demo"]},
        ],
        MaxResults=500,
    )

    assert Subnets(account.aws, account.caches).of(node_class(subnets=(term,)))


def test_more_ids_than_a_filter_takes_are_asked_for_in_several_calls(account: Account) -> None:
    terms = tuple(SelectorTerm(id=f"subnet-{n:03}") for n in range(201))
    for ids in ([term.id for term in terms[:200]], ["subnet-200"]):
        account.answers(
            DESCRIBE_SUBNETS,
            {"Subnets": [subnet(ids[0].removeprefix("subnet-"))]},
            Filters=[{"Name": "subnet-id", "Values": ids}],
            MaxResults=500,
        )

    assert len(Subnets(account.aws, account.caches).of(node_class(subnets=terms))) == 2


def test_subnets_are_looked_up_once_a_minute_for_all_classes_that_select_alike(account: Account) -> None:
    for free in (9, 8):
        account.answers(DESCRIBE_SUBNETS, {"Subnets": [subnet("1", free=free)]})
    subnets = Subnets(account.aws, account.caches)
    found = [subnets.of(one)[0].free_addresses for one in (node_class(), node_class(groups=()))]
    account.time.seconds = 61
    found.append(subnets.of(node_class())[0].free_addresses)

    assert found == [9, 9, 8]


def test_a_selector_of_subnets_that_finds_nothing_is_named(account: Account) -> None:
    account.answers(DESCRIBE_SUBNETS, {"Subnets": []})

    with pytest.raises(NodeClassNotReadyError) as raised:
        Subnets(account.aws, account.caches).of(node_class())

    assert raised.value.selector == "subnets"
    assert str(raised.value) == (
        "EC2NodeClass/default: its selector of subnets finds nothing (tag karpenter.sh/discovery demo)"
    )


def test_a_call_that_is_throttled_is_made_again_and_subnets_stay_known_while_ec2_is_down(
    account: Account,
) -> None:
    account.refuses(DESCRIBE_SUBNETS, "RequestLimitExceeded", status=503)
    account.answers(DESCRIBE_SUBNETS, {"Subnets": [subnet("1")]})
    account.refuses(DESCRIBE_SUBNETS, "InternalError", status=500, times=4)
    subnets = Subnets(account.aws, account.caches)
    first = subnets.of(node_class())
    account.time.seconds += 61

    assert subnets.of(node_class()) == first
    assert [message for message, _ in account.lines] == [
        "cannot look up subnets, going on with what is known"
    ]


@pytest.mark.parametrize(
    ("code", "error"),
    [("RequestLimitExceeded", TooManyRequestsError), ("Unavailable", UnavailableError)],
)
def test_while_ec2_is_down_and_nothing_is_known_the_error_says_so(
    account: Account, code: str, error: type[Exception]
) -> None:
    account.refuses(DESCRIBE_SUBNETS, code, status=503, times=4)

    with pytest.raises(error):
        Subnets(account.aws, account.caches).of(node_class())


def test_a_page_that_leads_to_itself_is_no_answer(account: Account) -> None:
    account.answers(DESCRIBE_SUBNETS, {"Subnets": [subnet("1")], "NextToken": "again"})
    account.answers(DESCRIBE_SUBNETS, {"Subnets": [subnet("1")], "NextToken": "again"})

    with pytest.raises(UnavailableError, match="ec2:DescribeSubnets"):
        Subnets(account.aws, account.caches).of(node_class())


def test_security_groups_are_found_by_id_name_and_tags_and_come_sorted(account: Account) -> None:
    terms = (SelectorTerm(name="nodes"), SelectorTerm(id="sg-9"), CLUSTER_TAG)
    for filters, ids in (
        ([{"Name": "group-id", "Values": ["sg-9"]}], ["sg-9"]),
        ([{"Name": "group-name", "Values": ["nodes"]}], ["sg-3", "sg-1"]),
        (BY_CLUSTER, ["sg-1"]),
    ):
        account.answers(
            DESCRIBE_GROUPS,
            {"SecurityGroups": [{"GroupId": one, "GroupName": one[3:]} for one in ids]},
            Filters=filters,
            MaxResults=500,
        )

    found = SecurityGroups(account.aws, account.caches).of(node_class(groups=terms))
    assert [(one.id, one.name) for one in found] == [("sg-1", "1"), ("sg-3", "3"), ("sg-9", "9")]


def test_security_groups_are_looked_up_once_in_five_minutes(account: Account) -> None:
    for group in ("sg-1", "sg-2"):
        account.answers(
            DESCRIBE_GROUPS, {"SecurityGroups": [{"GroupId": group}]}, Filters=ANY, MaxResults=500
        )
    groups = SecurityGroups(account.aws, account.caches)
    found = []
    for second in (0, 200, 301):
        account.time.seconds = second
        found += [one.id for one in groups.of(node_class())]

    assert found == ["sg-1", "sg-1", "sg-2"]


def test_a_class_without_a_selector_of_security_groups_has_none(account: Account) -> None:
    with pytest.raises(NodeClassNotReadyError, match="security groups finds nothing") as raised:
        SecurityGroups(account.aws, account.caches).of(node_class(groups=()))

    assert raised.value.selector == "security groups"
