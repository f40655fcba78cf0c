from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.builders import START, at, decision, node_pool, pending_pod, planned_claim, spec
from tests.probes import Probe
from treenail.actors.packer import Packer
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.consolidating import ConsolidationPlanned
from treenail.domain.cluster.planning import Consolidation, PackRequested, PlanDecided, Snapshot
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.resources import Resources
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import (
    CandidateNode,
    ConsolidationProblem,
    PoolTerms,
)
from treenail.domain.packing.plan import ClassReport, PackingPlan, RefusedClass
from treenail.domain.packing.problem import (
    ExistingNode,
    Packing,
    PackingSettings,
    PoolOffer,
    Problem,
    VolumeNeeds,
)
from treenail.domain.packing.refusal_reasons import Reason, Refusal

SETTINGS = PackingSettings(packing=Packing.FIRST_FIT_DESCENDING, steps=7)
ROOM = ExistingNode(name="n1", labels={}, taints=(), free=Resources())
OFFER = PoolOffer(pool=node_pool(), instance_types=())
NEEDS = VolumeNeeds(fresh=(("ebs.csi.aws.com", 1),))
TOO_LARGE = Refusal("default", Reason.TOO_LARGE, "too large")
GOING = Refusal("going", Reason.POOL_NOT_READY, "the pool is being deleted")


class StubSolver:
    """Gives the answer it was given."""

    def __init__(
        self,
        answer: Callable[[], PackingPlan],
        found: Callable[[], ConsolidationPlan] = lambda: ConsolidationPlan(cost=1.0),
    ) -> None:
        self.problems: list[Problem] = []
        self.searched: list[ConsolidationProblem] = []
        self.cancelled: list[Problem | ConsolidationProblem] = []
        self._answer, self._found = answer, found

    def solve(self, problem: Problem) -> PackingPlan:
        self.problems.append(problem)
        return self._answer()

    def consolidate(self, problem: ConsolidationProblem) -> ConsolidationPlan:
        self.searched.append(problem)
        return self._found()

    def cancel(self, problem: Problem | ConsolidationProblem) -> None:
        self.cancelled.append(problem)


def request(*not_ready: Refusal) -> PackRequested:
    snapshot = Snapshot(
        revision=1,
        taken_at=START,
        pods=(pending_pod("p1"),),
        existing_nodes=(ROOM,),
        pools=(node_pool(),),
        node_classes={},
        daemons=(DaemonSet(uid="logs", name="logs", spec=spec("100m")),),
        limits_left={},
        volumes={"p1": NEEDS},
        namespaces={"default": {"team": "a"}},
    )
    return PackRequested(
        decision=decision(), snapshot=snapshot, offers=(OFFER,), not_ready=not_ready, selected_at=at(0)
    )


def packed(answer: Callable[[], PackingPlan], *not_ready: Refusal) -> tuple[Stage, StubSolver, PlanDecided]:
    stage, cluster, solver = Stage(), Probe(), StubSolver(answer)
    actor: Any = stage.host(
        lambda runtime: Packer(
            runtime, cluster=cluster, consolidator=Probe(), solver=solver, settings=SETTINGS
        )
    )
    actor.tell(request(*not_ready))
    stage.run(1)
    (decided,) = cluster.of(PlanDecided)
    return stage, solver, decided


def test_an_urgent_request_ends_what_is_being_packed_and_no_other_does() -> None:
    stage, cluster, solver = Stage(), Probe(), StubSolver(PackingPlan)
    actor: Any = stage.host(
        lambda runtime: Packer(
            runtime, cluster=cluster, consolidator=Probe(), solver=solver, settings=SETTINGS
        )
    )
    usual, other = request(), request()
    urgent = replace(usual, decision=decision("d2", urgent="spot_interrupted"))

    for one in (usual, other, urgent, urgent):
        actor.tell(one)
    stage.run(1)

    first, second, *rest = solver.problems
    assert solver.cancelled == [first, second, first, second]
    assert len(rest) == 2
    actor.tell(urgent)
    stage.run(1)
    assert len(solver.cancelled) == 4


def test_the_solver_is_asked_with_all_that_a_plan_depends_on() -> None:
    _, solver, _ = packed(PackingPlan)

    assert solver.problems == [
        Problem(
            pods=(pending_pod("p1"),),
            existing_nodes=(ROOM,),
            offers=(OFFER,),
            daemons=(spec("100m"),),
            volumes={"p1": NEEDS},
            namespaces={"default": {"team": "a"}},
            settings=SETTINGS,
        )
    ]


def test_the_plan_is_passed_on_with_what_it_answers() -> None:
    plan = PackingPlan(claims=(planned_claim("p1"),))

    _, _, decided = packed(lambda: plan)

    assert decided == PlanDecided(
        decision=decision(),
        snapshot=request().snapshot,
        plan=plan,
        considered=("default",),
        selected_at=START,
        packed_at=at(0.2),
    )


def test_pods_that_were_refused_hear_of_the_pools_that_were_never_asked_too() -> None:
    placed = ClassReport(example="default/web", pods=1, to_claims={0: 1})
    refused = ClassReport(example="default/job", pods=1, refused=1, refusals=(TOO_LARGE,))
    plan = PackingPlan(
        refused=(RefusedClass(pods=("p1",), refusals=(TOO_LARGE,)),), classes=(placed, refused)
    )

    _, _, decided = packed(lambda: plan, GOING)

    assert decided.plan == replace(
        plan,
        refused=(RefusedClass(pods=("p1",), refusals=(TOO_LARGE, GOING)),),
        classes=(placed, replace(refused, refusals=(TOO_LARGE, GOING))),
    )


def test_where_no_pool_is_ready_nobody_hears_that_there_is_none() -> None:
    nothing = Refusal("", Reason.NO_POOLS, "there is no node pool to make a node of")
    group = RefusedClass(pods=("p1",), refusals=(nothing,), nearest=nothing)

    _, _, decided = packed(lambda: PackingPlan(refused=(group,)), GOING)

    assert decided.plan.refused == (replace(group, refusals=(GOING,), nearest=GOING),)


def test_what_came_nearest_stays_so_beside_pools_that_were_never_asked() -> None:
    group = RefusedClass(pods=("p1",), refusals=(TOO_LARGE,), nearest=TOO_LARGE)

    _, _, decided = packed(lambda: PackingPlan(refused=(group,)), GOING)

    assert decided.plan.refused == (replace(group, refusals=(TOO_LARGE, GOING)),)


def test_a_plan_that_refuses_nobody_stays_as_it_is() -> None:
    plan = PackingPlan(claims=(planned_claim("p1"),))

    assert packed(lambda: plan, GOING)[2].plan is plan


def test_a_solver_that_is_lost_decides_nothing() -> None:
    def lost() -> PackingPlan:
        raise UnavailableError("the solver was lost")

    stage, _, decided = packed(lost)

    assert decided.plan == PackingPlan()
    assert stage.logged("packing failed") == [
        {"logger": "controller.provisioner", "error": "the solver was lost"}
    ]


def test_what_went_wrong_without_harm_to_the_plan_is_logged() -> None:
    plan = PackingPlan(problems=("there is no advice for default/web-0: RuntimeError: no",))

    stage, _, decided = packed(lambda: plan)

    assert decided.plan is plan
    assert stage.logged("part of packing failed") == [
        {
            "logger": "controller.provisioner",
            "error": "there is no advice for default/web-0: RuntimeError: no",
        }
    ]


def test_solves_are_made_one_after_the_other() -> None:
    stage, cluster, solver = Stage(), Probe(), StubSolver(PackingPlan)
    actor: Any = stage.host(
        lambda runtime: Packer(
            runtime, cluster=cluster, consolidator=Probe(), solver=solver, settings=SETTINGS
        )
    )

    actor.tell(request())
    actor.tell(request())
    stage.run(0.2)
    assert len(solver.problems) == 1
    stage.run(0.2)

    assert [d.packed_at for d in cluster.of(PlanDecided)] == [at(0.2), at(0.4)]


# --- searches for consolidation moves

SPOT = CandidateNode(name="n1", pool="default", pods=("p1",), price=0.2, capacity_type="spot")
WHAT = Consolidation(
    candidates=(SPOT,),
    terms={"default": PoolTerms(allowed=3)},
    not_receiving=frozenset({"n2"}),
    spot_to_spot=True,
    whole=True,
)


def search(*, urgent_only: bool = False) -> PackRequested:
    return replace(request(), decision=decision("pass"), consolidation=replace(WHAT, urgent_only=urgent_only))


def urgent_request() -> PackRequested:
    return replace(request(), decision=decision("d2", urgent="spot_interrupted"))


class Searching(Stage):
    """A packer whose solver has its answers in a tenth of a second."""

    def __init__(self, found: Callable[[], ConsolidationPlan] = lambda: ConsolidationPlan(cost=1.0)) -> None:
        super().__init__()
        self.cluster, self.consolidator = Probe(), Probe()
        self.solver = StubSolver(PackingPlan, found)
        self.actor: Any = self.host(
            lambda runtime: Packer(
                runtime,
                cluster=self.cluster,
                consolidator=self.consolidator,
                solver=self.solver,
                settings=SETTINGS,
            )
        )

    def ask(self, *requests: PackRequested) -> None:
        for one in requests:
            self.actor.tell(one)
        self.run(0)

    def cancelled(self) -> list[Problem | ConsolidationProblem]:
        """Return what was cancelled, once all is solved: the very objects that the solver has."""
        self.run(2)
        asked = [*self.solver.problems, *self.solver.searched]
        assert all(any(one is known for known in asked) for one in self.solver.cancelled)
        return self.solver.cancelled


def test_the_solver_is_asked_for_moves_with_all_that_they_depend_on() -> None:
    stage = Searching()

    stage.ask(search())
    stage.run(1)

    (asked,) = stage.solver.searched
    assert asked.problem.pods == (pending_pod("p1"),)
    assert (asked.problem.existing_nodes, asked.problem.offers) == ((ROOM,), (OFFER,))
    # No offering of its type is sold, and what a node was launched for says nothing of a spot price.
    assert asked.candidates == (replace(SPOT, price=None, surcharge=SETTINGS.node_overhead_cost),)
    assert asked.terms == WHAT.terms
    assert asked.not_receiving == {"n2"}
    assert asked.spot_to_spot
    assert asked.whole


def test_the_moves_are_told_to_the_consolidator_and_nothing_to_the_cluster() -> None:
    stage = Searching()

    stage.ask(search())
    stage.run(1)

    assert stage.consolidator.received == [
        ConsolidationPlanned(
            decision=decision("pass"),
            snapshot=request().snapshot,
            consolidation=WHAT,
            plan=ConsolidationPlan(cost=1.0),
            considered=("default",),
            selected_at=START,
            packed_at=at(0.2),
        )
    ]
    assert stage.cluster.received == []


def test_a_search_that_fails_is_told_as_one_without_a_plan() -> None:
    def lost() -> ConsolidationPlan:
        raise UnavailableError("it was cancelled")

    stage = Searching(lost)
    stage.ask(search())
    stage.run(1)

    (planned,) = stage.consolidator.of(ConsolidationPlanned)
    assert planned.plan is None
    assert stage.cluster.received == []
    assert [line["error"] for line in stage.logged("no consolidation plan")] == ["it was cancelled"]


def test_a_search_gives_way_to_any_decision() -> None:
    stage = Searching()

    stage.ask(search(), request())

    assert stage.cancelled() == stage.solver.searched
    assert len(stage.solver.problems) == 1


def test_a_search_that_was_ended_too_often_gives_way_to_urgent_decisions_only() -> None:
    stage = Searching()

    stage.ask(search(urgent_only=True), request())
    assert stage.solver.cancelled == []
    stage.ask(urgent_request())

    assert stage.cancelled() == [*stage.solver.searched, stage.solver.problems[0]]


def test_a_search_ends_no_decision_and_no_other_search() -> None:
    stage = Searching()

    stage.ask(request(), search(), search())

    assert stage.cancelled() == []


def test_a_search_that_is_over_is_not_ended() -> None:
    stage = Searching()
    stage.ask(search())
    stage.run(1)

    stage.ask(request(), urgent_request())

    assert stage.cancelled() == stage.solver.problems[:1]


def test_an_answer_to_one_search_leaves_the_other_to_be_ended() -> None:
    stage = Searching()
    stage.ask(search(), search())
    stage.run(0.2)
    assert len(stage.consolidator.received) == 1

    stage.ask(request())

    (ended,) = stage.cancelled()
    assert ended is stage.solver.searched[1]
