from __future__ import annotations

from tests.adapters.fake.cluster.rig import Rig
from tests.agenda import START
from treenail.domain.model.events import ClusterEvent, ObjectRef

EVENT = ClusterEvent(ObjectRef("Node", "n-0"), "Drained", "all pods are gone")


def test_an_event_is_counted_while_it_goes_on() -> None:
    rig = Rig()
    for _ in range(3):
        rig.cluster.publish(EVENT)
        rig.run(300)

    [record] = rig.cluster.events()
    assert (record.event, record.count) == (EVENT, 3)
    assert record.first_at == START
    assert (record.last_at - record.first_at).total_seconds() == 600


def test_an_event_that_comes_again_much_later_is_another() -> None:
    rig = Rig()
    rig.cluster.publish(EVENT)
    rig.run(601)
    rig.cluster.publish(EVENT)

    assert [record.count for record in rig.cluster.events()] == [1, 1]
