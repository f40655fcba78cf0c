from __future__ import annotations

import pytest

from tests.adapters.fake.ec2.rig import QUIET, Rig, node_class, request, spot_request
from treenail.adapters.fake.ec2 import EC2Faults, EndCause
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError
from treenail.domain.model.node_classes import Kubelet


def test_a_launch_whose_answer_is_lost_is_done_and_found_by_the_same_call() -> None:
    rig = Rig(faults=EC2Faults(answer_lost=1))
    with pytest.raises(UnavailableError):
        rig.ec2.launch(request(count=2))
    rig.ec2.faults = EC2Faults()

    answer = rig.ec2.launch(request(count=2))

    assert [i.id for i in answer.instances] == [r.instance.id for r in rig.ec2.all_instances()]
    assert len(answer.instances) == 2


def test_a_launch_that_does_not_arrive_is_not_done() -> None:
    rig = Rig(faults=EC2Faults(unavailable=1))

    with pytest.raises(UnavailableError):
        rig.ec2.launch(request())

    assert rig.ec2.all_instances() == ()


def test_a_termination_whose_answer_is_lost_is_done() -> None:
    rig = Rig(faults=EC2Faults(terminate_lost=1))
    instance = rig.launch_one()

    with pytest.raises(UnavailableError):
        rig.ec2.terminate((instance.id,))

    assert rig.state(instance) == "shutting-down"


@pytest.mark.parametrize(
    ("faults", "error"),
    [(EC2Faults(unavailable=1), UnavailableError), (EC2Faults(throttled=1), TooManyRequestsError)],
)
def test_every_call_of_the_port_may_fail(faults: EC2Faults, error: type[Exception]) -> None:
    rig = Rig()
    instance = rig.launch_one()
    rig.ec2.faults = faults

    with pytest.raises(error):
        rig.ec2.instance_types(node_class(), Kubelet())
    with pytest.raises(error):
        rig.ec2.launch(request())
    with pytest.raises(error):
        rig.ec2.launched_by("call-1")
    with pytest.raises(error):
        rig.ec2.instances()
    with pytest.raises(error):
        rig.ec2.terminate((instance.id,))
    assert rig.state(instance) == "pending"


def test_faults_come_as_often_as_they_are_likely() -> None:
    rig = Rig(faults=EC2Faults(unavailable=0.3))
    failed = 0
    for _ in range(90):
        try:
            rig.ec2.instances()
        except UnavailableError:
            failed += 1

    assert 15 < failed < 45


def test_instances_may_stay_invisible_for_up_to_thirty_seconds() -> None:
    rig = Rig(settings=QUIET, faults=EC2Faults(invisible=1))
    rig.ec2.launch(request(count=50))

    seen = []
    for _ in range(31):
        seen.append(len(rig.ec2.instances()))
        rig.agenda.run(1)

    assert seen[:3] == [0, 0, 0]
    assert 10 < seen[16] < 40
    assert seen[30] == 50


def test_a_shortage_hits_a_pool_that_would_have_been_taken_and_lasts_a_while() -> None:
    rig = Rig(faults=EC2Faults(shortage=1, shortage_seconds=(60, 60)))

    answer = rig.ec2.launch(request("c5.large/a", "m5.large/a", call="first"))
    rig.ec2.faults = EC2Faults()
    during = rig.launch_one("c5.large/a", "m5.large/a", call="second")
    rig.agenda.run(60)
    after = rig.launch_one("c5.large/a", "m5.large/a", call="third")

    assert [(e.code, e.instance_type) for e in answer.errors] == [
        ("InsufficientInstanceCapacity", "c5.large")
    ]
    assert [i.instance_type for i in (*answer.instances, during, after)] == [
        "m5.large",
        "m5.large",
        "c5.large",
    ]


def test_spot_instances_are_interrupted_at_their_rate_and_others_never() -> None:
    rig = Rig(faults=EC2Faults(spot_interruption=0.1))
    mailbox = rig.mailbox()
    rig.ec2.launch(spot_request(count=200, call="spot"))
    rig.ec2.launch(request(count=200, call="on-demand"))

    rig.agenda.run(3600)

    ended = [r for r in rig.ec2.all_instances() if r.terminated_at is not None]
    assert 8 < len(ended) < 34
    assert {r.cause for r in ended} == {EndCause.SPOT_INTERRUPTION}
    assert {r.instance.capacity_type for r in ended} == {"spot"}
    warned = {e["detail"]["instance-id"] for e in mailbox.events()}
    assert warned >= {r.instance.id for r in ended}


def test_interruptions_cease_when_their_rate_is_set_to_nothing() -> None:
    rig = Rig(faults=EC2Faults(spot_interruption=10))
    rig.ec2.launch(spot_request(count=50))
    rig.ec2.faults = EC2Faults()

    rig.agenda.run(7200)

    assert len(rig.ec2.live()) == 50


def test_a_call_takes_a_while_there_and_back_and_a_fleet_longer() -> None:
    rig = Rig()
    for _ in range(20):
        there, back = rig.ec2.latency(("ec2", "await", "x"))
        assert 0.02 <= there <= 0.1
        assert 0.02 <= back <= 0.1
        assert rig.ec2.latency(("ec2", "fleet", "x"))[1] >= 0.4


def test_a_slow_call_is_slow_one_way_or_the_other() -> None:
    rig = Rig(faults=EC2Faults(slow=1))

    drawn = [rig.ec2.latency(("ec2", "await", "x")) for _ in range(40)]

    assert all(5 < there + back < 31 for there, back in drawn)
    assert 5 < sum(there > back for there, back in drawn) < 35


def test_drawing_more_latencies_changes_nothing_else() -> None:
    one, other = Rig(), Rig()
    for _ in range(10):
        other.ec2.latency(("ec2", "fleet"))

    assert one.ec2.launch(request(count=3)) == other.ec2.launch(request(count=3))


def test_a_life_with_all_faults_repeats_by_its_seed() -> None:
    faults = EC2Faults(
        answer_lost=0.2,
        terminate_lost=0.2,
        unavailable=0.2,
        throttled=0.1,
        invisible=0.3,
        never_joins=0.2,
        shortage=0.3,
        spot_interruption=20,
    )

    def life(seed: int) -> object:
        rig = Rig(seed=seed, faults=faults)
        mailbox = rig.mailbox()
        heard: list[object] = []
        for n in range(20):
            try:
                heard.append(rig.ec2.launch(spot_request("c5.large/a", "m5.large/b", call=f"t{n}", count=2)))
                rig.ec2.terminate(tuple(r.instance.id for r in rig.ec2.live()[:1]))
            except (UnavailableError, TooManyRequestsError) as error:
                heard.append(str(error))
            rig.agenda.run(30)
        return heard, rig.ec2.all_instances(), mailbox.messages, rig.ec2.cost()

    assert life(1) == life(1)
    assert life(1) != life(2)
