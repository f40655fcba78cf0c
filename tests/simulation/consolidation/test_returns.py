"""Nodes go back to what is preferred once it is to be had again: to spot, a reservation, a heavier pool."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.scenarios.manifests import Manifest, deployment, node_class, text
from tests.simulation.consolidation.complaints import ZONES
from tests.simulation.consolidation.settling import rounds
from tests.simulation.consolidation.sides import Rehearsed, Side, pool
from treenail.adapters.fake.ec2 import ReservedCapacity
from treenail.domain.model import labels

HOUR = 3600.0
DAY = 24 * HOUR


def heavy(**more: Any) -> Manifest:
    """Return a pool whose nodes are preferred, though they cost 13 % more."""
    return pool("heavy", families=("m5",), weight=50, sizes=("xlarge",), **more)


def light(back: str | None = "20%") -> Manifest:
    annotations = {} if back is None else {labels.RETURN: back}
    return pool("light", families=("c5",), sizes=("xlarge",), annotations=annotations)


def apps(count: int = 3) -> list[Manifest]:
    return [deployment(f"app-{n}", 3, cpu="1500m") for n in range(count)]


def started(rehearsed: Rehearsed, *manifests: Manifest, pods: int = 9) -> None:
    rehearsed.rehearsal.apply(text(node_class(), *manifests))
    rehearsed.run_until_all_run(pods)


def kinds(rehearsed: Rehearsed) -> set[tuple[str, str]]:
    """Return of which pools nodes are, and how they were bought."""
    return {(one.pool, one.capacity_type) for one in rehearsed.rehearsal.claims()}


def out_of_spot(rehearsed: Rehearsed, hours: float) -> None:
    rehearsed.rehearsal.ec2.outside.run_out(
        "*", "*", capacity_type=labels.SPOT, until=rehearsed.rehearsal.seconds + hours * HOUR
    )


def stays_put(rehearsed: Rehearsed) -> None:
    """Nothing moves for a day, and nothing ever came back to what it had been."""
    at, bought = rehearsed.rehearsal.seconds, len(rehearsed.rehearsal.ec2.all_instances())
    rehearsed.rehearsal.run(DAY)
    assert rehearsed.watch.waves(at) == []
    assert len(rehearsed.rehearsal.ec2.all_instances()) == bought
    assert rehearsed.watch.lineage.returns() == []


def test_nodes_go_back_to_spot_within_the_hour_after_an_outage_of_two_hours() -> None:
    with Rehearsed(Side.OURS) as rehearsed:
        out_of_spot(rehearsed, 2)
        started(rehearsed, pool(capacity_types=("spot", "on-demand"), families=("c5", "m5")), *apps())
        assert kinds(rehearsed) == {("default", labels.ON_DEMAND)}

        rehearsed.rehearsal.run(3 * HOUR)

        assert kinds(rehearsed) == {("default", labels.SPOT)}
        stays_put(rehearsed)


def test_nodes_go_back_to_the_heavier_pool_once_it_has_capacity() -> None:
    with Rehearsed(Side.OURS) as rehearsed:
        for zone in ZONES:
            rehearsed.rehearsal.run_out("m5.xlarge", zone)
        started(rehearsed, heavy(), light(), *apps())
        rehearsed.rehearsal.run(HOUR)
        assert kinds(rehearsed) == {("light", labels.ON_DEMAND)}

        rehearsed.rehearsal.ec2.outside.restock()
        rehearsed.rehearsal.run(1.5 * HOUR)

        assert kinds(rehearsed) == {("heavy", labels.ON_DEMAND)}
        stays_put(rehearsed)


def test_nodes_go_back_to_the_heavier_pool_once_its_limits_are_raised() -> None:
    with Rehearsed(Side.OURS) as rehearsed:
        started(rehearsed, heavy(limits={"cpu": "8"}), light(), *apps())
        rehearsed.rehearsal.run(HOUR)
        assert {of for of, _ in kinds(rehearsed)} == {"heavy", "light"}

        rehearsed.rehearsal.apply(text(heavy(limits={"cpu": "100"})))
        rehearsed.rehearsal.run(0.5 * HOUR)

        assert kinds(rehearsed) == {("heavy", labels.ON_DEMAND)}
        stays_put(rehearsed)


def test_nodes_go_to_a_reservation_that_has_room_again() -> None:
    with Rehearsed(Side.OURS) as rehearsed:
        reserved = node_class()
        reserved["spec"]["capacityReservationSelectorTerms"] = [{"id": "cr-0123456789abcdef0"}]
        rehearsed.rehearsal.apply(text(reserved))
        both = pool(capacity_types=("reserved", "on-demand"), families=("m5",), sizes=("xlarge",))
        rehearsed.rehearsal.apply(text(both, *apps(1)))
        rehearsed.run_until_all_run(3)
        assert kinds(rehearsed) == {("default", labels.ON_DEMAND)}
        bought = len(rehearsed.rehearsal.claims())

        rehearsed.rehearsal.ec2.reservations.add(
            ReservedCapacity(
                id="cr-0123456789abcdef0", instance_type="m5.xlarge", zone=ZONES[0], instances=bought
            )
        )
        rehearsed.rehearsal.run(0.5 * HOUR)

        assert kinds(rehearsed) == {("default", labels.RESERVED)}
        stays_put(rehearsed)


def test_no_node_goes_to_a_heavier_pool_that_costs_more_than_its_own_pool_allows() -> None:
    for allowed in (None, "10%"):
        with Rehearsed(Side.OURS) as rehearsed:
            for zone in ZONES:
                rehearsed.rehearsal.run_out("m5.xlarge", zone)
            started(rehearsed, heavy(), light(allowed), *apps())

            rehearsed.rehearsal.ec2.outside.restock()
            rehearsed.rehearsal.run(6 * HOUR)

            assert kinds(rehearsed) == {("light", labels.ON_DEMAND)}
            assert rehearsed.moved == 0


def test_returns_that_find_no_capacity_are_tried_after_growing_pauses_and_never_given_up() -> None:
    with Rehearsed(Side.OURS) as rehearsed:
        for zone in ZONES:
            rehearsed.rehearsal.run_out("m5.xlarge", zone)
        started(rehearsed, heavy(), light(), *apps(1), pods=3)
        rehearsed.rehearsal.run(DAY)
        tries = rounds(rehearsed.watch.waves(), apart_seconds=120.0)
        pauses = [later - earlier for earlier, later in pairwise(tries)]

        assert len(tries) < 20
        assert all(later > 1.2 * earlier for earlier, later in pairwise(pauses) if later < 3 * HOUR)
        assert max(pauses) < 4.2 * HOUR
        assert tries[-1] > DAY - 4.2 * HOUR
        assert rehearsed.watch.evicted.total() == 0

        rehearsed.rehearsal.ec2.outside.restock()
        rehearsed.rehearsal.run(4.5 * HOUR)

        assert kinds(rehearsed) == {("heavy", labels.ON_DEMAND)}
