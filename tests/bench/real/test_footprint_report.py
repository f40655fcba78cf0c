from __future__ import annotations

import msgspec

from tests.bench.real.footprint import Footprint, misses, table

LEADER = Footprint(
    role="leader",
    nodes=500,
    pods=7_500,
    start_cpu_seconds=10.0,
    cpu_seconds_a_minute=2.0,
    resident_mib=200.0,
    most_mib=220.0,
    by_process=[160.0, 40.0],
    load=1.5,
)
PEER = msgspec.structs.replace(LEADER, role="karpenter", resident_mib=300.0)
FOLLOWER = msgspec.structs.replace(
    LEADER, role="follower", start_cpu_seconds=5.0, cpu_seconds_a_minute=1.0, resident_mib=120.0
)


def test_a_leader_below_its_peer_and_a_follower_well_below_its_leader_miss_nothing() -> None:
    assert misses([LEADER, PEER, FOLLOWER]) == []


def test_a_leader_that_holds_more_than_the_peer_is_told_of() -> None:
    small = msgspec.structs.replace(PEER, resident_mib=199.9)

    assert misses([LEADER, small]) == [
        "500 nodes: resident_mib of the leader is 200.0, over 100% of the karpenter's 199.9"
    ]


def test_a_follower_that_computes_over_three_fifths_of_what_its_leader_does_is_told_of() -> None:
    busy = msgspec.structs.replace(FOLLOWER, cpu_seconds_a_minute=1.3)

    assert misses([LEADER, busy]) == [
        "500 nodes: cpu_seconds_a_minute of the follower is 1.3, over 60% of the leader's 2.0"
    ]


def test_a_follower_that_holds_over_two_thirds_or_so_of_what_its_leader_does_is_told_of() -> None:
    large = msgspec.structs.replace(FOLLOWER, resident_mib=130.1)

    assert misses([LEADER, large]) == [
        "500 nodes: resident_mib of the follower is 130.1, over 65% of the leader's 200.0"
    ]


def test_small_clusters_are_not_compared() -> None:
    small = [msgspec.structs.replace(one, nodes=499) for one in (LEADER, PEER, FOLLOWER)]
    worse = msgspec.structs.replace(small[1], resident_mib=1.0)

    assert misses([small[0], worse, small[2]]) == []


def test_the_table_shows_each_role_of_each_size() -> None:
    lines = table([PEER, msgspec.structs.replace(LEADER, nodes=5), LEADER]).splitlines()

    assert lines[0].startswith("| nodes | pods | role | start cpu seconds |")
    assert [line.split(" | ")[2] for line in lines[2:]] == ["leader", "karpenter", "leader"]
