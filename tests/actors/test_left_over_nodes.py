"""Nodes in use that a withdrawn move leaves over: they go when budgets allow it, as all nodes in use do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.test_consolidation_moves import Consolidated, standing
from tests.actors.troubles import Api
from tests.builders import bound_pod, claim_of, decided, node_of, planned_claim, view
from tests.domain.disruption.consolidating import AT_ONCE, pool
from tests.probes import Probe
from treenail.actors.budget_arbiter import BudgetArbiter
from treenail.actors.disruptor import Disruptor
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import DisruptionEnded, DisruptNodes, PoolChanged
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Budget
from treenail.domain.model.taints import DISRUPTED

CORDONED = replace(node_of(standing("c1")), taints=(DISRUPTED,), resource_version=20)
OPEN = replace(CORDONED, taints=(), resource_version=21)


class Withdrawing(Consolidated):
    """A pool that lets one node go at a time, and gives no empty node back, with who proposes and who counts.

    A move of c1, with the pods p1 and p3, bought two nodes. One comes into use while c1 is cordoned; then the
    other one turns out not to be had, so c1 stays, and the one in use is `left_over`.
    """

    def __init__(self) -> None:
        rules = replace(AT_ONCE, budgets=(Budget(nodes=1),), consolidate_after=None)
        patient = replace(pool(), disruption=rules, resource_version=2)
        super().__init__(patient=patient)
        self.ordered = Probe()
        disruptor: Any = self.host(
            lambda runtime: Disruptor(runtime, pool="default", cluster=self.cluster, writer=Api(self.world))
        )
        self.budgets: Any = self.host(
            lambda runtime: BudgetArbiter(
                runtime,
                cluster=self.cluster,
                termination=self.ordered,
                disruptor=lambda _: disruptor,
                event_publisher=Probe(),
            )
        )
        self._passing = ((self.arbiter, self.budgets), (self.disruptor, disruptor))
        self._passed = [0, 0]
        for actor in (self.budgets, disruptor):
            actor.tell(PoolChanged(name="default", pool=patient))
        self.see(bound_pod("p3", "node-c1"))
        snapshot = self.model.snapshot(self.now(), movable=("c1",))
        self.allow(decided(snapshot, planned_claim("p1"), planned_claim("p3"), name="pass-0"), "c1")
        used, failed = self.launcher.of(PlanCommitted)[-1].claims
        self.left_over, in_use = used.name, view(used.name)
        self.see(
            CORDONED,
            replace(claim_of(in_use), annotations=used.annotations, resource_version=9),
            node_of(in_use),
        )
        self.pass_on(0)
        self.tell(ClaimFailed(claim=failed.name, cause=Cause.INSUFFICIENT_CAPACITY, why="none left"))

    def pass_on(self, seconds: int) -> None:
        """Let so many seconds pass, and what is told reach who proposes and who counts."""
        for _ in range(seconds + 1):
            news = True
            while news:
                news = False
                for index, (probe, actor) in enumerate(self._passing):
                    told = probe.received[self._passed[index] :]
                    self._passed[index] += len(told)
                    for message in told:
                        actor.tell(message)
                    news = news or bool(told)
                self.run(0)
            self.run(1)

    def given_up(self) -> list[str]:
        """Return the nodes that are to go as empty, by name."""
        orders = [one for one in self.ordered.of(DisruptNodes) if one.cause is Cause.EMPTY]
        return [node.name for order in orders for node in order.nodes]


def test_a_left_over_node_goes_only_after_the_node_that_stays_is_open_again() -> None:
    stage = Withdrawing()
    assert stage.withdrawn() == [("c1",)]

    stage.pass_on(30)
    assert stage.given_up() == []

    # The taint is off; whoever took it off has not had the answer yet.
    stage.see(OPEN)
    stage.pass_on(30)
    assert stage.given_up() == []

    stage.budgets.tell(DisruptionEnded(name="c1"))
    stage.pass_on(11)
    assert stage.given_up() == [stage.left_over]


def test_a_left_over_node_goes_though_the_watch_tells_late_that_the_other_one_is_open() -> None:
    stage = Withdrawing()

    stage.budgets.tell(DisruptionEnded(name="c1"))
    stage.pass_on(30)
    assert stage.given_up() == []

    stage.see(OPEN)
    stage.pass_on(11)
    assert stage.given_up() == [stage.left_over]


def test_a_left_over_node_goes_when_the_node_that_was_to_stay_is_gone() -> None:
    stage = Withdrawing()

    stage.lose(Kind.NODE, "node-c1")
    stage.lose(Kind.NODE_CLAIM, "c1")
    stage.pass_on(11)

    assert stage.given_up() == [stage.left_over]


def test_a_left_over_node_that_gets_a_pod_is_from_then_on_as_any_other() -> None:
    stage = Withdrawing()
    stage.pass_on(5)

    stage.see(bound_pod("p9", f"node-{stage.left_over}"))
    stage.lose(Kind.POD, "p9")
    stage.pass_on(0)
    stage.budgets.tell(DisruptionEnded(name="c1"))
    stage.see(OPEN)
    stage.pass_on(60)

    assert stage.given_up() == []
