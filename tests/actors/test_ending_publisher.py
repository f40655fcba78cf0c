"""What people read beside nodes, claims and pods while a node ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.actors.ending import Ending
from tests.builders import claim, spec
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector, Owner, PodVolume
from treenail.domain.model.storage import PersistentVolume, PersistentVolumeClaim

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}


def told(stage: Ending, reason: str) -> list[tuple[str, str, bool]]:
    """Return (whom, what, whether a warning) of the events of a reason, in order."""
    events = [record.event for record in stage.api.events()]
    return [(str(e.about), e.message, e.warning) for e in events if e.reason == reason]


def says(stage: Ending) -> dict[str, tuple[str, str]]:
    """Return what the claim says of its end: by condition, its status and reason."""
    claim = stage.claim()
    assert claim is not None
    of_life = ("Launched", "Registered", "Initialized")
    return {c.type: (c.status.value, c.reason) for c in claim.conditions if c.type not in of_life}


def watched(stage: Ending, seconds: int) -> list[dict[str, tuple[str, str]]]:
    """Return what the claim says, second by second until it is gone, each state once."""
    seen: list[dict[str, tuple[str, str]]] = []
    for _ in range(seconds):
        stage.run(1)
        if stage.claim() is None:
            break
        if not seen or says(stage) != seen[-1]:
            seen.append(says(stage))
    return seen


def budget(stage: Ending, allowed: int) -> None:
    web = LabelSelector(match_labels=(("app", "web"),))
    stage.api.apply(PodDisruptionBudget(name="web", selector=web, max_unavailable=Portion(allowed)))


def test_a_pod_is_told_that_it_was_evicted_and_why() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    assert told(stage, "Evicted") == [("Pod default/p1", "Evicted pod: Forceful Termination", False)]


def test_a_pod_on_a_drifted_node_is_told_so() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.disrupt(Cause.DRIFTED)
    stage.decide()
    stage.run(60)

    assert told(stage, "Evicted") == [("Pod default/p1", "Evicted pod: Drifted", False)]


def test_a_budget_that_holds_up_a_drain_is_told_once_in_two_minutes() -> None:
    stage = Ending()
    stage.pod("p1", labels={"app": "web"})
    budget(stage, allowed=0)

    stage.api.delete("NodeClaim", "c1")
    stage.run(100)

    [(whom, message, warning)] = told(stage, "FailedDraining")
    assert (whom, warning) == ("Node node-c1", True)
    assert message.startswith("Failed to drain node, pod default/p1: ")
    stage.run(120)
    [record] = [r for r in stage.api.events() if r.event.reason == "FailedDraining"]
    assert record.count == 2


def test_pods_that_nobody_may_evict_are_named() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    [(whom, message, warning)] = told(stage, "FailedDraining")
    assert (whom, warning) == ("Node node-c1", True)
    assert message == (
        "Failed to drain node, 1 pods are waiting to be evicted and have karpenter.sh/do-not-disrupt: "
        "default/safe"
    )


def test_a_pod_whose_time_is_up_is_told_until_when_and_how_long_it_had() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=60))
    stage.pod("safe", annotations=PROTECTED, spec=spec(grace_seconds=45))

    stage.api.delete("NodeClaim", "c1")
    stage.run(200)

    end = "2026-01-01T00:02:30Z"
    [(whom, message, warning)] = told(stage, "Disrupted")
    assert (whom, warning) == ("Pod default/safe", False)
    assert message.startswith(f"Deleted for the termination time {end} of the node (deleted), with 4")
    assert " of its 45 seconds of grace" in message
    expiring = (f"All pods will be deleted by {end}", True)
    assert told(stage, "TerminationGracePeriodExpiring") == [
        ("Node node-c1", *expiring),
        ("NodeClaim c1", *expiring),
    ]


def test_a_claim_says_until_when_its_node_may_take() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=60))
    stage.pod("safe", annotations=PROTECTED)

    stage.api.delete("NodeClaim", "c1")
    stage.run(20)

    (claim,) = stage.api.claims()
    assert claim.annotations[labels.TERMINATION_TIMESTAMP] == "2026-01-01T00:02:30Z"
    assert stage.api.troubles.calls.count("patch_claim c1") == 1


def test_where_there_is_no_pod_to_lose_nobody_is_warned_of_the_end() -> None:
    hour = timedelta(hours=1)
    stage = Ending(termination_grace_period=hour)
    stage.pod("log", owners=(Owner(kind="DaemonSet", name="log", uid="log"),))
    held = (labels.TERMINATION_FINALIZER,)
    stage.api.apply(replace(claim("c2"), uid="", finalizers=held, termination_grace_period=hour))
    stage.run(1)

    stage.api.delete("NodeClaim", "c1")
    stage.api.delete("NodeClaim", "c2")
    stage.run(60)

    assert stage.api.claims() == ()
    assert told(stage, "TerminationGracePeriodExpiring") == []


def test_without_a_termination_grace_period_nothing_expires() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    assert told(stage, "TerminationGracePeriodExpiring") == []


def with_volume(detach: float, **of_claim: Any) -> Ending:
    stage = Ending(settings=ClusterSettings(detach=(detach, detach)), **of_claim)
    stage.api.apply(
        PersistentVolume(name="pv-data", driver="ebs.csi.aws.com", handle="vol-1"),
        PersistentVolumeClaim(name="data", volume_name="pv-data", bound=True),
    )
    stage.pod("p1", spec=spec(volumes=(PodVolume(name="data", claim_name="data"),)))
    stage.run(3)
    return stage


def test_volumes_that_an_end_waits_for_are_named() -> None:
    stage = with_volume(30)

    stage.api.delete("NodeClaim", "c1")
    seen = watched(stage, 120)

    message = "Awaiting deletion of bound volumeattachments (pv-data)"
    assert told(stage, "AwaitingVolumeDetachment") == [("Node node-c1", message, False)]
    assert seen == [
        {},
        {"Drained": ("Unknown", "Draining")},
        {
            "Drained": ("Unknown", "Draining"),
            "VolumesDetached": ("Unknown", "AwaitingVolumeDetachment"),
        },
        {
            "Drained": ("True", "Drained"),
            "VolumesDetached": ("True", "VolumesDetached"),
            "InstanceTerminating": ("True", "InstanceTerminating"),
        },
    ]


def test_volumes_that_stay_attached_are_told_when_time_is_up() -> None:
    stage = with_volume(600, termination_grace_period=timedelta(seconds=60))

    stage.api.delete("NodeClaim", "c1")
    seen = watched(stage, 120)

    assert seen[-1]["VolumesDetached"] == ("False", "TerminationGracePeriodElapsed")
    assert seen[-1]["Drained"] == ("True", "Drained")


@pytest.mark.parametrize(("cause", "reason"), [(Cause.EMPTY, "Empty"), (Cause.DRIFTED, "Drifted")])
def test_a_claim_that_we_chose_to_give_up_says_why(cause: Cause, reason: str) -> None:
    stage = Ending()

    stage.disrupt(cause)
    seen = watched(stage, 60)

    assert seen[-1]["DisruptionReason"] == ("True", reason)
    assert seen[-1]["InstanceTerminating"] == ("True", "InstanceTerminating")


def test_where_ec2_takes_the_machine_only_the_end_is_said() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt()
    seen = watched(stage, 60)

    assert [sorted(said) for said in seen] == [[], ["Drained", "InstanceTerminating", "VolumesDetached"]]


def test_a_machine_says_nothing_of_its_end() -> None:
    stage = Ending(generation=Generation.V1ALPHA5)

    stage.disrupt()

    assert watched(stage, 60) == [{}]
