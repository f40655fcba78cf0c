from __future__ import annotations

import pytest

from tests.adapters.fake.ec2.rig import QUIET, Rig, node_class, request
from treenail.adapters.fake.ec2 import EC2Settings
from treenail.domain.model.errors import InvalidError, TooManyRequestsError
from treenail.domain.model.node_classes import Kubelet


def describe_until_refused(rig: Rig) -> int:
    done = 0
    try:
        while True:
            rig.ec2.instances()
            done += 1
    except TooManyRequestsError:
        return done


def test_listings_are_limited_to_a_burst_of_100_and_20_a_second() -> None:
    rig = Rig()

    burst = describe_until_refused(rig)
    rig.agenda.run(2)
    later = describe_until_refused(rig)
    rig.agenda.run(1000)

    assert (burst, later) == (100, 40)
    assert describe_until_refused(rig) == 100


def test_fleets_are_limited_to_a_burst_of_50_and_5_a_second() -> None:
    rig = Rig()
    for n in range(50):
        rig.launch_one(call=f"t{n}")

    with pytest.raises(TooManyRequestsError):
        rig.launch_one(call="one-more")

    assert len(rig.ec2.all_instances()) == 50
    rig.agenda.run(0.2)
    rig.launch_one(call="one-more")


def test_terminations_are_limited_by_instances_too() -> None:
    rig = Rig()
    ids = tuple(i.id for i in rig.ec2.launch(request(count=1001)).instances)

    with pytest.raises(InvalidError, match="1001"):
        rig.ec2.terminate(ids)
    rig.ec2.terminate(ids[:1000])
    with pytest.raises(TooManyRequestsError):
        rig.ec2.terminate(ids[1000:])
    rig.agenda.run(0.05)
    rig.ec2.terminate(ids[1000:])

    assert rig.ec2.live() == ()


def test_instances_launched_are_limited_only_where_that_is_wanted() -> None:
    rig = Rig(settings=EC2Settings(launches_throttled=True))
    rig.ec2.launch(request(count=999, call="many"))
    rig.launch_one(call="last")

    with pytest.raises(TooManyRequestsError):
        rig.launch_one(call="one-more")

    assert len(Rig(settings=QUIET).ec2.launch(request(count=2000)).instances) == 2000


def test_limits_can_be_left_out() -> None:
    rig = Rig(settings=EC2Settings(throttled=False))

    for _ in range(1000):
        rig.ec2.instances()

    assert rig.ec2.calls["DescribeInstances"] == 1000


def test_every_call_through_the_port_is_counted_and_no_other() -> None:
    rig = Rig()
    instance = rig.launch_one()
    rig.ec2.instance_types(node_class(), Kubelet())
    rig.ec2.instances()
    rig.ec2.launched_by("call-1")
    rig.ec2.terminate((instance.id,))
    rig.ec2.outside.launch(request(call="outside"))
    rig.ec2.live()

    assert dict(rig.ec2.calls) == {
        "CreateFleet": 1,
        "CreateLaunchTemplate": 1,
        "DescribeInstanceTypes": 1,
        "DescribeInstances": 2,
        "TerminateInstances": 1,
    }
