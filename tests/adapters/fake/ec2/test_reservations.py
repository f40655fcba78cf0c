from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.adapters.fake.ec2.rig import Rig, node_class, request
from treenail.adapters.fake.ec2 import ReservedCapacity
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import FleetRequest, Override
from treenail.domain.model.instance_types import Offering
from treenail.domain.model.node_classes import Kubelet, NodeClass, SelectorTerm
from treenail.domain.model.reservations import Reservation

RESERVED = ReservedCapacity(id="cr-1", instance_type="m5.large", zone="us-east-1a", instances=2)
OF_RESERVED = replace(node_class(), reservation_terms=(SelectorTerm(id="cr-1"),))


def reserved(rig: Rig, of: NodeClass = OF_RESERVED) -> list[Offering]:
    types = rig.ec2.instance_types(of, Kubelet())
    return [o for one in types for o in one.offerings if o.reservation is not None]


def in_reservation(*, count: int = 1, call: str = "call-1", name: str = "cr-1") -> FleetRequest:
    asked = request(count=count, call=call, capacity_type=labels.RESERVED, of=OF_RESERVED)
    override = Override("m5.large", "us-east-1a", 0, Reservation(name))
    return replace(asked, overrides=(override,))


def rig_with(*reservations: ReservedCapacity) -> Rig:
    rig = Rig()
    for one in reservations or (RESERVED,):
        rig.ec2.reservations.add(one)
    return rig


def test_instances_in_a_reservation_take_its_places_until_they_are_gone() -> None:
    rig = rig_with()
    (instance,) = rig.ec2.launch(in_reservation()).instances

    assert (instance.capacity_type, instance.reservation) == (labels.RESERVED, "cr-1")
    assert instance.labels[labels.RESERVATION_ID] == "cr-1"
    assert [o.left for o in reserved(rig)] == [1]

    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)

    assert [o.left for o in reserved(rig)] == [2]


def test_no_more_instances_fit_than_are_reserved() -> None:
    rig = rig_with()

    answer = rig.ec2.launch(in_reservation(count=3))

    assert len(answer.instances) == 2
    assert [error.code for error in answer.errors] == ["ReservationCapacityExceeded"]
    assert answer.errors[0].capacity


@pytest.mark.parametrize(
    ("term", "found"),
    [
        (SelectorTerm(id="cr-1"), True),
        (SelectorTerm(id="cr-2"), False),
        (SelectorTerm(tags=(("team", "web"),)), True),
        (SelectorTerm(tags=(("team", "*"),), owner="123456789012"), True),
        (SelectorTerm(tags=(("team", "w*"),)), True),
        (SelectorTerm(tags=(("team", "ml"),)), False),
        (SelectorTerm(tags=(("team", "ml-*"),)), False),
        (SelectorTerm(tags=(("team", "web"),), owner="999999999999"), False),
        (SelectorTerm(match_criteria="targeted"), True),
        (SelectorTerm(match_criteria="open"), False),
    ],
)
def test_a_class_has_the_reservations_that_its_terms_select(term: SelectorTerm, *, found: bool) -> None:
    rig = rig_with(replace(RESERVED, tags={"team": "web"}))

    assert bool(reserved(rig, replace(node_class(), reservation_terms=(term,)))) is found


def test_a_class_without_terms_has_none() -> None:
    assert reserved(rig_with(), node_class()) == []


def test_a_reservation_that_is_not_there_gives_nothing_and_says_so() -> None:
    rig = rig_with()
    rig.ec2.reservations.cancel("cr-1")

    answer = rig.ec2.launch(in_reservation())

    assert answer.instances == ()
    assert [error.code for error in answer.errors] == ["InvalidCapacityReservationId.NotFound"]


def test_reserved_capacity_without_a_reservation_is_no_request() -> None:
    with pytest.raises(InvalidError, match="names its reservation"):
        rig_with().ec2.launch(request(capacity_type=labels.RESERVED))


def test_instances_of_a_reservation_that_is_cancelled_go_on_on_demand() -> None:
    rig = rig_with()
    rig.ec2.launch(in_reservation())
    rig.agenda.run(60)

    rig.ec2.reservations.cancel("cr-1")

    (instance,) = rig.ec2.instances()
    assert (instance.capacity_type, instance.reservation) == (labels.ON_DEMAND, "")
    assert instance.price == pytest.approx(0.096)
    assert reserved(rig) == []


def test_the_instances_of_a_capacity_block_are_ended_half_an_hour_before_it_ends() -> None:
    rig = Rig()
    ends_at = rig.agenda.now() + timedelta(hours=1)
    rig.ec2.reservations.add(replace(RESERVED, kind="capacity-block", ends_at=ends_at))
    block = replace(
        in_reservation(),
        overrides=(Override("m5.large", "us-east-1a", 0, Reservation("cr-1", "capacity-block")),),
    )
    rig.ec2.launch(block)

    rig.agenda.run(21 * 60)
    assert [(o.available, o.left) for o in reserved(rig)] == [(False, 1)]
    assert len(rig.ec2.live()) == 1

    rig.agenda.run(10 * 60)
    assert rig.ec2.live() == ()


def test_a_reservation_of_nothing_or_twice_is_a_mistake() -> None:
    rig = rig_with()

    for wrong in (RESERVED, replace(RESERVED, id="cr-2", instances=0)):
        with pytest.raises(ValueError, match="cannot be made"):
            rig.ec2.reservations.add(wrong)


def test_the_status_of_a_class_says_which_reservations_it_has() -> None:
    status = rig_with().ec2.node_class_status(OF_RESERVED)

    assert [one.reservation.id for one in status.meaning.reservations] == ["cr-1"]
    assert "CapacityReservationsReady" in [c.type for c in status.conditions]
