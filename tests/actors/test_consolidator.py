from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.consolidating import ABOUT, FIRST, SECOND, Consolidating, looked_at
from treenail.domain.cluster.consolidating import ConsolidationWanted, MoveWithdrawn
from treenail.domain.cluster.planning import Consolidation
from treenail.domain.disruption.disruption import DisruptionProposed, DisruptionRefused
from treenail.domain.model.blockers import Block
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.packing.consolidation.consolidation_plan import StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.state_metrics import DISRUPTION_ELIGIBLE_NODES

# --- when it asks


def test_a_pass_is_asked_for_ten_seconds_after_the_start_and_any_decision_may_end_it() -> None:
    stage = Consolidating()

    wanted = stage.asked()

    assert stage.times == [10]
    assert wanted == ConsolidationWanted(fruitless=None, urgent_only=False)


def test_it_does_not_ask_again_while_it_waits_for_the_answer() -> None:
    stage = Consolidating()
    stage.asked()

    stage.run(299)

    assert stage.times == [10]


def test_a_request_that_nobody_answers_is_asked_again_after_five_minutes() -> None:
    stage = Consolidating()

    stage.run(1_000)

    assert stage.times == [10, 310, 610, 910]


@pytest.mark.parametrize("consolidation", [None, looked_at()], ids=["busy", "nothing new"])
def test_a_pass_that_is_postponed_is_asked_for_ten_seconds_later(consolidation: Consolidation | None) -> None:
    stage = Consolidating()
    stage.asked()

    for _ in range(3):
        stage.postpone(consolidation)
        assert stage.waited() == 10


def test_after_a_plan_the_next_pass_is_asked_for_ten_seconds_later() -> None:
    stage = Consolidating()
    stage.asked()

    stage.answer(FIRST)

    assert stage.waited() == 10


def test_the_pause_doubles_with_each_pass_that_is_given_up_up_to_five_minutes() -> None:
    stage = Consolidating()
    stage.asked()
    pauses = []

    for _ in range(14):
        stage.give_up()
        pauses.append(stage.waited())

    assert pauses == [10, 20, 40, 80, 160, *[300] * 9]


def test_after_three_passes_that_were_given_up_only_an_urgent_decision_may_end_the_next() -> None:
    stage = Consolidating()
    urgent_only = [stage.asked().urgent_only]

    for _ in range(4):
        stage.give_up()
        urgent_only.append(stage.asked().urgent_only)

    assert urgent_only == [False, False, False, True, True]


def test_a_pass_that_is_made_lets_any_decision_end_the_next_and_the_pauses_begin_anew() -> None:
    stage = Consolidating()
    stage.asked()
    for _ in range(3):
        stage.give_up()
        stage.asked()

    stage.answer(FIRST)
    assert not stage.asked().urgent_only

    stage.give_up()
    assert stage.waited() == 10


# --- states that give nothing


def test_a_state_without_moves_is_named_so_that_it_is_not_planned_again_for_five_minutes() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(state="s1")
    began = stage.seconds

    named = []
    while stage.seconds < began + 400:
        named.append((stage.asked().fruitless, stage.times[-1] - began))
        stage.postpone()

    assert [state for state, at in named if at < 300] == ["s1"] * 29
    assert {state for state, at in named if at >= 300} == {None}


def test_a_state_that_gives_nothing_again_and_again_is_planned_after_longer_and_longer_pauses() -> None:
    stage = Consolidating()
    stage.asked()
    pauses = []
    for state in ("s1",) * 5 + ("s2",) * 2:
        stage.answer(state=state)
        began = stage.seconds
        while stage.asked().fruitless is not None:
            stage.postpone()
        pauses.append((stage.times[-1] - began) / 60)

    assert pauses == [5, 10, 20, 30, 30, 5, 10]


def test_a_search_that_was_cut_short_is_made_again_after_five_minutes_however_often_it_found_nothing() -> (
    None
):
    stage = Consolidating()
    stage.asked()
    pauses = []
    for cut_short in (False, False, True, True, False):
        stage.answer(cut_short=cut_short)
        began = stage.seconds
        while stage.asked().fruitless is not None:
            stage.postpone()
        pauses.append((stage.times[-1] - began) / 60)

    assert pauses == [5, 10, 5, 5, 10]


def test_another_state_without_moves_takes_the_place_of_the_one_before() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(state="s1")
    stage.asked()

    stage.answer(state="s2")

    assert stage.asked().fruitless == "s2"


def test_a_state_with_moves_may_be_planned_again() -> None:
    stage = Consolidating()
    stage.asked()

    stage.answer(FIRST)

    assert stage.asked().fruitless is None


def test_a_pass_that_was_given_up_says_nothing_of_the_state() -> None:
    stage = Consolidating()
    stage.asked()

    stage.give_up()

    assert stage.asked().fruitless is None


# --- what it proposes


def test_the_moves_of_a_plan_are_proposed_in_its_order_all_nodes_of_each_or_none() -> None:
    stage = Consolidating()
    stage.asked()

    stage.answer(FIRST, SECOND)

    assert stage.proposed() == [("c1", "c2"), ("c3",)]
    proposals = stage.cluster.of(DisruptionProposed)
    assert all(one.together for one in proposals)
    assert [one.planned.decision.id for one in proposals if one.planned] == ["pass1-0", "pass1-1"]


def test_a_pass_that_was_given_up_proposes_nothing() -> None:
    stage = Consolidating()
    stage.asked()

    stage.give_up()

    assert stage.proposed() == []


def test_what_is_proposed_is_not_proposed_again_within_a_minute_and_is_after() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)
    began = stage.seconds

    while stage.seconds < began + 59:
        assert len(stage.proposed()) == 1
        stage.asked()
        stage.answer(FIRST)

    assert stage.proposed() == [FIRST.removed] * 2
    assert stage.seconds == began + 60


def test_a_refused_move_is_not_proposed_again_at_once() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)
    stage.refuse(FIRST)
    stage.refuse(FIRST)

    stage.asked()
    stage.answer(FIRST, SECOND)
    assert stage.proposed() == [FIRST.removed, SECOND.removed]

    stage.asked()
    stage.answer(FIRST)
    assert stage.proposed() == [FIRST.removed, SECOND.removed, FIRST.removed]


def test_the_number_of_a_move_is_that_of_its_plan_also_where_earlier_ones_may_not_be_proposed() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)
    stage.asked()

    stage.answer(FIRST, SECOND)

    (_, proposal) = stage.cluster.of(DisruptionProposed)
    assert proposal.planned is not None
    assert proposal.planned.decision.id == "pass2-1"


@pytest.mark.parametrize(("refusals", "until"), [(4, 80), (8, 300)])
def test_a_state_none_of_whose_moves_may_be_proposed_is_named_until_one_may_and_five_minutes_at_most(
    refusals: int, until: float
) -> None:
    stage = Consolidating()
    stage.asked()
    for _ in range(refusals):
        stage.refuse(FIRST)
    stage.answer(FIRST)
    began = stage.seconds

    named = []
    while stage.seconds - began < until + 10:
        named.append((stage.asked().fruitless, stage.times[-1] - began))
        stage.postpone()

    assert [at for _, at in named][:3] == [10, 20, 30]
    assert {state for state, at in named if at < until} == {"s1"}
    assert {state for state, at in named if at >= until} == {None}
    assert stage.proposed() == []


def test_while_what_becomes_of_a_proposal_is_not_known_its_state_is_not_planned_again() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)
    assert stage.asked().fruitless is None

    stage.answer(FIRST)

    assert stage.waited() == 10
    assert stage.cluster.of(ConsolidationWanted)[-1].fruitless == "s1"


# --- plan mode


def test_in_plan_mode_moves_are_told_and_counted_and_none_is_proposed() -> None:
    stage = Consolidating(acting=False)
    stage.asked()

    stage.answer(FIRST, SECOND)
    stage.run(3_600)

    assert stage.proposed() == []
    assert [line["nodeclaims"] for line in stage.logged("consolidation found")] == [["c1", "c2"], ["c3"]]
    assert stage.logged("deprovisioning via consolidation") == []
    assert stage.telemetry.counted(metrics.CONSOLIDATION_MOVES.name, nodepool="default") == 2
    assert [name for name, _ in stage.events("ConsolidationCandidate")] == ["c1", "c2", "c3"]


def test_in_plan_mode_a_state_is_planned_once_in_five_minutes_whatever_was_found() -> None:
    stage = Consolidating(acting=False)
    stage.asked()

    stage.answer(FIRST)
    assert stage.asked().fruitless == "s1"
    stage.run(300)

    assert stage.asked().fruitless is None


# --- what people are told


def test_nodes_that_budgets_let_go_later_are_used_last_until_a_plan_keeps_them() -> None:
    stage = Consolidating()
    stage.asked()

    stage.answer(FIRST, later=("c3",))
    stage.asked()
    stage.answer(state="s2")

    assert stage.used_last() == [("c3",), ()]


def test_nodes_are_named_as_going_later_before_the_moves_are_proposed_and_only_when_they_change() -> None:
    stage = Consolidating()
    stage.asked()
    told: list[str] = []
    stage.soft_tainter.tell = lambda message: told.append(type(message).__name__)  # type: ignore[method-assign]
    stage.cluster.tell = lambda message: told.append(type(message).__name__)  # type: ignore[method-assign]

    stage.answer(FIRST, later=("c3",))
    stage.answer(FIRST, later=("c3",))

    assert told.index("NodesGoLater") < told.index("DisruptionProposed")
    assert told.count("NodesGoLater") == 1


def test_while_no_pass_is_made_nodes_are_used_last_for_ten_minutes_at_most() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST, later=("c3",))

    for _ in range(59):
        stage.asked()
        stage.postpone(looked_at("s2"))
    kept = stage.used_last()
    for _ in range(3):
        stage.asked()
        stage.postpone(looked_at("s2"))

    assert kept == [("c3",)]
    assert stage.used_last() == [("c3",), ()]


def test_in_plan_mode_no_node_is_used_last() -> None:
    stage = Consolidating(acting=False)
    stage.asked()

    stage.answer(FIRST, later=("c3",))

    assert stage.used_last() == []


def test_people_are_told_of_the_moves_that_are_found_and_why_one_is_refused() -> None:
    stage = Consolidating()
    stage.asked()

    stage.answer(FIRST)
    stage.refuse(FIRST)

    found = "Consolidation candidate: delete: [c1, c2] (savings: $0.50)"
    assert stage.events("ConsolidationCandidate") == [("c1", found), ("c2", found)]
    refused = "Consolidation rejected: delete: [c1, c2], reason: no budget is left (savings: $0.50)"
    assert stage.events("ConsolidationRejected") == [("c1", refused), ("c2", refused)]


def test_a_refused_move_is_counted_by_the_kind_of_what_spoke_against_it() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)

    stage.actor.tell(DisruptionRefused(pool="", candidates=FIRST.removed, why=Block.BUDGET.by("default")))
    stage.run(0)

    assert stage.telemetry.counted(metrics.CONSOLIDATION_REJECTED.name, reason="Budget") == 1


def test_balanced_pools_tell_by_which_score_they_approve_or_reject() -> None:
    balanced = PoolTerms(policy=ConsolidationPolicy.BALANCED, cost=2.0, disruption=10.0)
    stage = Consolidating()
    stage.terms = {"default": balanced}
    stage.asked()
    why = Block.BALANCED.by("default", "0.20, less than 0.50", score=0.2)

    stage.answer(FIRST, staying=(StayingNode(name="c3", why=why),))

    said = "score 1.25 >= threshold 0.50 (k: 2, savings 25.0%, disruption 20.0%)"
    assert stage.events("ConsolidationApproved") == [("c1", said), ("c2", said)]
    labels = {"nodepool": "default", "policy": "Balanced"}
    for decision, score in (("approved", 1.25), ("rejected", 0.2)):
        observed = stage.telemetry.observed(metrics.CONSOLIDATION_SCORE.name, decision=decision, **labels)
        assert observed.count == 1
        assert observed.total == pytest.approx(score)
        assert stage.telemetry.counted(metrics.CONSOLIDATION_MOVES.name, decision=decision, **labels) == 1


def test_the_nodes_that_may_be_consolidated_are_shown() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer()

    stage.postpone(Consolidation(candidates=()))

    assert stage.telemetry.shown(DISRUPTION_ELIGIBLE_NODES.name) == (({"reason": "underutilized"}, 0),)


def test_people_are_told_why_a_move_is_withdrawn() -> None:
    stage = Consolidating()
    stage.asked()

    stage.actor.tell(MoveWithdrawn(names=("c1",), why="no room", saves=0.5, about=ABOUT["c1"]))
    stage.run(0)

    said = "Consolidation withdrawn: [c1], reason: no room (savings: $0.50)"
    assert stage.events("ConsolidationRejected") == [("c1", said)]


def test_a_move_that_is_not_made_to_save_is_approved_by_no_score() -> None:
    stage = Consolidating()
    stage.terms = {"default": PoolTerms(policy=ConsolidationPolicy.BALANCED, cost=2.0, disruption=10.0)}
    stage.asked()

    stage.answer(replace(FIRST, saves=-0.1))

    assert stage.events("ConsolidationApproved") == []


def test_a_refusal_of_what_was_not_proposed_tells_nobody_anything() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(FIRST)

    stage.refuse(SECOND)

    assert stage.events("ConsolidationRejected") == []


def test_why_a_node_stays_is_told_once_in_a_quarter_of_an_hour() -> None:
    stage = Consolidating()
    stage.asked()
    staying = StayingNode(name="c4", why=Block.LEFT_ALONE.by(detail="its pods fit nowhere else"))

    for _ in range(3):
        stage.answer(staying=(staying,))
        stage.postpone(
            looked_at("s1", StayingNode(name="c3", why=Block.LEFT_ALONE.by(detail="a budget keeps it")))
        )

    assert stage.events("Unconsolidatable") == [("c4", "Its pods fit nowhere else")]
    assert stage.events("DisruptionBlocked") == [("c3", "A budget keeps it")]
    assert [one.count for one in stage.api.events()] == [1, 1]
    stage.run(900)
    stage.answer(staying=(staying,))
    stage.run(5)
    assert sum(one.count for one in stage.api.events() if one.event.reason == "Unconsolidatable") == 2


def test_of_a_large_cluster_no_more_than_a_hundred_nodes_are_told_of_at_a_time() -> None:
    stage = Consolidating()
    stage.asked()
    names = [f"n{number}" for number in range(150)]
    many = tuple(StayingNode(name=name, why=Block.LEFT_ALONE.by(detail="it is full")) for name in names)
    about = {name: (ObjectRef("Node", name, uid=name),) for name in names}

    for told in (100, 150):
        stage.postpone(
            Consolidation(
                candidates=(), staying=many, events=dict.fromkeys(names, "DisruptionBlocked"), about=about
            )
        )
        assert len(stage.events("DisruptionBlocked")) == told


@pytest.mark.parametrize("bought", [0, 1])
def test_a_move_that_began_and_was_withdrawn_waits_longer_than_one_that_was_not_made(bought: int) -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(SECOND)
    stage.actor.tell(MoveWithdrawn(names=SECOND.removed, why="no capacity", bought=bought))
    began = stage.seconds

    while len(stage.proposed()) == 1:
        stage.asked()
        stage.answer(SECOND)

    assert 0.8 * 120 <= stage.seconds - began <= 120 + 10


def test_where_a_move_goes_back_to_is_told_with_what_it_saves() -> None:
    stage = Consolidating()
    stage.asked()
    stage.answer(replace(SECOND, back_to=("heavy",), saves=-0.02))

    ((_, message),) = stage.events("ConsolidationCandidate")
    assert message.endswith("(savings: $-0.02, back to NodePool heavy)")
