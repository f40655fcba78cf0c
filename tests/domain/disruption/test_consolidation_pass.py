from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.builders import START, at
from tests.domain.disruption.consolidating import AT_ONCE, its_claim, its_node, its_pod, known, pool
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.cluster.planning import Consolidation
from treenail.domain.cluster.promises import Promise
from treenail.domain.disruption.consolidation_pass import ConsolidationRules, consolidation_pass
from treenail.domain.disruption.move_history import KEPT, MoveHistory
from treenail.domain.model import labels
from treenail.domain.model.consolidated_claims import Origin, Shape, write_origins
from treenail.domain.model.node_pools import Budget
from treenail.domain.model.nodes import INITIALIZED, Condition, Status

MOMENT = timedelta(microseconds=1)
NIGHTLY = Budget(nodes=0, schedule="0 13 * * *", duration=timedelta(hours=2))
IN_USE = (Condition(INITIALIZED, Status.TRUE, since=START),)
TIMED = {labels.DO_NOT_DISRUPT: "10m"}


def seen(of: Consolidation) -> tuple[object, ...]:
    """Return what is the same while nothing happens: all but what nodes still wait and last."""
    return of.state, [one.name for one in of.candidates], of.staying, of.events, of.not_receiving


@pytest.mark.parametrize(
    ("things", "until"),
    [
        pytest.param(
            (
                pool(disruption=replace(AT_ONCE, consolidate_after=timedelta(minutes=1))),
                its_claim(conditions=IN_USE),
                its_node(),
                its_pod(),
            ),
            at(60),
            id="consolidateAfter",
        ),
        pytest.param(
            (pool(), its_claim(), its_node(), its_pod(annotations=TIMED, started_at=START)),
            at(600),
            id="a pod that may not be disrupted for ten minutes",
        ),
        pytest.param(
            (
                pool(disruption=replace(AT_ONCE, budgets=(NIGHTLY,))),
                its_claim(),
                its_node(),
                its_pod(),
            ),
            START.replace(hour=13, minute=0, second=0, microsecond=0),
            id="a budget at night",
        ),
    ],
)
def test_what_a_pass_looks_at_is_the_same_until_it_says_and_not_after(
    things: tuple[ClusterObject, ...], until: datetime
) -> None:
    model, rules, history = known(*things), ConsolidationRules(), MoveHistory()

    def looked_at(now: datetime) -> Consolidation:
        return consolidation_pass(model, rules, history, now)

    assert looked_at(START).same_until == until
    assert seen(looked_at(until - MOMENT)) == seen(looked_at(START))
    assert seen(looked_at(until)) != seen(looked_at(START))


def test_what_a_node_must_save_is_the_same_until_its_move_is_forgotten() -> None:
    said = write_origins(
        (Origin(saving=0.2, at=START, replaced=(Shape("default", "c5.large", "a", "spot"),)),)
    )
    model, history = known(pool(), its_claim(annotations=said), its_node(), its_pod()), MoveHistory()

    first = consolidation_pass(model, ConsolidationRules(), history, at(1))
    then = consolidation_pass(model, ConsolidationRules(), history, START + KEPT)

    assert first.same_until == START + KEPT
    assert [one.least_saving for one in (*first.candidates, *then.candidates)] == [0.2, 0.0]
    assert then.same_until is None


def test_a_pass_over_a_node_whose_pods_move_is_good_for_no_other_time() -> None:
    model = known(pool(), its_claim(), its_node(), its_pod(), its_claim("c2"), its_node("c2"))
    model.keep(Promise(like=its_pod(), target="c2", decision="d1"))

    found = consolidation_pass(model, ConsolidationRules(), MoveHistory(), at(7))

    assert (found.candidates, found.same_until) == ((), at(7))


@pytest.mark.parametrize(
    ("payback", "counts"),
    [
        pytest.param(timedelta(hours=4), None, id="it lives longer than that"),
        pytest.param(timedelta(hours=12), timedelta(hours=10), id="it ends before"),
        pytest.param(None, None, id="any saving will do"),
    ],
)
def test_how_long_a_node_will_live_counts_where_a_move_must_have_paid_after_that(
    payback: timedelta | None, counts: timedelta | None
) -> None:
    model = known(pool(), its_claim(expire_after=timedelta(hours=10)), its_node(), its_pod())

    found = consolidation_pass(model, ConsolidationRules(payback=payback), MoveHistory(), START)

    assert [one.remaining for one in found.candidates] == [counts]
