from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import at, instance_type, node_pool
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import mark_unavailable
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.zonal_shifts import ZonalShift, closed, shift_events, shifted_zones

ZONES = (("use1-az1", "a"), ("use1-az2", "b"))


def test_a_shift_counts_while_it_is_applied_and_has_not_expired() -> None:
    shifts = (
        ZonalShift("use1-az1", at(60)),
        ZonalShift("use1-az2", at(10)),
        ZonalShift("use1-az3", at(60), applied=False),
    )

    assert shifted_zones(shifts, at(20)) == {"use1-az1"}


def test_everything_in_a_closed_zone_is_unavailable_and_nothing_elsewhere() -> None:
    large = instance_type("m5.large", 2, price=0.1)
    ids = {name: zone_id for zone_id, name in ZONES}
    sold = replace(large, offerings=tuple(replace(o, zone_id=ids[o.zone]) for o in large.offerings))

    (left,) = mark_unavailable((sold,), closed({"use1-az2"}))

    assert {(o.zone, o.available) for o in left.offerings} == {("a", True), ("b", False)}


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, True),
        ({labels.ZONE: "b"}, True),
        ({labels.ZONE: "a"}, False),
        ({labels.ZONE_ID: "use1-az2"}, True),
        ({labels.ZONE_ID: "use1-az1"}, False),
    ],
)
def test_a_pool_that_may_buy_in_the_zone_is_told_of_the_shift_and_of_its_end(
    own: dict[str, str],
    told: bool,  # noqa: FBT001
) -> None:
    pool = replace(node_pool(), requirements=Requirements.from_labels(own))
    zone = frozenset({"use1-az2"})

    begun, ended = shift_events(pool, ZONES, begun=zone), shift_events(pool, ZONES, ended=zone)

    assert [(one.reason, one.warning) for one in begun] == ([("ZonalShiftActive", True)] if told else [])
    assert [(one.reason, one.warning) for one in ended] == ([("ZonalShiftCleared", False)] if told else [])


def test_what_is_told_names_the_zone_in_both_ways() -> None:
    (event,) = shift_events(node_pool(), ZONES, begun=frozenset({"use1-az1"}))

    where = "offerings in zone a (use1-az1) are unavailable"
    assert event.message == f"Zonal shift detected: {where} for this NodePool"
