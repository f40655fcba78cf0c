from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import instance_type, node_class
from treenail.domain.launch.launching import exhausted_offerings, full_zones, launch_token
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import ALL_SPOT, mark_unavailable
from treenail.domain.model.fleets import NO_SPOT, FleetAnswer, FleetError, FleetRequest, Override
from treenail.domain.model.placement_groups import in_group

LARGE = instance_type("m5.large", 2, price=0.1)


def request(*overrides: tuple[str, str]) -> FleetRequest:
    return FleetRequest(
        token=launch_token(["c1"]),
        node_class=node_class(),
        capacity_type=labels.SPOT,
        overrides=tuple(Override(name, zone, 0.1) for name, zone in overrides),
        count=1,
    )


def errors(*found: tuple[str, str, str]) -> FleetAnswer:
    return FleetAnswer(errors=tuple(FleetError(code, "", name, zone) for code, name, zone in found))


@pytest.mark.parametrize(
    ("found", "ran_out"),
    [
        pytest.param((), (), id="no error"),
        pytest.param(
            (("InsufficientInstanceCapacity", "m5.large", "a"),), [("m5.large", "a")], id="one offering"
        ),
        pytest.param(
            (("InsufficientInstanceCapacity", "m5.large", ""),),
            [("m5.large", "a"), ("m5.large", "b")],
            id="a type in all zones",
        ),
        pytest.param(
            (("UnfulfillableCapacity", "", "a"),), [("c5.large", "a"), ("m5.large", "a")], id="a zone"
        ),
        pytest.param(
            (("MaxSpotInstanceCountExceeded", "", ""),),
            [("c5.large", "a"), ("m5.large", "a"), ("m5.large", "b")],
            id="all of them",
        ),
        pytest.param((("UnauthorizedOperation", "m5.large", "a"),), [], id="no matter of capacity"),
        pytest.param((("InsufficientInstanceCapacity", "p3.2xlarge", "a"),), [], id="not asked for"),
    ],
)
def test_offerings_ran_out_as_the_errors_say(
    found: tuple[tuple[str, str, str], ...], ran_out: list[tuple[str, str]]
) -> None:
    asked = request(("m5.large", "b"), ("m5.large", "a"), ("c5.large", "a"))

    assert exhausted_offerings(asked, errors(*found)) == tuple((labels.SPOT, *key) for key in ran_out)


def test_without_the_role_that_spot_needs_no_spot_is_left_at_all() -> None:
    refused = errors((NO_SPOT, "", ""))

    assert exhausted_offerings(request(("m5.large", "b")), refused) == (ALL_SPOT,)
    assert refused.errors[0].capacity


def test_what_is_full_in_one_subnet_of_a_zone_alone_has_not_run_out() -> None:
    found = (
        FleetError("InsufficientFreeAddressesInSubnet", "", "m5.large", "a", elsewhere=True),
        FleetError("InsufficientFreeAddressesInSubnet", "", "m5.large", "b"),
    )

    asked, answer = request(("m5.large", "a"), ("m5.large", "b")), FleetAnswer(errors=found)

    assert exhausted_offerings(asked, answer) == ((labels.SPOT, "m5.large", "b"),)
    assert full_zones(asked, answer) == ((asked.node_class.ref, "b"),)


def test_what_a_placement_group_has_no_room_for_may_be_had_outside_of_it() -> None:
    inside = replace(request(("m5.large", "a")), overrides=(Override("m5.large", "a", 0.1, group="pg-1"),))

    ran_out = exhausted_offerings(inside, errors(("InsufficientInstanceCapacity", "m5.large", "a")))

    assert ran_out == ((labels.SPOT, "m5.large", "a/pg-1"),)
    (outside,), (grouped,) = (
        mark_unavailable(types, frozenset(ran_out)) for types in ((LARGE,), in_group((LARGE,), "pg-1"))
    )
    assert all(o.available for o in outside.offerings)
    assert [o.zone for o in grouped.offerings if not o.available] == ["a"]


def test_a_spread_group_that_is_full_in_a_zone_holds_no_type_there() -> None:
    why = "You've reached the limit of instances in this spread placement group."
    inside = replace(request(("m5.large", "a")), overrides=(Override("m5.large", "a", 0.1, group="pg-1"),))
    full = FleetAnswer(errors=(FleetError("InsufficientInstanceCapacity", why, "m5.large", "a"),))

    ran_out = exhausted_offerings(inside, full)

    (other,) = mark_unavailable(in_group((replace(LARGE, name="c5.large"),), "pg-1"), frozenset(ran_out))
    assert {o.zone for o in other.offerings if o.available} == {"b"}
