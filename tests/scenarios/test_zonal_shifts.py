"""Zonal shifts: nothing is bought in the zone, and nothing given up there, until they end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.scenarios.manifests import deployment, need, node_class, node_pool, text
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.model.zonal_shifts import ZonalShift

ZONE, ZONE_ID = "us-east-1a", "use1-az2"
ANYWHERE = node_pool(capacity_types=("on-demand",))
IN_ZONE = {"topology.kubernetes.io/zone": ZONE}


def rehearsed(*, heeded: bool = True) -> Rehearsal:
    return Rehearsal(seed=1, conditions=Conditions(zonal_shifts=heeded))


def pool_events(rehearsal: Rehearsal) -> list[str]:
    events = (record.event for record in rehearsal.cluster.events())
    return [one.reason for one in events if one.about.kind == "NodePool" and "ZonalShift" in one.reason]


def test_nothing_is_bought_in_the_zone_until_the_shift_ends() -> None:
    with rehearsed() as rehearsal:
        rehearsal.apply(text(node_class(), ANYWHERE))
        rehearsal.run("10s")
        rehearsal.shift_away(ZONE_ID, "10m")
        rehearsal.run("1m")

        rehearsal.apply(text(deployment("stuck", 1, node_selector=IN_ZONE), deployment("free", 3)))
        rehearsal.run("5m")
        assert rehearsal.running() == 3
        assert ZONE not in {claim.zone for claim in rehearsal.claims()}
        assert pool_events(rehearsal) == ["ZonalShiftActive"]

        rehearsal.run_until(lambda: rehearsal.running() == 4, within="10m")
        assert ZONE in {claim.zone for claim in rehearsal.claims()}
        assert pool_events(rehearsal) == ["ZonalShiftActive", "ZonalShiftCleared"]


def test_a_shift_that_is_taken_back_opens_the_zone() -> None:
    with rehearsed() as rehearsal:
        rehearsal.shift_away(ZONE_ID, "10h")
        rehearsal.apply(text(node_class(), ANYWHERE, deployment("stuck", 1, node_selector=IN_ZONE)))
        rehearsal.run("5m")
        assert rehearsal.claims() == ()

        rehearsal.zonal_shifts.cancel(ZONE_ID)

        rehearsal.run_until(lambda: rehearsal.running() == 1, within="5m")


def test_an_empty_node_in_the_zone_stays_while_the_shift_lasts_and_one_elsewhere_goes() -> None:
    with rehearsed() as rehearsal:
        other = deployment("other", 1, node_selector={"topology.kubernetes.io/zone": "us-east-1b"})
        here = deployment("here", 1, node_selector=IN_ZONE)
        rehearsal.apply(text(node_class(), ANYWHERE, here, other))
        rehearsal.run_until(lambda: rehearsal.running() == 2)
        rehearsal.shift_away(ZONE_ID, "20m")
        rehearsal.run("1m")

        rehearsal.scale("here", 0)
        rehearsal.scale("other", 0)
        rehearsal.run("10m")
        assert [claim.zone for claim in rehearsal.claims()] == [ZONE]

        rehearsal.run_until(lambda: rehearsal.claims() == (), within="20m")


def test_a_shift_is_known_again_after_a_restart() -> None:
    with rehearsed() as rehearsal:
        rehearsal.shift_away(ZONE_ID, "1h")
        rehearsal.apply(text(node_class(), ANYWHERE))
        rehearsal.run("1m")
        rehearsal.crash()
        rehearsal.restart(after=1)
        rehearsal.run("10s")

        rehearsal.apply(text(deployment("stuck", 1, node_selector=IN_ZONE)))
        rehearsal.run("5m")

        assert rehearsal.claims() == ()


def test_what_is_not_to_be_heeded_changes_nothing() -> None:
    with rehearsed(heeded=False) as rehearsal:
        with pytest.raises(ValueError, match=r"nothing heeds it without Conditions\(zonal_shifts=True\)"):
            rehearsal.shift_away(ZONE_ID, "1h")
        end = rehearsal.world.now() + timedelta(hours=1)
        rehearsal.zonal_shifts.begin(ZonalShift(ZONE_ID, end))
        rehearsal.apply(text(node_class(), ANYWHERE, deployment("here", 1, node_selector=IN_ZONE)))

        rehearsal.run_until(lambda: rehearsal.running() == 1)
        assert pool_events(rehearsal) == []


def test_a_pool_of_another_zone_hears_nothing_of_it() -> None:
    made = node_pool(capacity_types=("on-demand",))
    made["spec"]["template"]["spec"]["requirements"].append(need("topology.kubernetes.io/zone", "us-east-1b"))
    with rehearsed() as rehearsal:
        rehearsal.apply(text(node_class(), made))
        rehearsal.run("10s")
        rehearsal.shift_away(ZONE_ID, "10m")
        rehearsal.run("2m")

        assert pool_events(rehearsal) == []
