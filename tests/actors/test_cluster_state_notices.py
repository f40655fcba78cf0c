from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.actors.notices import SPOT, message
from tests.builders import (
    START,
    at,
    bound_pod,
    claim_of,
    node_class,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    view,
)
from treenail.actors.interruption_listener import InterruptionListener
from treenail.adapters.fake.queue import FakeQueue, QueueSettings
from treenail.domain.cluster.batch_window import UrgentWork
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import Kind, Resynced
from treenail.domain.disruption.disruption import DisruptionBlocked, NodeInterrupted, NoticeSettled
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.launch.launching import CapacityRanOut, offering_of
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.taints import DISRUPTED


@pytest.mark.parametrize("there", [view(), view(of_node={"unschedulable": True})])
def test_the_pods_of_an_interrupted_node_are_urgent(there: Any) -> None:
    stage = Knowing(there.claim, there.node, bound_pod("p1", "node-c1"))

    stage.interrupt()
    stage.close_batch()

    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    assert stage.snapshots() == [("d1", ["p1"])]
    assert stage.termination.of(NodeChanged)[-1].going


def test_a_decision_on_many_pods_gives_way_to_one_on_those_of_an_interrupted_node() -> None:
    many = [pending_pod(f"w{n:03}") for n in range(501)]
    stage = Knowing(*IN_USE, bound_pod("b1", "node-c1", owner="other"), *many)
    stage.close_batch()
    stage.interrupt()
    stage.close_batch("d2", urgent="spot_interrupted")
    first, second = stage.snapshots()
    assert (first[0], len(first[1])) == ("d1", 501)
    assert second == ("d2", ["b1"])

    stage.decide(planned_claim("b1"), name="d2")
    assert len(stage.snapshots()) == 2
    stage.run(2)

    third = stage.snapshots()[-1]
    assert (third[0], len(third[1])) == ("d1", 501)
    stage.decide(planned_claim("w000", cpu=400))
    assert [len(plan.claims) for plan in stage.committed()] == [1, 1]


@pytest.mark.parametrize(
    ("there", "instance_id"),
    [
        pytest.param(view(), "i-other", id="not ours"),
        pytest.param(view(of_claim={"deleting_since": START}), "i-c1", id="on its way out already"),
    ],
)
def test_an_interruption_that_is_no_news_is_not_urgent(there: Any, instance_id: str) -> None:
    stage = Knowing(there.claim, there.node)

    stage.interrupt(instance_id)

    assert stage.batcher.received == []


def test_what_ec2_takes_back_is_avoided_though_its_node_goes_already() -> None:
    going = view(of_claim={"deleting_since": START})
    stage = Knowing(claim_of(going), node_of(going))

    stage.interrupt()

    ran_out = [CapacityRanOut(offerings=(offering_of(claim_of(going)),))]
    assert stage.selector.of(CapacityRanOut) == stage.launcher.of(CapacityRanOut) == ran_out


def test_a_reservation_that_is_taken_back_is_not_bought_into_for_now() -> None:
    reserved = {labels.CAPACITY_TYPE: labels.RESERVED, labels.RESERVATION_ID: "cr-1"}
    in_use = view(of_claim={"labels": {**claim_of(view()).labels, **reserved}})
    stage = Knowing(claim_of(in_use), node_of(in_use))

    stage.tell(replace(warned(), cause=Cause.CAPACITY_RESERVATION_INTERRUPTED))

    (ran_out,) = stage.selector.of(CapacityRanOut)
    assert ran_out in stage.launcher.of(CapacityRanOut)
    assert [(way, place) for way, _, place in ran_out.offerings] == [(labels.RESERVED, "cr-1")]


def test_a_second_interruption_of_a_node_is_no_news() -> None:
    stage = Knowing(*IN_USE)

    stage.interrupt()
    stage.interrupt()

    assert len(stage.batcher.received) == 1


def test_a_notice_is_settled_when_the_end_of_its_node_is_written_down() -> None:
    stage = Knowing(*IN_USE)
    stage.interrupt()
    stage.see(replace(node_of(view()), taints=(DISRUPTED,), resource_version=5))
    assert stage.listener.received == []

    stage.see(replace(claim_of(view()), deleting_since=START, resource_version=6))

    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]


def test_one_of_a_node_that_goes_meanwhile_is_settled_by_that() -> None:
    stage = Knowing(*IN_USE)
    stage.interrupt()

    stage.lose(Kind.NODE_CLAIM, "c1")
    stage.lose(Kind.NODE, "node-c1")

    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]


def test_one_of_a_node_on_its_way_out_or_of_nobody_is_settled_at_once() -> None:
    going = view(of_claim={"deleting_since": START})
    stage = Knowing(claim_of(going), node_of(going))

    stage.interrupt()
    stage.interrupt("i-other")

    assert [settled.instance_id for settled in stage.listener.of(NoticeSettled)] == ["i-c1", "i-other"]


def test_when_the_machine_goes_is_to_be_written_down_too_of_a_node_on_its_way_out() -> None:
    going = view(of_claim={"deleting_since": START})
    stage = Knowing(claim_of(going), node_of(going))
    warning: dict[str, Any] = {"instance_id": "i-c1", "noticed_at": START, "deadline": at(120)}

    stage.tell(NodeInterrupted(cause=Cause.SPOT_INTERRUPTED, **warning))
    assert stage.listener.received == []
    ends_at = {labels.ENDS_AT: at(120).isoformat()}
    stage.see(replace(claim_of(going), annotations=ends_at, resource_version=6))

    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]


def test_before_all_is_known_nobody_says_whose_an_instance_is() -> None:
    stage = Knowing(*IN_USE, synced=False)
    stage.interrupt("i-other")
    assert stage.listener.received == []

    stage.tell(Resynced(revision=2, objects=IN_USE))

    assert stage.listener.received == [NoticeSettled(instance_id="i-other")]
    assert stage.termination.of(NodeInterrupted) == []


def test_what_was_announced_before_all_was_known_is_acted_on_by_all_when_it_is() -> None:
    stage = Knowing(synced=False)
    notice = NodeInterrupted(instance_id="i-c1", cause=Cause.INSTANCE_STATUS, noticed_at=START, forceful=True)
    stage.tell(replace(notice, noticed_at=at(-240)))
    stage.tell(notice)
    stage.run(3600)

    there = (node_pool(), node_class(), *IN_USE, bound_pod("p1", "node-c1"))
    stage.tell(Resynced(revision=2, objects=there))

    assert stage.termination.of(NodeInterrupted) == [replace(notice, name="c1")]
    assert stage.batcher.received == [UrgentWork(why="instance_status")]
    assert stage.listener.received == []  # it stays in the queue until the end is written down
    stage.see(replace(claim_of(view()), deleting_since=START, resource_version=6))
    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]


def test_what_is_announced_before_pools_are_known_may_be_of_a_node_that_is_left_alone() -> None:
    static = replace(node_pool(), replicas=1)
    for pool, acted_on in ((static, []), (node_pool(), [warned(name="c1")])):
        stage = Knowing(synced=False)
        stage.lose(Kind.NODE_POOL, "default")
        stage.see(*IN_USE)
        stage.tell(warned())
        assert stage.termination.of(NodeInterrupted) == []

        stage.tell(Resynced(revision=2, objects=(pool, node_class(), *IN_USE)))

        assert stage.termination.of(NodeInterrupted) == acted_on
        left = [NoticeSettled(instance_id="i-c1")]
        assert stage.listener.received == ([] if acted_on else left)
        assert len(stage.event_publisher.of(DisruptionBlocked)) == (0 if acted_on else 1)


LAUNCHING = claim_of(view(of_claim={"provider_id": ""}))


def warned(instance_id: str = "i-c1", **more: Any) -> NodeInterrupted:
    return NodeInterrupted(
        instance_id=instance_id, cause=Cause.SPOT_INTERRUPTED, noticed_at=START, deadline=at(120), **more
    )


def test_what_was_announced_of_a_machine_that_is_still_being_launched_is_acted_on_when_it_is_known() -> None:
    stage = Knowing(LAUNCHING)
    stage.tell(warned(), warned(message_id="again"))
    assert stage.listener.received == stage.termination.of(NodeInterrupted) == stage.batcher.received == []

    stage.see(*(replace(thing, resource_version=5) for thing in IN_USE), bound_pod("p1", "node-c1"))

    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    ran_out = [CapacityRanOut(offerings=(offering_of(claim_of(view())),))]
    assert stage.selector.of(CapacityRanOut) == stage.launcher.of(CapacityRanOut) == ran_out
    assert [told.instance_id for told in stage.termination.of(NodeInterrupted)] == ["i-c1"]
    assert stage.termination.of(NodeChanged)[-1].going
    stage.close_batch()
    assert stage.snapshots() == [("d1", ["p1"])]
    assert stage.listener.received == []  # it stays in the queue until the end is written down
    ends_at = {labels.ENDS_AT: at(120).isoformat()}
    stage.see(replace(claim_of(view()), deleting_since=START, annotations=ends_at, resource_version=6))
    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]


def test_the_instance_is_known_to_be_of_nobody_when_all_that_were_launched_then_have_theirs() -> None:
    other = replace(LAUNCHING, name="c2")
    stage = Knowing(LAUNCHING, other)
    stage.tell(warned("i-other"))

    stage.see(replace(claim_of(view()), resource_version=5))
    assert stage.listener.received == []
    stage.see(replace(other, name="c3", resource_version=6))  # its machine was not there yet
    stage.lose(Kind.NODE_CLAIM, "c2")

    assert stage.listener.received == [NoticeSettled(instance_id="i-other")]
    assert stage.batcher.received == stage.termination.of(NodeInterrupted) == []


def test_a_launch_that_is_given_up_leaves_no_notice_waiting() -> None:
    stage = Knowing(LAUNCHING)
    stage.tell(warned("i-other"))

    stage.see(replace(LAUNCHING, deleting_since=START, resource_version=5))

    assert stage.listener.received == [NoticeSettled(instance_id="i-other")]


def test_what_came_before_all_was_known_waits_for_the_launches_that_are_found_then() -> None:
    stage = Knowing(synced=False)
    stage.tell(warned("i-c1"), warned("i-other"))

    stage.tell(Resynced(revision=2, objects=(LAUNCHING,)))
    assert stage.listener.received == []
    stage.see(replace(claim_of(view()), resource_version=5))

    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    assert [told.instance_id for told in stage.termination.of(NodeInterrupted)] == ["i-c1"]
    assert stage.listener.received == [NoticeSettled(instance_id="i-other")]


class Listened(Knowing):
    """A cluster state whose listener hears a queue of one message."""

    def __init__(self, body: str) -> None:
        super().__init__(LAUNCHING)
        self.queue = FakeQueue(self.world, random.Random(0), settings=QueueSettings(delay=(0, 0)))
        self.hearing: Any = self.host(
            lambda runtime: InterruptionListener(
                runtime,
                cluster=self.cluster,
                queue=self.queue,
                policy=InterruptionPolicy(),
            )
        )
        self.queue.feed(self.hearing)
        self.queue.put(body)
        self.run(90)

    def backlog(self) -> tuple[str, ...]:
        """Return what is left in the queue when all was passed on."""
        for settled in self.listener.received:
            self.hearing.tell(settled)
        self.run(1)
        return self.queue.backlog()


def test_a_crash_while_the_machine_of_a_warning_is_launched_loses_nothing() -> None:
    (left,) = Listened(json.dumps(message(SPOT, "i-c1"))).backlog()
    stage = Listened(left)

    stage.see(*(replace(thing, resource_version=5) for thing in IN_USE), bound_pod("p1", "node-c1"))
    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    assert stage.selector.of(CapacityRanOut) == [CapacityRanOut(offerings=(offering_of(claim_of(view())),))]
    assert stage.backlog() == (left,)

    ends_at = {labels.ENDS_AT: at(120).isoformat()}
    stage.see(replace(claim_of(view()), deleting_since=START, annotations=ends_at, resource_version=6))
    assert stage.backlog() == ()


def test_a_notice_waits_for_the_claim_of_a_node_that_is_seen_before_its_claim_says_so() -> None:
    node = node_of(view())
    stage = Knowing(LAUNCHING, node, bound_pod("p1", "node-c1"))
    stage.tell(warned())
    assert stage.listener.received == []

    stage.see(replace(claim_of(view()), resource_version=5))

    assert stage.listener.received == []  # the end is not written down yet
    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    assert [told.name for told in stage.termination.of(NodeInterrupted)] == ["c1"]
    assert stage.termination.of(NodeChanged)[-1].going


def test_a_notice_of_a_node_that_nobody_claims_or_will_claim_is_of_no_concern() -> None:
    stage = Knowing(node_of(view()), bound_pod("p1", "node-c1"))

    stage.tell(warned())

    assert stage.listener.received == [NoticeSettled(instance_id="i-c1")]
    assert stage.batcher.received == stage.termination.of(NodeInterrupted) == []
