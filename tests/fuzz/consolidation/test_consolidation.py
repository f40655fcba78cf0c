from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.fuzz.consolidation.blockers import DELETION_COST
from tests.fuzz.consolidation.clusters import Cluster, cluster
from tests.fuzz.consolidation.contest import Match, Plan, play
from tests.fuzz.consolidation.karpenter import Alone, Consolidation
from tests.fuzz.consolidation.ours import planned
from tests.fuzz.consolidation.rules import Rule, Rules
from tests.fuzz.consolidation.small import LARGE, MIDDLE, claim, machine, pod, pool, step
from tests.fuzz.consolidation.small import cluster as small
from tests.fuzz.consolidation.steps import Step, carried_out, cost
from tests.fuzz.consolidation.summary import summary
from treenail.domain.model.blockers import Block
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move, StayingNode


@pytest.mark.seeds(quick=20, soak=300)
def test_plans_for_random_clusters_break_no_rule_save_what_they_say_and_come_to_rest(seed: int) -> None:
    match = play(seed, cluster(seed), planned)

    assert match.treenail.broken == []
    assert match.treenail.cost <= match.cost


@pytest.mark.seeds(quick=7, soak=300)
def test_each_move_of_a_whole_plan_holds_where_only_those_are_made_that_it_comes_after(seed: int) -> None:
    start = cluster(seed)

    plan, steps = planned(start, whole=True)

    broken: list[str] = []
    for move, taken in zip(plan.moves, steps, strict=True):
        reached = start
        for earlier in sorted(before(plan.moves, move)):
            reached = carried_out(reached, steps[earlier], f"new-{earlier}")
        broken += [str(one) for one in Rules(start).check(reached, taken) if one.rule is not Rule.BUDGET]
    assert broken == []


def before(moves: Sequence[Move], move: Move) -> set[int]:
    """Return the moves that must be made before one, by number."""
    return {one for number in move.after for one in (number, *before(moves, moves[number]))}


def test_a_node_bought_for_a_pod_that_costs_nothing_to_evict_is_no_empty_node_afterwards() -> None:
    # The pod of least deletion cost would else be evicted from one new node after the other.
    match = play(278, cluster(278), planned)

    assert match.treenail.broken == []
    assert match.treenail.bought > 0
    assert match.treenail.lost == 0


PRICE = {of: cost(small(pool(), [machine("node", of)])) for of in (MIDDLE, LARGE)}
TWO = small(pool(), [machine("node-0"), machine("node-1")], pod("web-0", "node-0"), pod("db-0", "node-1"))
DELETED = step("node-0", node_1=["web-0"])


class Script:
    """Makes the plans it is given, one after the other, each of one move; then none."""

    def __init__(self, *steps: Step, saves: Sequence[float] = (PRICE[MIDDLE],), why: str = "") -> None:
        self._steps = list(steps)
        self._saves = list(saves)
        self._why = why

    def __call__(self, of: Cluster) -> Plan:
        del of
        staying = tuple(
            StayingNode(name=f"node-{n}", why=Block.LEFT_ALONE.by(detail=self._why))
            for n in range(2)
            if self._why
        )
        if not self._steps:
            return ConsolidationPlan(staying=staying), ()
        taken = self._steps.pop(0)
        move = Move(removed=taken.removed, saves=self._saves.pop(0))
        return ConsolidationPlan(moves=(move,), staying=staying), (taken,)


class Karpenter:
    """Deletes or replaces one node if it is there, by the same step each time, and then nothing."""

    def __init__(self, taken: Step) -> None:
        self._step = taken

    def decide(self, of: Cluster, *, each: bool = False) -> Consolidation:
        del each
        names = {one["metadata"]["name"] for one in of.items if one["kind"] == "Node"}
        there = set(self._step.removed) <= names
        alone = {name: Alone(self._step, "single", "") for name in self._step.removed if there}
        return Consolidation(self._step if there else None, "single", alone, {})


def test_a_plan_is_carried_out_and_asked_for_again_until_there_is_nothing_left() -> None:
    match = play(1, TWO, Script(DELETED))

    assert match.treenail.broken == []
    assert (match.treenail.passes, match.treenail.nodes, match.treenail.moved) == (1, 1, 1)
    assert match.treenail.cost == pytest.approx(PRICE[MIDDLE])


def test_a_step_that_breaks_a_rule_is_told_and_not_carried_out() -> None:
    match = play(1, TWO, Script(step("node-0")))

    assert match.treenail.broken == ["a pod without a place: default/web-0: loses node-0"]
    assert match.treenail.nodes == 2


def test_a_plan_that_says_it_saves_more_than_it_does_is_found() -> None:
    match = play(1, TWO, Script(DELETED, saves=[2 * PRICE[MIDDLE]]))

    assert [one.partition(":")[0] for one in match.treenail.broken] == ["saves"]


def test_a_plan_that_buys_what_costs_more_is_found() -> None:
    dear = step("node-0", claims=[claim("web-0", of=[LARGE])])

    match = play(1, TWO, Script(dear, saves=[PRICE[MIDDLE] - PRICE[LARGE]]))

    assert [one.partition(":")[0] for one in match.treenail.broken] == ["not cheaper"]


def test_planning_that_raises_is_found() -> None:
    def fail(_: Cluster) -> Plan:
        raise ValueError("no node is named so")

    assert play(1, TWO, fail).treenail.broken == ["raised: ValueError: no node is named so"]


def test_a_node_that_karpenter_deletes_and_a_plan_keeps_is_missed_with_what_was_said_of_it() -> None:
    match = play(1, TWO, Script(why="it is dear to us"), Karpenter(DELETED))

    assert match.missed == {"node-0": "single: it is dear to us"}
    assert match.karpenter is not None
    assert match.karpenter.cost == pytest.approx(PRICE[MIDDLE])


def test_a_node_that_karpenter_replaces_and_a_plan_keeps_is_told_with_what_that_saves() -> None:
    match = play(1, TWO, Script(), Karpenter(step("node-0", claims=[claim("web-0")])))

    assert match.missed == {}
    assert match.dearer["node-0"] > 0


def test_a_node_that_karpenter_deletes_though_its_pod_fits_nowhere_else_is_not_missed() -> None:
    free = {DELETION_COST: str(-(2**27))}
    large = pod("web-0", "node-0", cpu="3", annotations=free)
    of = small(pool(), [machine("node-0"), machine("node-1")], large, pod("db-0", "node-1"))

    match = play(1, of, Script(), Karpenter(step("node-0")))

    assert match.missed == {}
    assert match.placeless == {"node-0": ["default/web-0"]}
    assert "do not fit elsewhere, by seed: {1: {'node-0': ['default/web-0']}}" in summary([match])


def test_nothing_is_missed_where_karpenter_breaks_a_rule() -> None:
    match = play(1, TWO, Script(), Karpenter(step("node-0", node_1=["web-0", "db-0"])))

    assert match.missed == {}
    assert match.karpenter is not None
    assert match.karpenter.broken


def test_the_summary_compares_costs_and_names_what_was_missed() -> None:
    matches: list[Match] = [play(1, TWO, Script(why="it stays"), Karpenter(DELETED))]

    text = summary(matches)

    assert "cost at rest, 1 clusters where no pod lost its place" in text
    assert "dearer, by seed: {1: 2.0}" in text
    assert "    1: node-0: single: it stays" in text
