from __future__ import annotations

import pytest

from tests.adapters.fake.ec2.rig import QUIET, Rig, request
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings, EndCause
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import FleetRequest, Instance


def test_an_instance_is_pending_then_running_then_shutting_down_then_gone() -> None:
    rig = Rig()
    instance = rig.launch_one()

    states = [rig.state(instance)]
    rig.agenda.run(4.9)
    states.append(rig.state(instance))
    rig.agenda.run(10.2)
    states.append(rig.state(instance))
    rig.ec2.terminate((instance.id,))
    states.append(rig.state(instance))
    rig.agenda.run(40)
    states.append(rig.state(instance))

    assert states == ["pending", "pending", "running", "shutting-down", "terminated"]


def test_listings_show_an_instance_until_it_is_gone() -> None:
    rig = Rig()
    instance = rig.launch_one()

    rig.ec2.terminate((instance.id,))
    leaving = [i.state.value for i in rig.ec2.instances()]
    rig.agenda.run(60)

    assert leaving == ["shutting-down"]
    assert rig.ec2.instances() == ()
    assert rig.ec2.launched_by("call-1") == ()


def test_a_new_instance_takes_its_time_to_show_up() -> None:
    rig = Rig(settings=EC2Settings(visible=(2.0, 2.0)))
    instance = rig.launch_one()

    early = rig.ec2.instances(), rig.ec2.launched_by("call-1")
    rig.agenda.run(2)

    assert early == ((), ())
    assert [i.id for i in rig.ec2.instances()] == [instance.id]
    assert [i.id for i in rig.ec2.launched_by("call-1")] == [instance.id]


def test_terminating_again_or_something_unknown_does_not_matter() -> None:
    rig = Rig()
    instance = rig.launch_one()
    rig.agenda.run(10)
    rig.ec2.terminate((instance.id, "i-00000000000000000"))
    ended_at = rig.agenda.now()
    rig.agenda.run(5)

    rig.ec2.terminate((instance.id,))
    rig.agenda.run(100)
    rig.ec2.terminate((instance.id,))

    (record,) = rig.ec2.all_instances()
    assert record.terminated_at == ended_at
    assert record.cause is EndCause.CONTROLLER
    assert rig.ec2.live() == ()


def test_an_instance_of_another_cluster_is_neither_seen_nor_terminated() -> None:
    rig = Rig()
    own = rig.launch_one()
    (other,) = rig.ec2.outside.launch(request(cluster="other", call="other"))

    with pytest.raises(InvalidError, match=other.id):
        rig.ec2.terminate((own.id, other.id))

    assert [i.id for i in rig.ec2.instances()] == [own.id]
    assert rig.ec2.launched_by("other") == ()
    assert [r.instance.id for r in rig.ec2.live()] == [own.id]


def test_an_instance_somebody_else_launched_into_the_cluster_is_seen() -> None:
    rig = Rig()

    (stray,) = rig.ec2.outside.launch(request(call="by-hand"))

    assert [i.id for i in rig.ec2.instances()] == [stray.id]


def test_those_who_embed_it_hear_of_machines_that_come_and_go() -> None:
    rig = Rig()
    came: list[tuple[float, str, FleetRequest]] = []
    went: list[tuple[float, str]] = []
    rig.ec2.on_running(lambda i, r: came.append((rig.agenda.monotonic(), i.id, r)))
    rig.ec2.on_gone(lambda i: went.append((rig.agenda.monotonic(), i.id)))
    rig.ec2.outside.launch(request(cluster="other", call="other"))
    asked = request(call="own")
    (instance,) = rig.ec2.launch(asked).instances

    rig.agenda.run(20)
    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)

    ((at, running, by),) = came
    assert 5 <= at <= 15
    assert (running, by) == (instance.id, asked)
    assert went == [(20, instance.id)]


def test_an_instance_terminated_while_pending_never_runs() -> None:
    rig = Rig()
    came: list[Instance] = []
    rig.ec2.on_running(lambda i, _: came.append(i))
    instance = rig.launch_one()

    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)

    assert came == []
    assert rig.state(instance) == "terminated"


def test_booting_takes_a_drawn_time_that_stays() -> None:
    rig = Rig()
    instances = rig.ec2.launch(request(count=50)).instances

    seconds = [rig.ec2.boot_seconds(i) for i in instances]

    assert all(s is not None and 20 <= s <= 40 for s in seconds)
    assert len(set(seconds)) == 50
    assert seconds == [rig.ec2.boot_seconds(i) for i in instances]


def test_some_instances_never_join() -> None:
    rig = Rig(faults=EC2Faults(never_joins=0.5))

    instances = rig.ec2.launch(request(count=100)).instances

    assert 30 < [rig.ec2.boot_seconds(i) for i in instances].count(None) < 70


def test_a_stopped_instance_stays_in_listings_and_costs_nothing() -> None:
    rig = Rig(settings=QUIET)
    went: list[str] = []
    rig.ec2.on_gone(lambda i: went.append(i.id))
    instance = rig.launch_one("m5.large/a")
    rig.agenda.run(1800)

    rig.ec2.outside.stop(instance.id)
    stopping = rig.state(instance)
    rig.agenda.run(3600)

    assert (stopping, rig.state(instance)) == ("stopping", "stopped")
    assert [i.id for i in rig.ec2.instances()] == [instance.id]
    assert rig.ec2.cost() == pytest.approx(0.048)
    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)
    (record,) = rig.ec2.all_instances()
    assert record.cause is EndCause.USER
    assert rig.ec2.instances() == ()
    assert went == [instance.id]


def test_what_never_was_has_no_name() -> None:
    rig, other = Rig(seed=1), Rig(seed=2)
    instance = other.launch_one()

    with pytest.raises(ValueError, match="never"):
        rig.ec2.node_name(instance)
