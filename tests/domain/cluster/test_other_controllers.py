from __future__ import annotations

from datetime import timedelta

from tests.builders import START, bound_pod, claim
from treenail.domain.cluster.other_controllers import OtherControllers, OtherControllerSeen
from treenail.domain.model import labels
from treenail.domain.model.claims import DECISION

LATER = START + timedelta(minutes=3)
THEIRS = claim("theirs", annotations={DECISION: "theirs"})


def running() -> OtherControllers:
    others = OtherControllers()
    others.decided("ours")
    others.complete(START)
    return others


def test_a_new_claim_of_a_decision_not_made_here_is_another_controllers() -> None:
    assert running().find(THEIRS, LATER, known=False) == OtherControllerSeen(claim=THEIRS)


def test_nothing_else_is() -> None:
    others = running()
    ours = claim("ours", annotations={DECISION: "ours"})
    restored = claim("old", annotations={DECISION: "old", labels.LAUNCH: "t/0/d"})

    for thing in (ours, restored, claim("somebodys"), bound_pod("p", "n")):
        assert others.find(thing, LATER, known=False) is None
    assert others.find(THEIRS, LATER, known=True) is None


def test_what_the_process_before_had_under_way_is_none() -> None:
    assert running().find(THEIRS, START + timedelta(seconds=119), known=False) is None
    assert OtherControllers().find(THEIRS, LATER, known=False) is None
