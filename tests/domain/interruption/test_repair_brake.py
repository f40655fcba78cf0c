from __future__ import annotations

from dataclasses import replace

from tests.builders import START, at, claim
from treenail.domain.interruption.repair_brake import RepairBrake
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import INITIALIZED, REGISTERED, Condition, NodeClaim, Status

JOINED = tuple(Condition(type=name, status=Status.TRUE) for name in (REGISTERED, INITIALIZED))


def joined(name: str, *, pool: str = "default", zone: str = "a") -> NodeClaim:
    return replace(claim(name), pool=pool, labels={labels.ZONE: zone}, conditions=JOINED)


def several(number: int, *, pool: str = "default", zones: str = "a") -> dict[str, NodeClaim]:
    claims = [joined(f"{pool}-{n}", pool=pool, zone=zones[n % len(zones)]) for n in range(number)]
    return {one.name: one for one in claims}


def given_up(brake: RepairBrake, claims: dict[str, NodeClaim], *, seconds: float = 0) -> list[str]:
    return [name for name, one in claims.items() if brake.holds(one, claims, at(seconds)) is None]


def test_a_fifth_of_a_pool_rounded_up_is_given_up_at_a_time() -> None:
    for number, at_once in ((1, 1), (5, 1), (6, 2), (10, 2), (11, 3)):
        assert len(given_up(RepairBrake(), several(number))) == at_once


def test_one_goes_when_another_has_been_gone_for_two_minutes() -> None:
    claims, brake = several(5), RepairBrake()
    (first,) = given_up(brake, claims)
    assert given_up(brake, claims) == []

    del claims[first]

    assert given_up(brake, claims, seconds=60) == []
    assert given_up(brake, claims, seconds=179) == []
    assert len(given_up(brake, claims, seconds=180)) == 1


def test_nodes_bought_instead_of_those_that_go_do_not_widen_the_brake() -> None:
    claims, brake = several(10), RepairBrake()
    assert len(given_up(brake, claims)) == 2

    claims |= {name: joined(name) for name in ("new-0", "new-1", "new-2")}

    assert given_up(brake, claims) == []


def test_a_zone_has_its_own_brake_across_pools() -> None:
    one, other = several(10, pool="one", zones="ab"), several(10, pool="other", zones="ab")
    brake = RepairBrake()
    claims = one | other

    taken = given_up(brake, claims)

    assert len([name for name in taken if claims[name].zone == "a"]) == 2
    assert len([name for name in taken if claims[name].zone == "b"]) == 2
    assert len([name for name in taken if name in one]) == 2
    why = brake.holds(one["one-9"], claims, START)
    assert why == (
        "No more than 20% of the nodes of pool one are given up as unwell at a time: "
        "2 of 10 are not gone yet, or were just now"
    )


def test_what_a_process_before_this_one_gave_up_counts_until_it_is_gone() -> None:
    claims = several(5)
    claims["default-0"] = replace(
        claims["default-0"],
        annotations={labels.CAUSE: Cause.SYSTEM_STATUS.value},
        deleting_since=START,
    )

    assert given_up(RepairBrake(), claims) == []


def test_nodes_that_go_for_another_reason_do_not_count() -> None:
    claims = several(5)
    claims["default-0"] = replace(
        claims["default-0"],
        annotations={labels.CAUSE: Cause.SPOT_INTERRUPTED.value},
        deleting_since=START,
    )

    assert len(given_up(RepairBrake(), claims)) == 1
