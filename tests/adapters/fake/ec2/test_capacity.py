from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.fake.ec2.rig import A, B, C, Rig, request, spot_request
from treenail.adapters.fake.ec2 import Subnet
from treenail.domain.model import labels


def test_a_pool_that_has_run_out_is_an_error_and_the_next_is_taken() -> None:
    rig = Rig()
    rig.ec2.outside.run_out("c5.large", A)

    answer = rig.ec2.launch(request("c5.large/a", "m5.large/a", count=2))

    assert [i.instance_type for i in answer.instances] == ["m5.large"] * 2
    (error,) = answer.errors
    assert (error.code, error.instance_type, error.zone) == ("InsufficientInstanceCapacity", "c5.large", A)
    assert error.capacity


def test_a_fleet_that_finds_nothing_left_names_all_its_overrides() -> None:
    rig = Rig()
    rig.ec2.outside.run_out("*", "*")

    answer = rig.ec2.launch(spot_request("c5.large/a", "m5.large/b"))

    assert answer.instances == ()
    assert [(e.code, e.instance_type, e.zone) for e in sorted(answer.errors)] == [
        ("InsufficientInstanceCapacity", "c5.large", A),
        ("InsufficientInstanceCapacity", "m5.large", B),
    ]


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        (("m5.large", B), ["a", "c"]),
        (("m5.large", "*"), []),
        (("*", C), ["a", "b"]),
        (("c5.large", "*"), ["a", "b", "c"]),
        (("m5.*", B), ["a", "c"]),
        (("c5.*", "*"), ["a", "b", "c"]),
        (("*", "*", labels.SPOT), ["a", "b", "c"]),
        (("*", "*", labels.ON_DEMAND), []),
    ],
)
def test_a_shortage_covers_the_pools_of_its_pattern_and_no_others(gone: Any, left: list[str]) -> None:
    rig = Rig()
    rig.ec2.outside.run_out(*gone)

    bought = [
        zone for zone in "abc" if rig.ec2.launch(request(f"m5.large/{zone}", call=f"t-{zone}")).instances
    ]

    assert bought == left


def test_a_shortage_ends_in_time_or_by_restocking() -> None:
    rig = Rig()
    rig.ec2.outside.run_out("m5.large", A, until=100)
    rig.ec2.outside.run_out("m5.large", B)

    rig.agenda.run(99)
    early = rig.ec2.launch(request("m5.large/a", call="early"))
    rig.agenda.run(1)
    late = rig.ec2.launch(request("m5.large/a", call="late"))
    rig.ec2.outside.restock(zone=B)
    restocked = rig.ec2.launch(request("m5.large/b", call="restocked"))

    assert [len(answer.instances) for answer in (early, late, restocked)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("restocked", "left"),
    [
        (("m5.large", B), ["b"]),
        (("m5.*", C), ["c"]),
        (("m5.large", "*"), ["a", "b", "c"]),
        (("*", A), ["a"]),
        (("*", "*", labels.ON_DEMAND), ["a", "b", "c"]),
        (("*", "*", labels.SPOT), []),
        (("c5.large", "*"), []),
    ],
)
def test_pools_come_back_alone_from_a_wider_shortage_and_limit(restocked: Any, left: list[str]) -> None:
    rig = Rig()
    rig.ec2.outside.limit("m5.*", "*", most=0)
    rig.ec2.outside.run_out("*", "*")

    rig.ec2.outside.restock(*restocked)
    bought = [
        zone for zone in "abc" if rig.ec2.launch(request(f"m5.large/{zone}", call=f"t-{zone}")).instances
    ]

    assert bought == left


def test_what_came_back_runs_out_again_and_comes_back_with_all_the_rest() -> None:
    outside, pools = (rig := Rig()).ec2.outside, ("m5.large/a", "m5.large/b")

    def left(call: str) -> list[int]:
        answers = [rig.ec2.launch(request(pool, call=f"{call}-{pool}")) for pool in pools]
        return [len(answer.instances) for answer in answers]

    outside.run_out("*", "*")
    outside.restock(zone=A)
    assert left("one") == [1, 0]
    outside.run_out("m5.large", "*", until=100)
    assert left("none") == [0, 0]
    rig.agenda.run(100)
    assert left("one again") == [1, 0]
    outside.limit("m5.large", A, most=1)
    assert left("limited") == [0, 0]
    outside.restock()
    assert left("all") == [1, 1]


def test_a_limited_pool_gives_what_it_has_and_gets_it_back() -> None:
    rig = Rig()
    rig.ec2.outside.limit("m5.large", A, most=2)

    first = rig.ec2.launch(request("m5.large/a", count=3, call="first"))
    rig.ec2.terminate((first.instances[0].id,))
    shutting_down = rig.ec2.launch(request("m5.large/a", call="second"))
    rig.agenda.run(60)
    gone = rig.ec2.launch(request("m5.large/a", call="third"))

    assert [len(answer.instances) for answer in (first, shutting_down, gone)] == [2, 0, 1]
    assert [e.code for e in first.errors] == ["InsufficientInstanceCapacity"]


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        Rig().ec2.outside.limit("m5.large", A, most=-1)


def test_addresses_are_used_up_and_released() -> None:
    tiny = Subnet(id="subnet-tiny", zone=A, cidr="10.0.0.0/29")
    rig = Rig(subnets=(tiny,))

    first = rig.ec2.launch(request("m5.large/a", "c5.large/a", count=4, call="first"))

    assert len(first.instances) == 3
    assert rig.ec2.free_addresses("subnet-tiny") == 0
    assert {e.code for e in first.errors} == {"InsufficientFreeAddressesInSubnet"}
    assert all(e.capacity for e in first.errors)
    rig.ec2.terminate(tuple(i.id for i in first.instances))
    rig.agenda.run(60)
    assert rig.ec2.free_addresses("subnet-tiny") == 3
    assert len(rig.ec2.launch(request("m5.large/a", call="second")).instances) == 1


def test_a_subnet_that_is_full_says_whether_its_zone_has_another() -> None:
    tiny = Subnet(id="subnet-tiny", zone=A, cidr="10.0.0.0/29")
    other = Subnet(id="subnet-other", zone=A, cidr="10.0.1.0/29")
    rig = Rig(subnets=(tiny, other))

    first = rig.ec2.launch(request("m5.large/a", count=4, call="first"))
    second = rig.ec2.launch(request("m5.large/a", count=4, call="second"))

    assert [(len(one.instances), [e.elsewhere for e in one.errors]) for one in (first, second)] == [
        (3, [True]),
        (3, [False]),
    ]


def test_the_subnet_with_the_most_free_addresses_is_taken() -> None:
    small = Subnet(id="subnet-small", zone=A, cidr="10.0.0.0/28")
    large = Subnet(id="subnet-large", zone=A, cidr="10.0.1.0/24")
    rig = Rig(subnets=(small, large))

    rig.launch_one("m5.large/a")

    assert [r.subnet_id for r in rig.ec2.all_instances()] == ["subnet-large"]


def test_no_two_instances_have_the_same_name() -> None:
    rig = Rig()

    instances = rig.ec2.launch(request("m5.large/a", "m5.large/b", count=300)).instances

    assert len({rig.ec2.node_name(i) for i in instances}) == 300
    assert all(rig.ec2.node_name(i).endswith(".ec2.internal") for i in instances)


def test_an_address_given_back_rests_before_it_is_handed_out_again() -> None:
    rig = Rig()
    first = rig.launch_one(call="first")
    rig.ec2.terminate((first.id,))
    rig.agenda.run(60)

    assert rig.ec2.node_name(rig.launch_one(call="second")) != rig.ec2.node_name(first)
