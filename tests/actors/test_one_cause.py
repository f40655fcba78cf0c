"""An end has one cause, whoever else would have ended the node: the one that its claim says."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.actors.ending import Ending
from treenail.domain.disruption.disruption import ClaimGivenUp, DisruptNodes, NodeInterrupted
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.telemetry.ending_roots import disruption_context
from treenail.domain.termination.drain import InstanceTerminated
from treenail.domain.termination.end_records import end_record


def expect_told_alike(stage: Ending, last: NodeClaim, cause: Cause) -> None:
    """Check that claim, log, event and observer agree on why the node of c1 went."""
    assert [m.cause for m in stage.observer.of(InstanceTerminated)] == [cause]
    assert [line["cause"] for line in stage.logged("deleted node")] == [cause.value]
    (ended,) = {r.event.message for r in stage.api.events() if r.event.reason == "Ended"}
    assert ended.startswith(f"Ended: {cause.value}")
    assert last.annotations[labels.CAUSE] == cause.value
    assert json.loads(last.annotations[labels.END])["cause"] == cause.value


def watched(stage: Ending) -> list[NodeClaim]:
    """Return all that the claim ever says from now on."""
    seen: list[NodeClaim] = []
    stage.api.on_change(lambda c: seen.append(c.after) if isinstance(c.after, NodeClaim) else None)
    return seen


def waiting_for_places(stage: Ending) -> None:
    """Let the node of c1 be marked as drifted, and wait for a new node for its pod."""
    stage.pod("p1")
    there = stage.views.mark_for_disruption("c1")
    order = DisruptNodes(nodes=(there,), cause=Cause.DRIFTED, replaced_first=True, decided_at=stage.now())
    stage.actor.tell(order)
    stage.decide(ready=False)
    stage.run(5)
    assert stage.told() == ["NodeCordoned"]


@pytest.mark.parametrize("kind", ["Node", "NodeClaim"])
@pytest.mark.parametrize("drifted", [False, True])
def test_what_somebody_deletes_was_deleted(kind: str, *, drifted: bool) -> None:
    stage = Ending()
    seen = watched(stage)
    if drifted:
        waiting_for_places(stage)

    stage.api.delete(kind, "c1" if kind == "NodeClaim" else "node-c1")
    stage.run(60)

    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.DELETED)


def test_what_was_garbage_was_that() -> None:
    stage = Ending()
    seen = watched(stage)
    waiting_for_places(stage)
    claim = stage.claim()
    assert claim is not None

    record = end_record(claim, Cause.GARBAGE_COLLECTED, disruption_context(claim))
    stage.api.patch_claim("c1", ClaimPatch(annotations=record.annotations()))
    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.GARBAGE_COLLECTED)


@pytest.mark.parametrize("first", ["garbage", "warning"])
def test_where_garbage_and_a_warning_meet_the_one_that_came_first_is_told_by_all(first: str) -> None:
    stage = Ending()
    seen = watched(stage)
    stage.cloud.bought.clear()
    garbage = ClaimGivenUp(name="c1", cause=Cause.GARBAGE_COLLECTED, actor="NodeLifecycle")

    if first == "garbage":
        stage.actor.tell(garbage)
        stage.interrupt()
    else:
        stage.interrupt()
        stage.actor.tell(garbage)
    stage.run(60)

    stage.assert_all_gone()
    cause = Cause.GARBAGE_COLLECTED if first == "garbage" else Cause.SPOT_INTERRUPTED
    expect_told_alike(stage, seen[-1], cause)
    disrupted = "karpenter_nodeclaims_disrupted_total"
    assert stage.telemetry.counted(disrupted) == stage.telemetry.counted(disrupted, reason=cause.value) == 1
    reasons = [r.event.reason for r in stage.api.events()]
    assert reasons.count("SpotInterrupted") == 2  # what EC2 said, of the node and its claim
    assert reasons.count("TerminatingOnInterruption") == (0 if first == "garbage" else 2)


def test_a_node_that_waits_to_be_replaced_goes_for_garbage_when_its_machine_is_gone() -> None:
    stage = Ending()
    seen = watched(stage)
    waiting_for_places(stage)

    stage.actor.tell(ClaimGivenUp(name="c1", cause=Cause.GARBAGE_COLLECTED, actor="NodeLifecycle"))
    stage.run(60)

    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.GARBAGE_COLLECTED)


def test_who_gave_a_claim_up_is_told_as_well() -> None:
    stage = Ending()
    seen = watched(stage)

    stage.actor.tell(ClaimGivenUp(name="c1", cause=Cause.EXPIRED, actor="NodeLifecycle"))
    stage.run(2)
    stage.restart()
    stage.run(60)

    expect_told_alike(stage, seen[-1], Cause.EXPIRED)
    said = json.loads(seen[-1].annotations[labels.END])
    assert (said["actor"], said["method"]) == ("NodeLifecycle", "expiration")
    (ended,) = {r.event.message for r in stage.api.events() if r.event.reason == "Ended"}
    assert ended.startswith("Ended: expired, by expiration of NodeLifecycle")


# --- warned on its way out


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (Cause.SPOT_INTERRUPTED, "SpotInterrupted"),
        (Cause.SCHEDULED_CHANGE, "InstanceUnhealthy"),
        (Cause.INSTANCE_STOPPED, "InstanceStopping"),
    ],
)
def test_people_see_what_ec2_warns_of_a_node_that_goes_already(cause: Cause, reason: str) -> None:
    stage = Ending()
    stage.pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})
    stage.disrupt(Cause.DRIFTED)
    stage.run(10)

    for _ in range(3):
        stage.interrupt(seconds=None, cause=cause)
        stage.run(150)

    about = [(r.event.about.kind, r.event.reason) for r in stage.api.events() if r.event.warning]
    assert [e for e in about if e[1] == reason] == [("Node", reason), ("NodeClaim", reason)]
    assert not [e for e in about if e[1] == "TerminatingOnInterruption"]  # it goes for the drift


def test_two_warnings_under_one_reason_are_both_told() -> None:
    stage = Ending()
    stage.pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})

    stage.interrupt(seconds=None, cause=Cause.SCHEDULED_CHANGE)
    stage.run(5)
    stage.interrupt(seconds=600, cause=Cause.EVENT_STATUS)
    stage.run(5)

    said = [r.event.message for r in stage.api.events() if r.event.reason == "InstanceUnhealthy"]
    assert said == [
        *["AWS Health announced a change of the instance"] * 2,
        *["EC2 has planned an event of the instance"] * 2,
    ]


def test_that_an_instance_stops_which_we_terminated_is_no_news() -> None:
    stage = Ending()
    stage.cloud.lingers = True
    stage.disrupt()
    stage.run(10)
    assert stage.told()[-1] == "NodeDrained"

    stage.interrupt(seconds=None, cause=Cause.INSTANCE_TERMINATED)
    stage.cloud.ending.clear()
    stage.run(60)

    stage.assert_all_gone()
    assert "InstanceTerminating" not in [r.event.reason for r in stage.api.events() if r.event.warning]


def test_a_node_that_waits_to_be_replaced_goes_at_once_when_it_is_warned_of() -> None:
    stage = Ending()
    seen = watched(stage)
    waiting_for_places(stage)

    ends_at = stage.now() + timedelta(seconds=120)
    notice = NodeInterrupted(
        name="c1",
        instance_id="i-c1",
        cause=Cause.SPOT_INTERRUPTED,
        noticed_at=stage.now(),
        deadline=ends_at,
    )
    stage.actor.tell(notice)
    stage.run(2)

    claim = stage.claim()
    assert claim is not None
    assert claim.leaving
    assert claim.annotations[labels.ENDS_AT] == ends_at.isoformat()
    stage.run(120)
    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.SPOT_INTERRUPTED)
