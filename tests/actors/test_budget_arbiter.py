from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.builders import START, changed, node_pool, view
from tests.probes import Probe
from treenail.actors.budget_arbiter import BudgetArbiter
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionEnded,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    PoolChanged,
)
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import Cause
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import Budget, Disruption
from treenail.domain.model.taints import DISRUPTED

BLOCKED = Block.BUDGET.by("default")


class Weighing(Stage):
    """An arbiter that knows four nodes of one pool, of which so many may go at a time."""

    def __init__(self, *, allowed: int) -> None:
        super().__init__()
        self.cluster, self.termination, self.disruptor = Probe(), Probe(), Probe()
        self.event_publisher = Probe()
        self.asked_for: list[str] = []
        self.arbiter: Any = self.host(
            lambda runtime: BudgetArbiter(
                runtime,
                cluster=self.cluster,
                termination=self.termination,
                disruptor=self._disruptor,
                event_publisher=self.event_publisher,
            )
        )
        pool = replace(node_pool(), disruption=Disruption(budgets=(Budget(nodes=allowed),)))
        self.tell(PoolChanged(name="default", pool=pool), *(changed(view(f"c{n}")) for n in range(4)))

    def _disruptor(self, pool: str) -> Probe:
        self.asked_for.append(pool)
        return self.disruptor

    def tell(self, *messages: object) -> None:
        for message in messages:
            self.arbiter.tell(message)
        self.run(0)

    def propose(self, *names: str) -> DisruptionProposed:
        proposal = DisruptionProposed(pool="default", candidates=names, cause=Cause.EMPTY)
        self.tell(proposal)
        return proposal

    def allowed(self) -> list[tuple[str, ...]]:
        return [m.candidates for m in self.cluster.of(DisruptionAllowed)]

    def refused(self) -> list[tuple[str, ...]]:
        return [m.candidates for m in self.disruptor.of(DisruptionRefused)]


def test_what_budgets_allow_is_for_the_cluster_state_to_confirm() -> None:
    stage = Weighing(allowed=4)

    proposal = stage.propose("c0", "c1")

    allowed = DisruptionAllowed(proposal=proposal, candidates=("c0", "c1"), budgets=("default",))
    assert stage.cluster.received == [allowed]
    assert stage.termination.received == stage.disruptor.received == []


def test_what_budgets_forbid_goes_back_to_the_pools_disruptor() -> None:
    stage = Weighing(allowed=2)

    stage.propose("c0", "c1", "c2")

    assert stage.allowed() == [("c0", "c1")]
    assert stage.disruptor.received == [DisruptionRefused(pool="default", candidates=("c2",), why=BLOCKED)]
    assert stage.asked_for == ["default"]
    why = "No allowed disruptions for disruption reason Empty due to blocking budget"
    assert stage.event_publisher.received == [
        DisruptionBlocked(about=(ObjectRef("NodePool", "default", uid="default"),), why=why)
    ]


def test_with_nothing_allowed_the_cluster_state_is_not_asked() -> None:
    stage = Weighing(allowed=0)

    stage.propose("c0")

    assert stage.cluster.received == []
    assert stage.refused() == [("c0",)]


def test_what_is_on_its_way_counts_against_the_budget() -> None:
    stage = Weighing(allowed=1)
    stage.propose("c0")

    stage.propose("c1")

    assert stage.allowed() == [("c0",)]
    assert stage.refused() == [("c1",)]


def test_a_refusal_by_the_cluster_state_frees_the_budget_and_is_passed_on() -> None:
    stage = Weighing(allowed=1)
    stage.propose("c0")

    refusal = DisruptionRefused(pool="default", candidates=("c0",), why=Block.CHANGED.by())
    stage.tell(refusal)
    stage.propose("c1")

    assert stage.disruptor.received == [refusal]
    assert stage.allowed() == [("c0",), ("c1",)]


def test_nodes_that_the_cluster_state_gives_up_are_passed_on_and_counted() -> None:
    stage = Weighing(allowed=1)
    disrupt = DisruptNodes(nodes=(view("c0"),), cause=Cause.EMPTY, decided_at=START)

    stage.tell(disrupt)

    assert stage.termination.received == [disrupt]
    assert stage.telemetry.counted("karpenter_voluntary_disruption_decisions_total", reason="empty") == 1


def test_nodes_that_go_unasked_count_against_the_budget_until_they_are_open_again() -> None:
    stage = Weighing(allowed=1)
    stage.tell(DisruptNodes(nodes=(view("c0"),), cause=Cause.DRIFTED, decided_at=START))

    stage.propose("c1")
    assert stage.allowed() == []

    stage.tell(changed(view("c0", of_node={"taints": (DISRUPTED,)})), DisruptionEnded(name="c0"))
    stage.propose("c1")
    assert stage.allowed() == []

    stage.tell(changed(view("c0")))
    stage.propose("c1")
    assert stage.allowed() == [("c1",)]


def test_a_node_that_stays_after_all_frees_the_budget_and_the_cluster_state_hears_of_it() -> None:
    stage = Weighing(allowed=1)
    stage.propose("c0")

    ended = DisruptionEnded(name="c0")
    stage.tell(ended)
    stage.propose("c1")

    assert ended in stage.cluster.received
    assert stage.allowed() == [("c0",), ("c1",)]


def test_a_proposal_that_touches_several_pools_asks_the_budgets_of_all_and_names_those_that_block() -> None:
    stage = Weighing(allowed=1)
    other = replace(node_pool("other"), disruption=Disruption(budgets=(Budget(nodes=0),)))
    there = changed(view("x0", of_claim={"pool": "other"}))
    stage.tell(PoolChanged(name="other", pool=other), there)

    stage.propose("c0", "c1", "x0")

    assert stage.allowed() == [("c0",)]
    (refused,) = stage.disruptor.of(DisruptionRefused)
    assert refused.candidates == ("c1", "x0")
    assert refused.why.sentence == "no allowed disruptions due to blocking budget of default, other"


def test_nodes_that_go_together_are_allowed_by_all_budgets_or_by_none() -> None:
    stage = Weighing(allowed=1)
    other = replace(node_pool("other"), disruption=Disruption(budgets=(Budget(nodes=1),)))
    there = (changed(view(name, of_claim={"pool": "other"})) for name in ("x0", "x1"))
    stage.tell(PoolChanged(name="other", pool=other), *there)
    together = DisruptionProposed(
        pool="default", candidates=("c0", "x0", "x1"), cause=Cause.EMPTY, together=True
    )

    stage.tell(together)
    assert stage.allowed() == []
    assert stage.refused() == [("c0", "x0", "x1")]

    stage.tell(replace(together, candidates=("c0", "x1")))
    (allowed,) = stage.cluster.of(DisruptionAllowed)
    assert (allowed.candidates, allowed.budgets) == (("c0", "x1"), ("default", "other"))
