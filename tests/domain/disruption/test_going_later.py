from __future__ import annotations

from tests.builders import at
from treenail.domain.disruption.going_later import GoingLater
from treenail.domain.model.blockers import Block
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move, StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode

BUDGET, RECEIVES = Block.BUDGET.by("default"), Block.RECEIVES.by()


def candidates(*names: str) -> tuple[CandidateNode, ...]:
    return tuple(CandidateNode(name=name, pool="default", pods=()) for name in names)


def staying(*names: str, budget: bool = False) -> tuple[StayingNode, ...]:
    return tuple(StayingNode(name=name, why=BUDGET if budget else RECEIVES) for name in names)


def planned(*later: str) -> GoingLater:
    known = GoingLater()
    plan = ConsolidationPlan(staying=staying(*later, budget=True), later=later)
    known.planned(candidates(*later), plan, at(0))
    return known


def test_what_a_plan_takes_later_goes_later() -> None:
    assert planned("n2", "n1").names(at(1)) == ("n1", "n2")


def test_a_node_that_the_next_plan_keeps_does_not() -> None:
    known = planned("n1", "n2")

    known.planned(candidates("n1", "n2"), ConsolidationPlan(staying=staying("n1"), later=("n2",)), at(10))

    assert known.names(at(10)) == ("n2",)


def test_a_node_that_goes_now_is_not_opened_to_the_scheduler_meanwhile() -> None:
    known = planned("n1")

    known.planned(candidates("n1"), ConsolidationPlan(moves=(Move(removed=("n1",)),)), at(10))

    assert known.names(at(10)) == ("n1",)


def test_while_budgets_let_nothing_go_it_stays_so_for_ten_minutes() -> None:
    known = planned("n1")
    held = ConsolidationPlan(staying=staying("n1", budget=True))

    for second in range(10, 600, 10):
        known.planned(candidates("n1"), held, at(second))

    assert known.names(at(599)) == ("n1",)
    assert known.names(at(600)) == ()


def test_a_node_that_is_no_candidate_for_a_while_is_forgotten_after_ten_minutes() -> None:
    known = planned("n1", "n2")

    known.planned(candidates("n2"), ConsolidationPlan(later=("n2",)), at(300))

    assert known.names(at(599)) == ("n1", "n2")
    assert known.names(at(600)) == ("n2",)
