"""What every `Cloud` must do with capacity that is reserved."""

from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.ec2.rig import ZONES, node_class, request
from tests.contracts.clouds import Setup, of_ec2
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Override
from treenail.domain.model.instance_types import Offering
from treenail.domain.model.node_classes import Kubelet, NodeClass, SelectorTerm
from treenail.domain.ports import Cloud


def reserving(reservation: str) -> NodeClass:
    return replace(node_class(), reservation_terms=(SelectorTerm(id=reservation),))


def reserved(cloud: Cloud, of: NodeClass) -> tuple[Offering, ...]:
    types = cloud.instance_types(of, Kubelet())
    return tuple(o for one in types for o in one.offerings if o.reservation is not None)


def order(of: NodeClass, offering: Offering, *, count: int) -> FleetRequest:
    override = Override("m5.large", offering.zone, offering.price, offering.reservation)
    asked = request(of=of, count=count, capacity_type=labels.RESERVED)
    return replace(asked, overrides=(override,))


@of_ec2
def test_what_is_reserved_for_a_class_is_on_offer_to_it_alone(setup: Setup) -> None:
    of = reserving(setup.reserve(2))

    (offering,) = reserved(setup.cloud, of)

    assert (offering.zone, offering.capacity_type, offering.left) == (ZONES[0], labels.RESERVED, 2)
    assert 0 < offering.price < 0.000001
    assert reserved(setup.cloud, node_class()) == ()
    assert [one.zone for one in setup.cloud.node_class_status(of).meaning.reservations] == [ZONES[0]]


@of_ec2
def test_instances_in_a_reservation_use_it_up_and_say_in_which_they_are(setup: Setup) -> None:
    of = reserving(setup.reserve(2))
    (offering,) = reserved(setup.cloud, of)

    answer = setup.cloud.launch(order(of, offering, count=3))
    setup.settle()

    assert [error.code for error in answer.errors] == ["ReservationCapacityExceeded"]
    for instances in (answer.instances, setup.cloud.instances()):
        assert {(one.capacity_type, one.reservation) for one in instances} == {
            (labels.RESERVED, offering.reservation.id if offering.reservation else "")
        }
        assert len(instances) == 2
