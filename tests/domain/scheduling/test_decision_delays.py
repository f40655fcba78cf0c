from __future__ import annotations

from tests.builders import at, decision, pending_pod
from treenail.domain.model.causes import Cause
from treenail.domain.scheduling.decision_delays import DecisionDelays


def test_a_pod_that_lost_its_node_was_delayed_by_that_until_its_next_decision() -> None:
    delays, waiting = DecisionDelays(), pending_pod("p1")

    delays.failed(("p1",), {"p1"}, Cause.LAUNCH_FAILED, "no answer", at(5))

    (event,) = delays.events(decision(), [waiting], at(9))
    assert event.attributes["treenail.delay.cause"] == "claim_failed"


def test_nothing_is_kept_of_pods_that_are_not_there_when_their_node_is_lost() -> None:
    delays = DecisionDelays()

    delays.failed(("expected/1", "gone"), {"p1"}, Cause.LAUNCH_FAILED, "no answer", at(5))

    assert delays.events(decision(), [pending_pod("expected/1"), pending_pod("gone")], at(9)) == ()
