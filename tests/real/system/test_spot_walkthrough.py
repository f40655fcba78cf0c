"""Walkthrough 002: what EC2 announces goes by EventBridge, its rules and the queue to the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.controller import eventually
from tests.real.system.older_walkthroughs import apply_beta, beta_scene, read_beta, spot_walkthrough
from tests.real.system.scene import Scene
from tests.real.system.traces import tree
from tests.real.system.walkthrough import (
    ending,
    expect_whole,
    stored,
)

PODS = 2


@dataclass(frozen=True)
class Announcement:
    """What EC2 announces of an instance, what node and claim are told, and the cause that is recorded."""

    announce: Callable[[Lab, str], None]
    reason: str
    cause: str
    # Pods of a machine that stops at once wait for a decision, but not for their new place.
    replaced_first: bool = True


ANNOUNCEMENTS = {
    "spot interruption warning": Announcement(Lab.spot_warning, "SpotInterrupted", "spot_interrupted"),
    "scheduled change": Announcement(
        lambda lab, instance: lab.scheduled_change([instance]), "InstanceUnhealthy", "scheduled_change"
    ),
    "instance state change": Announcement(
        lambda lab, instance: lab.state_change(instance, "stopping"),
        "InstanceStopping",
        "instance_stopped",
        replaced_first=False,
    ),
}


@pytest.fixture(scope="module")
def scene(control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger) -> Iterator[Scene]:
    """The walkthrough's pods on their spot node."""
    lab_process.reset()
    # What we terminate ourselves is announced too, and is no part of this.
    lab_process.state_events(on=False)
    with beta_scene(control_plane, lab_process, jaeger) as there:
        apply_beta(there, spot_walkthrough(lab_process))
        eventually(lambda: there.cluster.running() == PODS, there.summary, within=150)
        yield there
    lab_process.check()


def expect_spot_nodes(scene: Scene) -> None:
    """Its nodes are of the walkthrough's pool, and spot instances of its categories."""
    instances = scene.instances()
    assert {i["InstanceLifecycle"] for i in instances} == {"spot"}
    assert {i["InstanceType"][0] for i in instances} <= {"c", "m", "r"}
    for node in scene.cluster.nodes():
        labels = node["metadata"]["labels"]
        assert (labels["karpenter.sh/nodepool"], labels["eks-immersion-team"]) == ("default", "my-team")


def state_of(scene: Scene, instance: str) -> str:
    answer = scene.lab.client("ec2").describe_instances(InstanceIds=[instance])
    return str(answer["Reservations"][0]["Instances"][0]["State"]["Name"])


def waiting(scene: Scene) -> int:
    """Return how many messages the queue holds, seen by somebody or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    sqs, url = scene.lab.client("sqs"), scene.lab.estate["queue_url"]
    there = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(there[name]) for name in names)


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_spot_nodes_of_the_beta_pool_serve_its_pods(scene: Scene) -> None:
    expect_spot_nodes(scene)
    instances = scene.instances()
    assert [c["kind"] for c in scene.cluster.claims()] == ["NodeClaim"] * len(instances)
    tags = {tag["Key"]: tag["Value"] for tag in instances[0]["Tags"]}
    assert (tags["intent"], tags["eks-immersion-team"]) == ("apps", "my-team")
    # What was written is what is read, in the version it was written in.
    pool = read_beta(scene, "NodePool", "default")
    assert pool["spec"]["disruption"]["consolidationPolicy"] == "WhenUnderutilized"
    assert pool["spec"]["disruption"]["expireAfter"] == "Never"


def test_a_rebalance_recommendation_is_recorded_and_nothing_done(scene: Scene) -> None:
    there = scene.instances()

    scene.lab.rebalance(there[0]["InstanceId"])

    eventually(lambda: bool(scene.controller.said("recorded interruption message")), scene.summary)
    eventually(lambda: waiting(scene) == 0, "the message was not deleted")
    # Their tags may still be on their way.
    assert [one["InstanceId"] for one in scene.instances()] == [one["InstanceId"] for one in there]
    assert not scene.controller.said("initiating delete")


@pytest.mark.parametrize("name", ANNOUNCEMENTS)
def test_what_ec2_announces_has_the_node_replaced(scene: Scene, name: str) -> None:
    chosen = ANNOUNCEMENTS[name]
    [old] = scene.instances()
    [node] = scene.cluster.nodes()
    [claim] = scene.cluster.claims()
    uids = {pod["metadata"]["uid"] for pod in scene.cluster.pods()}
    bought = len(scene.bought())
    cordoned: list[dict[str, Any]] = []

    chosen.announce(scene.lab, old["InstanceId"])

    def replaced() -> bool:
        cordoned.extend(
            taint
            for one in scene.cluster.nodes()
            for taint in one["spec"].get("taints", ())
            if one["metadata"]["uid"] == node["metadata"]["uid"] and taint["key"] == "karpenter.sh/disrupted"
        )
        pods = scene.cluster.pods()
        moved = not uids & {pod["metadata"]["uid"] for pod in pods}
        return moved and scene.cluster.running() == PODS and len(scene.cluster.claims()) == 1

    eventually(replaced, scene.summary, within=120)
    # Cordoned, so that nobody came to it; drained; and its machine and its objects gone.
    assert cordoned
    assert state_of(scene, old["InstanceId"]) == "terminated"
    assert len(scene.bought()) == bought + 1
    [new] = scene.cluster.nodes()
    assert {pod["spec"]["nodeName"] for pod in scene.cluster.pods()} == {new["metadata"]["name"]}
    expect_spot_nodes(scene)
    # It is told to those who look, and in the log.
    assert chosen.reason in {reason for reason, _ in scene.cluster.events(claim["metadata"]["name"])}
    told = scene.controller.said("initiating delete from interruption message")[-1]
    assert (told["nodeclaim"], told["cause"]) == (claim["metadata"]["name"], chosen.cause)
    eventually(lambda: waiting(scene) == 0, "the message was not deleted")
    # Its trace leads to the decision that replaced it, whose machine was there before the pods left.
    ended = scene.controller.said("deleted node")[-1]
    assert ended["cause"] == chosen.cause
    spans = stored(scene, ended["trace_id"], *ending(scene))
    expect_whole(scene, spans)
    decision = scene.controller.said("decided on pods")[-1]
    assert decision["nodeclaims"] == 1
    assert decision["trace_id"] in {trace_id for span in spans for trace_id, _ in span.links}, tree(spans)
    if chosen.replaced_first:
        came = min(time_of(pod["metadata"]["creationTimestamp"]) for pod in scene.cluster.pods())
        ready = next(c for c in new["status"]["conditions"] if c["type"] == "Ready")
        assert time_of(ready["lastTransitionTime"]) <= came
