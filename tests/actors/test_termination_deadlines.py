from __future__ import annotations

from datetime import timedelta

import pytest

from tests.actors.ending import Ending, budget, moved
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import UnavailableError

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}


def test_what_is_left_shortly_before_the_deadline_is_deleted() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)
    stage.pod("web", labels={"app": "web"})
    budget(stage, allowed=0)

    stage.interrupt(seconds=120)
    stage.run(79)
    assert not [c for c in moved(stage) if c.startswith("delete_pod")]
    stage.run(3)

    deleted = [c for c in moved(stage) if c.startswith("delete_pod")]
    assert deleted == ["delete_pod safe 30", "delete_pod web 30"]
    said = [e for e in (record.event for record in stage.api.events()) if e.about.kind == "Pod"]
    assert [(e.about.name, e.reason, e.warning) for e in said] == [
        ("safe", "Disrupted", False),
        ("web", "Disrupted", False),
    ]
    assert [line["cause"] for line in stage.logged("deleting pod as time is up")] == ["spot_interrupted"] * 2
    stage.run(40)
    stage.assert_all_gone()
    (drain,) = stage.spans("drain")
    assert drain.attributes["treenail.pods.hurried"] == 2


def test_what_is_left_stays_protected_where_the_user_chose_so() -> None:
    stage = Ending(forced=False)
    stage.pod("safe", annotations=PROTECTED)

    stage.interrupt(seconds=120)
    stage.run(300)

    assert moved(stage) == []


def test_a_restart_knows_when_the_machine_goes() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)
    stage.interrupt(seconds=120)
    stage.run(40)

    stage.restart()
    stage.run(38)
    assert moved(stage) == []
    stage.run(6)

    assert [c.split()[:2] for c in moved(stage)] == [["delete_pod", "safe"]]


def test_a_restart_knows_it_too_where_the_node_was_on_its_way_out_already() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)
    stage.api.delete("NodeClaim", "c1")
    stage.run(20)
    stage.api.troubles.fail("patch_claim", UnavailableError("no answer"), times=2)
    stage.interrupt(seconds=120)
    stage.interrupt(seconds=100)
    stage.run(40)

    stage.restart()
    stage.run(18)
    assert moved(stage) == []
    stage.run(6)

    assert [c.split()[:2] for c in moved(stage)] == [["delete_pod", "safe"]]


def test_of_several_notices_the_sooner_end_holds() -> None:
    stage = Ending()
    stage.interrupt(seconds=120)
    stage.interrupt(seconds=None, cause=Cause.INSTANCE_STOPPED)

    stage.run(3)

    claim = stage.claim()
    assert claim is not None
    assert claim.annotations[labels.CAUSE] == "spot_interrupted"
    assert labels.ENDS_AT in claim.annotations


@pytest.mark.parametrize(("kind", "name"), [("NodeClaim", "c1"), ("Node", "node-c1")])
def test_a_claims_grace_period_ends_a_drain_that_a_user_began(kind: str, name: str) -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=100))
    stage.pod("safe", annotations=PROTECTED)

    stage.api.delete(kind, name)
    stage.run(68)
    assert moved(stage) == []
    stage.run(40)

    assert len(moved(stage)) == 1
    stage.assert_all_gone()


def test_a_claims_grace_period_ends_a_drain_that_we_began() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=100))
    stage.pod("safe", annotations=PROTECTED)

    stage.disrupt(Cause.DELETED)
    stage.run(110)

    stage.assert_all_gone()


def test_the_earlier_of_two_deadlines_holds() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=100))
    stage.pod("safe", annotations=PROTECTED)
    stage.api.delete("NodeClaim", "c1")
    stage.run(5)

    stage.interrupt(seconds=40)
    stage.run(45)
    stage.assert_all_gone()


def test_a_later_deadline_does_not_put_off_an_earlier_one() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=1000))
    stage.pod("safe", annotations=PROTECTED)

    stage.interrupt(seconds=60)
    stage.interrupt(seconds=None)
    stage.run(70)

    stage.assert_all_gone()


def test_a_grace_period_goes_on_after_a_restart() -> None:
    stage = Ending(termination_grace_period=timedelta(seconds=100))
    stage.pod("safe", annotations=PROTECTED)
    stage.api.delete("NodeClaim", "c1")
    stage.run(50)

    stage.restart()
    stage.run(65)

    stage.assert_all_gone()


def test_without_a_deadline_a_protected_pod_is_waited_for() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)

    stage.api.delete("NodeClaim", "c1")
    stage.run(3600)

    assert stage.told() == ["NodeCordoned"]
    assert len(stage.cloud.bought) == 1
