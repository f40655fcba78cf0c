from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at, bound_pod, decision, planned_claim
from treenail.domain.cluster.consolidating import ConsolidationPlanned
from treenail.domain.cluster.planning import Consolidation, PlanDecided, Snapshot
from treenail.domain.disruption.disruption import DisruptionProposed
from treenail.domain.disruption.move_proposals import ProposedMoves, proposal_of
from treenail.domain.model.causes import Cause
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move

TEN_MINUTES = timedelta(minutes=10)
BOTH, SECOND = Move(removed=("c1", "c2")), Move(removed=("c3",))


def due(proposed: ProposedMoves, seconds: float, *moves: Move) -> list[int]:
    """Return the numbers of the moves that may be proposed so many seconds after the start."""
    return [index for index, _ in proposed.due(moves or (BOTH, SECOND), at(seconds))]


def refused_at(*seconds: float) -> ProposedMoves:
    proposed = ProposedMoves(max)
    for one in seconds:
        proposed.refuse(("c1",), at(one))
    return proposed


def test_moves_of_which_nothing_is_known_may_be_proposed() -> None:
    assert due(ProposedMoves(max), 0) == [0, 1]


def test_what_is_proposed_is_not_proposed_again_within_a_minute() -> None:
    proposed = ProposedMoves(max)

    proposed.propose(BOTH.removed, START)

    assert due(proposed, 59.9) == [1]
    assert due(proposed, 60) == [0, 1]


def test_a_refused_move_is_not_proposed_again_at_once() -> None:
    proposed = refused_at(0)

    assert due(proposed, 9.9) == [1]
    assert due(proposed, 10) == [0, 1]


def test_a_move_is_refused_with_any_one_of_its_nodes() -> None:
    proposed = ProposedMoves(max)

    proposed.refuse(("c2",), START)

    assert due(proposed, 9.9) == [1]
    assert due(proposed, 9.9, Move(removed=("c1",)), Move(removed=("c2", "c9"))) == [0]


def test_a_refusal_ends_the_minute_in_which_nothing_was_heard_of_a_proposal() -> None:
    proposed = ProposedMoves(max)
    proposed.propose(BOTH.removed, START)

    proposed.refuse(BOTH.removed, at(1))

    assert due(proposed, 11) == [0, 1]


def test_the_pause_doubles_with_each_refusal_up_to_ten_minutes() -> None:
    proposed, now, pauses = ProposedMoves(max), START, []
    for _ in range(20):
        proposed.refuse(("c1",), now)
        again = proposed.next_due(now)
        assert again is not None
        pauses.append((again - now).total_seconds())
        now = again
        assert list(proposed.due((BOTH,), now)) == [(0, BOTH)]

    assert pauses == [10, 20, 40, 80, 160, 320, *[600] * 14]


def test_a_node_whose_last_refusal_is_long_past_begins_with_a_short_pause_again() -> None:
    proposed = refused_at(0, 10, 30)
    assert due(proposed, 69, BOTH) == []

    assert due(proposed, 70 + 601, BOTH) == [0]
    proposed.refuse(("c1",), at(671))

    assert due(proposed, 681, BOTH) == [0]


def test_a_node_that_was_refused_lately_does_not_begin_anew() -> None:
    proposed = refused_at(0, 10, 30)

    assert due(proposed, 70 + 600, BOTH) == [0]
    proposed.refuse(("c1",), at(670))

    assert due(proposed, 670 + 79, BOTH) == []
    assert due(proposed, 670 + 80, BOTH) == [0]


def test_the_pause_doubles_though_each_move_goes_on_for_an_hour_before_it_is_withdrawn() -> None:
    proposed, now, pauses = ProposedMoves(max), START, []
    for _ in range(7):
        proposed.propose(("c1",), now)
        for _ in range(12):
            now += timedelta(minutes=5)
            list(proposed.due((BOTH,), now))
        proposed.withdraw(("c1",), now)
        again = proposed.next_due(now)
        assert again is not None
        pauses.append((again - now).total_seconds())
        now = again

    assert pauses == [120, 240, 480, 960, 1920, 3600, 3600]


def test_the_next_one_is_due_when_the_first_of_them_is() -> None:
    proposed = refused_at(0)
    proposed.propose(("c3",), START)

    assert proposed.next_due(START) == at(10)
    assert proposed.next_due(at(10)) == at(60)
    assert proposed.next_due(at(60)) is None


@given(st.lists(st.floats(min_value=0, max_value=2_000), min_size=1, max_size=30))
def test_after_whatever_refusals_a_move_waits_ten_seconds_at_least_and_ten_minutes_at_most(
    waits: Sequence[float],
) -> None:
    proposed, now = ProposedMoves(max), START
    for wait in waits:
        now += timedelta(seconds=wait)
        list(proposed.due((BOTH,), now))
        proposed.refuse(("c1",), now)
        assert not list(proposed.due((BOTH,), now + timedelta(seconds=9)))
        assert list(proposed.due((BOTH,), now + TEN_MINUTES)) == [(0, BOTH)]


# --- the proposal of a move

TO_NODE, TO_CLAIM, OTHER = (bound_pod(uid, "node-c1") for uid in ("p1", "p2", "p3"))
SNAPSHOT = Snapshot(
    revision=7,
    taken_at=at(1),
    pods=(TO_NODE, TO_CLAIM, OTHER),
    existing_nodes=(),
    pools=(),
    node_classes={},
    daemons=(),
    limits_left={},
)
DEAR = replace(planned_claim("p2"), price=0.1, surcharge=0.03)
MOVE = Move(removed=("c1", "c2"), nominations={"p1": "c9"}, claims=(DEAR,), saves=0.5, after=(0, 2))


def proposed_move(move: Move = MOVE) -> tuple[DisruptionProposed, PlanDecided]:
    found = ConsolidationPlanned(
        decision=decision("pass"),
        snapshot=SNAPSHOT,
        consolidation=Consolidation(candidates=()),
        plan=ConsolidationPlan(moves=(move,)),
        considered=("default",),
        selected_at=at(2),
        packed_at=at(3),
    )
    proposal = proposal_of(found, 3, move)
    assert proposal.planned is not None
    return proposal, proposal.planned


def test_all_nodes_of_a_move_go_or_none_and_only_once_their_pods_have_places() -> None:
    proposal, planned = proposed_move()

    assert proposal.together
    assert proposal.replaced_first
    assert not proposal.forceful
    assert (proposal.pool, proposal.candidates, proposal.cause) == ("", ("c1", "c2"), Cause.UNDERUTILIZED)
    assert planned.removed == ("c1", "c2")


def test_a_proposal_brings_the_places_of_its_own_pods_and_of_no_others() -> None:
    _, planned = proposed_move()

    assert planned.snapshot == replace(SNAPSHOT, pods=(TO_NODE, TO_CLAIM))
    assert planned.plan.nominations == {"p1": "c9"}
    assert planned.plan.claims == (DEAR,)
    assert planned.decision.pods == 2


def test_a_proposal_says_what_is_bought_for_it_and_what_it_saves() -> None:
    _, planned = proposed_move()

    assert planned.plan.cost == pytest.approx(0.1)
    assert planned.plan.whole_cost == pytest.approx(0.13)
    assert planned.saves == 0.5


def test_the_moves_of_a_pass_are_known_by_its_name_and_their_number() -> None:
    _, planned = proposed_move()

    assert planned.decision.id == "pass-3"
    assert planned.after == ("pass-0", "pass-2")


def test_a_move_that_did_not_work_out_is_made_again_after_two_minutes_and_then_up_to_an_hour() -> None:
    proposed, now, pauses = ProposedMoves(max), START, []
    for _ in range(8):
        proposed.propose(BOTH.removed, now)
        proposed.withdraw(BOTH.removed, now)
        again = proposed.next_due(now)
        assert again is not None
        pauses.append((again - now).total_seconds())
        now = again
        assert list(proposed.due((BOTH,), now)) == [(0, BOTH)]

    assert pauses == [120, 240, 480, 960, 1920, 3600, 3600, 3600]
